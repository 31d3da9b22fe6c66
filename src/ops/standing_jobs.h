/* standing_jobs.h - the jobs of which there is always one message: payment.unknown, keys.expire,
 * events.forget and the like. Their starts give them ids of one family,
 * 019a0000-0000-7000-8000-00...: so they are found together, and no id that is made by chance and
 * clock is among them. */
#pragma once

#include "base/uuid.h"

#define STANDING_FIRST ((struct uuid){ { 0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80 } })
#define STANDING_LAST                                                                              \
    ((struct uuid){                                                                                \
        { 0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } })
