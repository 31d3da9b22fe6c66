/* serve.h - `ichido serve`: runs the server until it is stopped. */
#pragma once

int serve_main(int argc, char **argv); /* an exit code (exit.h) */
