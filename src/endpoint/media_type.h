/* media_type.h - the content types that endpoints take. */
#pragma once

#include "base/str.h"

/* "application/json", also with charset=utf-8; nothing else. */
bool media_type_is_json(struct str content_type);
