/* exit.h - how the program ends. */
#pragma once

enum {
    EXIT_FINE = 0,
    EXIT_CANNOT = 1,        /* it could not */
    EXIT_ASKED_WRONGLY = 2, /* settings, arguments */
    EXIT_DISK = 70,         /* the disk broke its promise */
};
