/* Any bytes as a TZif file. It is refused, or its spans cover all of time without hole or overlap
 * and schedules can be found in it. */
#include "base/time/clock.h"
#include "base/time/zone.h"
#include "domain/cron.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int holds)
{
    if (!holds)
        abort();
}

static void check_around(const struct zone *z, int64_t at_s)
{
    for (int i = 0; i < 20 && at_s < ZONE_ALWAYS; i++) {
        struct zone_span s = zone_span(z, at_s);

        promise(s.from_s <= at_s && at_s < s.until_s);
        promise(s.offset_s > -ZONE_REACH_S && s.offset_s < ZONE_REACH_S);
        promise(zone_span(z, s.until_s - 1).from_s == s.from_s);
        at_s = s.until_s;
    }
}

static void check_schedule(const struct zone *z, struct str text, int64_t after_ms)
{
    struct why why;
    struct cron c;
    int64_t next;

    promise(cron_parse(text, &c, &why) == OK);
    next = cron_next(&c, z, after_ms);
    promise(next > after_ms);
    /* 26 h east, a day, 25 h west: so long a clock can put off what stands on its wall. */
    promise(c.real_time || next < after_ms + INT64_C(75) * 3600 * 1000);
    promise(cron_next(&c, z, next - 1) == next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t starts_s[] = { -ZONE_ALWAYS / 4, -5000000000, 0, 1760000000, 9000000000 };
    struct zone *z = NULL;

    if (zone_read((struct str){ (const char *)data, size }, &z)) {
        promise(!z);
        return 0;
    }
    for (size_t i = 0; i < COUNT(starts_s); i++)
        check_around(z, starts_s[i]);
    for (size_t i = 1; i < COUNT(starts_s); i++) {
        check_schedule(z, S("30 2 * * *"), starts_s[i] * 1000);
        check_schedule(z, S("*/7 * * * *"), starts_s[i] * 1000);
    }
    zone_free(z);
    return 0;
}
