/* metrics_print.c - writes the metrics in the two text formats that scrapers read. The names of
 * series are the same in both, so that a scraper that changes the format finds the same series
 * again. */
#include "observe/metrics_parts.h"

enum { SET_MAX = 256 };

static const struct {
    const char *name, *help;
} gauges[GAUGES] = {
#define ROW(id, name, help) [id] = { name, help },
    GAUGE_LIST(ROW)
#undef ROW
};

/* The canonical form of OpenMetrics, so that the series of a bucket has one name in both
 * formats. */
static const char *const bounds_le[METRICS_BUCKETS] = {
    "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
    "0.2",    "0.5",   "1.0",    "2.5",   "5.0",  "10.0",  "30.0", "60.0",
};

/* OpenMetrics names the family of a counter without _total, and has the type first. */
static void print_head(struct buf *out, struct str name, const char *type, struct str help,
                       bool openmetrics)
{
    if (openmetrics && str_ends(name, S("_total")))
        name.n -= 6;
    if (openmetrics)
        buf_fmt(out, "# TYPE " STR_FMT " %s\n# HELP " STR_FMT " " STR_FMT "\n", STR_ARG(name), type,
                STR_ARG(name), STR_ARG(help));
    else
        buf_fmt(out, "# HELP " STR_FMT " " STR_FMT "\n# TYPE " STR_FMT " %s\n", STR_ARG(name),
                STR_ARG(help), STR_ARG(name), type);
}

/* --- labels --- */

static bool is_shown(const struct metrics *m, const struct family *f, size_t series)
{
    size_t first = series / (f->size / f->count[0]);

    if (f->by_gateway)
        return atomic_load(&m->gateways) & (1U << first);
    if (!f->by_currency)
        return true;
    return first < METRICS_CURRENCIES ? atomic_load(&m->currency[first]) != 0
                                      : atomic_load(&m->counter[f->first + series]) != 0;
}

static void print_currency(const struct metrics *m, size_t at, struct buf *out)
{
    uint32_t c = at < METRICS_CURRENCIES ? atomic_load(&m->currency[at]) : 0;

    if (c)
        buf_fmt(out, "%c%c%c", (char)(c & 0xff), (char)(c >> 8 & 0xff), (char)(c >> 16 & 0xff));
    else
        buf_add(out, S("other"));
}

/* name="value",... without braces */
static void print_labels(const struct metrics *m, const struct family *f, size_t series,
                         struct buf *out)
{
    size_t left = f->size;

    for (size_t i = 0; i < f->labels; i++) {
        size_t at;

        left /= f->count[i];
        at = series / left % f->count[i];
        buf_fmt(out, "%s" STR_FMT "=\"", i ? "," : "", STR_ARG(f->label[i]));
        if (i == 0 && f->by_currency)
            print_currency(m, at, out);
        else
            buf_add(out, metrics_listed(f->values[i], at));
        buf_char(out, '"');
    }
}

/* --- families --- */

static void print_counter(const struct metrics *m, const struct family *f, bool openmetrics,
                          struct buf *out)
{
    print_head(out, f->name, "counter", f->help, openmetrics);
    for (size_t s = 0; s < f->size; s++) {
        if (!is_shown(m, f, s))
            continue;
        buf_add(out, f->name);
        if (f->labels) {
            buf_char(out, '{');
            print_labels(m, f, s, out);
            buf_char(out, '}');
        }
        buf_char(out, ' ');
        buf_i64(out, atomic_load(&m->counter[f->first + s]));
        buf_char(out, '\n');
    }
}

/* `labels` is the series' own set, without braces. */
static void print_series(const struct metrics *m, const struct family *f, size_t at,
                         struct str labels, struct buf *out)
{
    const char *open = labels.n ? "{" : "", *close = labels.n ? "}" : "",
               *comma = labels.n ? "," : "";
    int64_t total = 0;

    for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
        total += atomic_load(&m->bucket[at][i]);
        buf_add(out, f->name);
        buf_add(out, S("_bucket{"));
        buf_add(out, labels);
        buf_fmt(out, "%sle=\"%s\"} ", comma, i < METRICS_BUCKETS ? bounds_le[i] : "+Inf");
        buf_i64(out, total);
        buf_char(out, '\n');
    }
    buf_fmt(out, STR_FMT "_sum%s" STR_FMT "%s %.6f\n", STR_ARG(f->name), open, STR_ARG(labels),
            close, (double)atomic_load(&m->sum_us[at]) / 1e6);
    buf_fmt(out, STR_FMT "_count%s" STR_FMT "%s %lld\n", STR_ARG(f->name), open, STR_ARG(labels),
            close, (long long)total);
}

static void print_histogram(const struct metrics *m, const struct family *f, bool openmetrics,
                            struct buf *out)
{
    struct buf labels;

    buf_init(&labels, SET_MAX);
    print_head(out, f->name, "histogram", f->help, openmetrics);
    for (size_t s = 0; s < f->size; s++) {
        if (!is_shown(m, f, s))
            continue;
        buf_clear(&labels);
        print_labels(m, f, s, &labels);
        print_series(m, f, f->first + s, buf_str(&labels), out);
    }
    out->failed |= labels.failed;
    buf_release(&labels);
}

static void print_version(const struct metrics *m, bool openmetrics, struct buf *out)
{
    if (!m->version)
        return;
    print_head(out, S("ichido_build_info"), "gauge", S("Which program this is; always 1."),
               openmetrics);
    buf_fmt(out, "ichido_build_info{version=\"%s\"} 1\n", m->version);
}

void metrics_print(const struct metrics *m, bool openmetrics, struct buf *out)
{
    for (int c = 0; c < COUNTERS; c++)
        print_counter(m, &m->counters[c], openmetrics, out);
    for (int g = 0; g < GAUGES; g++) {
        print_head(out, str_of(gauges[g].name), "gauge", str_of(gauges[g].help), openmetrics);
        buf_fmt(out, "%s %.15g\n", gauges[g].name, atomic_load(&m->gauge[g]));
    }
    print_version(m, openmetrics, out);
    for (int h = 0; h < HISTOGRAMS; h++)
        print_histogram(m, &m->histograms[h], openmetrics, out);
    if (openmetrics)
        buf_add(out, S("# EOF\n"));
}
