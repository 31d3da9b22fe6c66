/* version.h - the version of this program. */
#pragma once

#define ICHIDO_VERSION "0.7.0"
