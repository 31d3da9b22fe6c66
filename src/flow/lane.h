/* lane.h - which lane a message runs in, from the ids that it is about. */
#pragma once

#include "base/uuid.h"

/* The same ids always give the same lane, in the same order; second may be NULL. */
int64_t lane_of_ids(struct uuid first, const struct uuid *second);
