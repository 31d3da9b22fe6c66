/* lane.h - which lane a message runs in: 63 bits of SHA-256, the same on every node and in every
 * version, so that they agree. */
#pragma once

#include "base/uuid.h"

int64_t lane_of(struct str text);
/* A lane made from one or two ids, in this order; second may be NULL. */
int64_t lane_of_ids(struct uuid first, const struct uuid *second);
