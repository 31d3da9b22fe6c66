#include "observe/metrics.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_VALUES = 12, BUCKETS = 14 };

static const struct {
    const char *name, *label, *values, *help;
} counters[COUNTERS] = {
#define ROW(id, name, label, values, help) [id] = { name, label, values, help },
    COUNTER_LIST(ROW)
#undef ROW
};
static const struct {
    const char *name, *help;
} gauges[GAUGES] = {
#define ROW(id, name, help) [id] = { name, help },
    GAUGE_LIST(ROW)
#undef ROW
}, histograms[HISTOGRAMS] = {
#define ROW(id, name, help) [id] = { name, help },
    HISTOGRAM_LIST(ROW)
#undef ROW
};

/* Bounds of the buckets in microseconds, and as both text formats want them written. */
static const struct {
    int64_t us;
    const char *le;
} bounds[BUCKETS] = {
    { 500, "0.0005" },  { 1000, "0.001" },    { 2500, "0.0025" }, { 5000, "0.005" },
    { 10000, "0.01" },  { 25000, "0.025" },   { 50000, "0.05" },  { 100000, "0.1" },
    { 200000, "0.2" },  { 500000, "0.5" },    { 1000000, "1.0" }, { 2500000, "2.5" },
    { 5000000, "5.0" }, { 10000000, "10.0" },
};

struct metrics {
    _Atomic int64_t counter[COUNTERS][LABEL_VALUES];
    _Atomic double gauge[GAUGES];
    _Atomic int64_t bucket[HISTOGRAMS][BUCKETS + 1], sum_us[HISTOGRAMS];
};

struct metrics *metrics_new(void)
{
    return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *m)
{
    free(m);
}

/* Where the value stands in the counter's list; the last place for one that is not listed. */
static size_t value_index(enum counter c, struct str value)
{
    struct str left = str_of(counters[c].values);
    size_t i = 0;

    while (left.n) {
        if (str_eq(str_cut(&left, ','), value) || !left.n)
            return i;
        i++;
    }
    return 0;
}

void metrics_count_as(struct metrics *m, enum counter c, struct str value, int64_t n)
{
    if (m)
        atomic_fetch_add_explicit(&m->counter[c][value_index(c, value)], n, memory_order_relaxed);
}

void metrics_count(struct metrics *m, enum counter c, int64_t n)
{
    metrics_count_as(m, c, (struct str){ 0 }, n);
}

void metrics_set(struct metrics *m, enum gauge g, double value)
{
    if (m)
        atomic_store_explicit(&m->gauge[g], value, memory_order_relaxed);
}

void metrics_time(struct metrics *m, enum histogram h, int64_t us)
{
    size_t i = 0;

    if (!m)
        return;
    while (i < BUCKETS && us > bounds[i].us)
        i++;
    atomic_fetch_add_explicit(&m->bucket[h][i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->sum_us[h], us, memory_order_relaxed);
}

int64_t metrics_read(const struct metrics *m, enum counter c, struct str value)
{
    return atomic_load(&m->counter[c][value_index(c, value)]);
}

/* OpenMetrics names the family of a counter without its _total. */
static struct str family(const char *name, bool openmetrics)
{
    struct str s = str_of(name);

    if (openmetrics && str_ends(s, S("_total")))
        s.n -= 6;
    return s;
}

static void print_head(struct buf *out, struct str name, const char *type, const char *help)
{
    buf_fmt(out, "# HELP " STR_FMT " %s\n# TYPE " STR_FMT " %s\n", STR_ARG(name), help,
            STR_ARG(name), type);
}

static void print_counter(const struct metrics *m, enum counter c, bool openmetrics,
                          struct buf *out)
{
    struct str left = str_of(counters[c].values);
    size_t i = 0;

    print_head(out, family(counters[c].name, openmetrics), "counter", counters[c].help);
    if (!left.n) {
        buf_fmt(out, "%s %lld\n", counters[c].name, (long long)atomic_load(&m->counter[c][0]));
        return;
    }
    while (left.n) {
        struct str value = str_cut(&left, ',');

        buf_fmt(out, "%s{%s=\"" STR_FMT "\"} %lld\n", counters[c].name, counters[c].label,
                STR_ARG(value), (long long)atomic_load(&m->counter[c][i++]));
    }
}

static void print_histogram(const struct metrics *m, enum histogram h, struct buf *out)
{
    const char *name = histograms[h].name;
    long long total = 0;

    print_head(out, str_of(name), "histogram", histograms[h].help);
    for (size_t i = 0; i < BUCKETS; i++) {
        total += atomic_load(&m->bucket[h][i]);
        buf_fmt(out, "%s_bucket{le=\"%s\"} %lld\n", name, bounds[i].le, total);
    }
    total += atomic_load(&m->bucket[h][BUCKETS]);
    buf_fmt(out, "%s_bucket{le=\"+Inf\"} %lld\n%s_sum %.6f\n%s_count %lld\n", name, total, name,
            (double)atomic_load(&m->sum_us[h]) / 1e6, name, total);
}

void metrics_print(const struct metrics *m, bool openmetrics, struct buf *out)
{
    for (int c = 0; c < COUNTERS; c++)
        print_counter(m, (enum counter)c, openmetrics, out);
    for (int g = 0; g < GAUGES; g++) {
        print_head(out, str_of(gauges[g].name), "gauge", gauges[g].help);
        buf_fmt(out, "%s %.15g\n", gauges[g].name, atomic_load(&m->gauge[g]));
    }
    for (int h = 0; h < HISTOGRAMS; h++)
        print_histogram(m, (enum histogram)h, out);
    if (openmetrics)
        buf_add(out, S("# EOF\n"));
}
