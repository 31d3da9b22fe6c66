/* zone.h - IANA time zones from the system's tzdata (TZif, RFC 8536). A zone never changes after it
 * was read, so threads may share it. libc's TZ is neither read nor set.
 *
 * A zone divides time into spans of one offset each, without gaps, and every question about local
 * time is answered by these spans. Where a span's offset is larger than the one before, local times
 * [from_s + the offset before, from_s + offset_s) do not occur; where it is smaller, those in
 * [from_s + offset_s, from_s + the offset before) occur a second time. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct zone;

struct zone_span {
    int64_t from_s, until_s; /* UTC, until_s not included; at most ZONE_ALWAYS either way */
    int offset_s;            /* local time less UTC; its absolute value is below ZONE_REACH_S */
};

#define ZONE_ALWAYS (INT64_C(1) << 60) /* plus or minus any offset, it still fits */
enum { ZONE_REACH_S = 26 * 3600 };

/* name: "Europe/Berlin". "UTC" needs no file. VALIDATION: not the form of a name; NOT_FOUND: no
 * zone of that name here (names are case-sensitive); OVERLOADED, NO_MEMORY: try again. */
enum err zone_load(struct str name, struct zone **ret_zone);

/* Makes a zone from the bytes of a file. VALIDATION: the file is damaged, of version 1, or has leap
 * seconds ("right/..."), which our clocks do not count. */
enum err zone_read(struct str tzif, struct zone **ret_zone);

struct zone *zone_free(struct zone *z);

/* Local time less UTC at this instant, in seconds. */
int zone_offset_s(const struct zone *z, int64_t at_s);

/* The span that holds at_s. Its neighbours are the spans of until_s and of from_s - 1. Neighbours
 * may have the same offset. */
struct zone_span zone_span(const struct zone *z, int64_t at_s);
