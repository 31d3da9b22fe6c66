/* "<seconds since 1970>\n<cron>". What is refused gets words that can be shown. What is taken means
 * the same when it is written as lists, and fires at one instant, from wherever before it one asks.
 */
#include "base/buf.h"
#include "base/limits.h"
#include "base/time/civil.h"
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

static const struct zone *zone_for(const struct cron *c)
{
    static const char *const names[] = { "UTC", "Europe/Berlin", "America/New_York",
                                         "Australia/Lord_Howe", "Pacific/Apia" };
    static struct zone *zones[COUNT(names)];
    size_t pick = c->zone.n % COUNT(names);

    for (size_t i = 0; i < COUNT(names); i++) {
        if (!zones[i])
            promise(zone_load(str_of(names[i]), &zones[i]) == OK);
        if (str_eq(c->zone, str_of(names[i])))
            pick = i;
    }
    return zones[pick];
}

static void write_list(struct buf *b, uint64_t bits)
{
    for (int i = 0; bits >> i; i++)
        if (bits >> i & 1)
            buf_fmt(b, bits >> i > 1 ? "%d," : "%d ", i);
}

static void means_the_same_as_lists(const struct cron *c)
{
    struct why why;
    struct cron again;
    struct buf b;

    buf_init(&b, LIMIT_CRON);
    write_list(&b, c->minutes);
    write_list(&b, c->hours);
    write_list(&b, c->days);
    write_list(&b, c->months);
    write_list(&b, c->weekdays);
    promise(cron_parse(buf_str(&b), &again, &why) == OK);
    promise(again.minutes == c->minutes && again.hours == c->hours && again.days == c->days &&
            again.months == c->months && again.weekdays == c->weekdays);
    buf_release(&b);
}

static void fires_at_one_instant(const struct cron *c, int64_t after_ms)
{
    const struct zone *z = zone_for(c);
    int64_t next = cron_next(c, z, after_ms);

    promise(next > after_ms);
    if (next == CLOCK_NEVER || after_ms < -62135596800000)
        return;
    promise(next - after_ms <= LIMIT_CRON_YEARS * INT64_C(367) * DAY_S * 1000 && next % 1000 == 0);
    promise(cron_next(c, z, next - 1) == next);
    promise(cron_next(c, z, after_ms + (next - after_ms) / 2) == next || next - after_ms == 1);
    if (c->real_time)
        promise((next / 1000 + zone_offset_s(z, next / 1000)) % 60 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    struct why why = { 0 };
    int64_t after_s = 0;
    struct cron c;

    if (!str_to_i64(str_cut(&text, '\n'), &after_s) || after_s > INT64_MAX / 1000 ||
        after_s < INT64_MIN / 1000)
        after_s = 1760000000;
    if (cron_parse(text, &c, &why)) {
        promise(why.text[0]);
        for (const char *p = why.text; *p; p++)
            promise(*p >= ' ' && *p <= '~');
        return 0;
    }
    means_the_same_as_lists(&c);
    fires_at_one_instant(&c, after_s * 1000);
    return 0;
}
