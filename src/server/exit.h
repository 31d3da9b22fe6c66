/* exit.h - the exit codes of the program. */
#pragma once

enum {
    EXIT_FINE = 0,
    EXIT_CANNOT = 1,        /* it failed */
    EXIT_ASKED_WRONGLY = 2, /* wrong settings or arguments */
    EXIT_DISK = 70,         /* an fsync failed */
};
