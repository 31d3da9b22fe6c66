/* standing_jobs.h - the ids of the jobs that exist exactly once: payment.unknown, keys.expire,
 * events.forget and others. The ids are in the range 019a0000-0000-7000-8000-00..., so that one
 * query finds them; no generated id falls into it. */
#pragma once

#include "base/uuid.h"

#define STANDING_FIRST ((struct uuid){ { 0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80 } })
#define STANDING_LAST                                                                              \
    ((struct uuid){                                                                                \
        { 0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } })
