/* serve.h - `ichido serve`: the server from its settings to its end. */
#pragma once

int serve_main(int argc, char **argv); /* an exit code (exit.h) */
