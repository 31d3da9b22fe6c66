/* metrics.c - the cells of all counters, gauges and histograms. They are allocated once and only
 * added to, with atomic operations; a restart begins at zero. */
#include "observe/metrics.h"

#include "observe/metrics_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct observe_metrics_row {
    const char *name, *labels, *values, *help;
};

#define ROW(id, name, labels, values, help) [id] = { name, labels, values, help },
static const struct observe_metrics_row counters[COUNTERS] = { COUNTER_LIST(ROW) };
static const struct observe_metrics_row histograms[HISTOGRAMS] = { HISTOGRAM_LIST(ROW) };
#undef ROW

/* The upper bounds of the buckets in microseconds; metrics_print.c has them as text. Every
 * threshold of an alert or a goal is one of them and has others above it, since a quantile above
 * the last bound could not be told from it. */
static const int64_t bounds_us[METRICS_BUCKETS] = {
    500,    1000,   2500,    5000,    10000,   25000,    50000,    100000,
    200000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000,
};

/* --- shapes --- */

static size_t list_size(struct str list)
{
    size_t n = 0;

    if (str_eq(list, S("*")))
        return METRICS_CURRENCIES + 1;
    while (list.n) {
        str_cut(&list, ',');
        n++;
    }
    return n;
}

struct str metrics_listed(struct str list, size_t i)
{
    struct str value = str_cut(&list, ',');

    while (i-- && list.n)
        value = str_cut(&list, ',');
    return value;
}

/* Reads a row of the lists. *next is the place where the series of the next family begin. */
static void observe_metrics_shape(struct family *f, const struct observe_metrics_row *row,
                                  size_t *next)
{
    struct str labels = str_of(row->labels), values = str_of(row->values);

    *f = (struct family){ .name = str_of(row->name), .help = str_of(row->help), .size = 1 };
    for (size_t i = 0; i < METRICS_LABELS; i++) {
        f->count[i] = 1;
        if (!labels.n)
            continue;
        f->label[i] = str_cut(&labels, ',');
        f->values[i] = str_cut(&values, ';');
        f->count[i] = list_size(f->values[i]);
        assert(f->count[i] && f->count[i] <= LIST_MAX);
        f->size *= f->count[i];
        f->labels++;
    }
    assert(!labels.n && !values.n);
    f->by_gateway = str_eq(f->label[0], S("gateway"));
    f->by_currency = str_eq(f->values[0], S("*"));
    f->first = *next;
    *next += f->size;
}

struct metrics *metrics_new(void)
{
    struct metrics *m = calloc(1, sizeof(*m));
    size_t counted = 0, timed = 0;

    if (!m)
        return NULL;
    for (size_t i = 0; i < COUNTERS; i++)
        observe_metrics_shape(&m->counters[i], &counters[i], &counted);
    for (size_t i = 0; i < HISTOGRAMS; i++)
        observe_metrics_shape(&m->histograms[i], &histograms[i], &timed);
    assert(counted <= COUNTER_SERIES && timed <= HISTOGRAM_SERIES);
    return m;
}

void metrics_free(struct metrics *m)
{
    free(m);
}

void metrics_set_version(struct metrics *m, const char *version)
{
    if (m)
        m->version = version;
}

/* --- places --- */

/* The index of the value in its list; the last index for a value that is not listed. */
static size_t value_index(struct str list, struct str value)
{
    size_t i = 0;

    while (list.n) {
        if (str_eq(str_cut(&list, ','), value) || !list.n)
            return i;
        i++;
    }
    return 0;
}

/* Where the series of these values lies. */
static size_t metrics_place(const struct family *f, struct labels at)
{
    size_t place = 0;

    for (size_t i = 0; i < f->labels; i++) {
        assert(at.at[i] < f->count[i]);
        place = place * f->count[i] + at.at[i];
    }
    return f->first + place;
}

unsigned char metrics_gateway(struct metrics *m, struct str name)
{
    size_t at = value_index(S(METRICS_GATEWAYS), name);

    if (m)
        atomic_fetch_or(&m->gateways, 1U << at);
    return (unsigned char)at;
}

/* The first use of a currency takes the next free slot. */
static size_t currency_index(struct metrics *m, const char currency[4])
{
    uint32_t wanted = METRICS_CURRENCY(currency);

    for (size_t i = 0; i < METRICS_CURRENCIES; i++) {
        uint32_t found = atomic_load_explicit(&m->currency[i], memory_order_relaxed);

        if (!found && atomic_compare_exchange_strong(&m->currency[i], &found, wanted))
            return i;
        if (found == wanted)
            return i;
    }
    return METRICS_CURRENCIES;
}

/* --- counting --- */

void *metrics_cell(struct metrics *m, enum counter c, struct labels at)
{
    return m ? &m->counter[metrics_place(&m->counters[c], at)] : NULL;
}

void *metrics_amount_cell(struct metrics *m, const char currency[4], enum amount_status s)
{
    if (!m)
        return NULL;
    return metrics_cell(m, COUNT_PAYMENT_AMOUNT,
                        AT((unsigned char)currency_index(m, currency), (unsigned char)s));
}

void metrics_add(void *cell, int64_t n)
{
    if (cell)
        atomic_fetch_add_explicit((_Atomic int64_t *)cell, n, memory_order_relaxed);
}

void metrics_count_at(struct metrics *m, enum counter c, struct labels at, int64_t n)
{
    metrics_add(metrics_cell(m, c, at), n);
}

void metrics_count_as(struct metrics *m, enum counter c, struct str value, int64_t n)
{
    if (m)
        metrics_count_at(m, c, AT((unsigned char)value_index(m->counters[c].values[0], value)), n);
}

void metrics_count(struct metrics *m, enum counter c, int64_t n)
{
    metrics_count_at(m, c, AT(0), n);
}

void metrics_set(struct metrics *m, enum gauge g, double value)
{
    if (m)
        atomic_store_explicit(&m->gauge[g], value, memory_order_relaxed);
}

void metrics_time_at(struct metrics *m, enum histogram h, struct labels at, int64_t us)
{
    size_t i = 0, place;

    if (!m)
        return;
    place = metrics_place(&m->histograms[h], at);
    while (i < METRICS_BUCKETS && us > bounds_us[i])
        i++;
    atomic_fetch_add_explicit(&m->bucket[place][i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->sum_us[place], us > 0 ? us : 0, memory_order_relaxed);
}

void metrics_time(struct metrics *m, enum histogram h, int64_t us)
{
    metrics_time_at(m, h, AT(0), us);
}

/* --- reading --- */

int64_t metrics_read_at(const struct metrics *m, enum counter c, struct labels at)
{
    return atomic_load(&m->counter[metrics_place(&m->counters[c], at)]);
}

int64_t metrics_read(const struct metrics *m, enum counter c, struct str value)
{
    const struct family *f = &m->counters[c];

    return metrics_read_at(m, c, AT((unsigned char)value_index(f->values[0], value)));
}

/* The index of the currency with that name; that of "other" where there is none. */
static size_t currency_place(const struct metrics *m, struct str name)
{
    for (size_t i = 0; i < METRICS_CURRENCIES && name.n == 3; i++)
        if (atomic_load(&m->currency[i]) == METRICS_CURRENCY(name.p))
            return i;
    return METRICS_CURRENCIES;
}

int64_t metrics_sum(const struct metrics *m, enum counter c, struct str label, struct str value)
{
    const struct family *f = &m->counters[c];
    size_t step = f->size, count = 1, wanted = 0;
    int64_t sum = 0;

    for (size_t i = 0, left = f->size; i < f->labels; i++) {
        left /= f->count[i];
        if (!str_eq(label, f->label[i]))
            continue;
        step = left;
        count = f->count[i];
        wanted =
            i == 0 && f->by_currency ? currency_place(m, value) : value_index(f->values[i], value);
    }
    for (size_t i = 0; i < f->size; i++)
        if (i / step % count == wanted)
            sum += atomic_load(&m->counter[f->first + i]);
    return sum;
}

double metrics_gauge(const struct metrics *m, enum gauge g)
{
    return atomic_load(&m->gauge[g]);
}

int64_t metrics_buckets(const struct metrics *m, enum histogram h, int place,
                        int64_t ret_buckets[METRICS_BUCKETS + 1])
{
    const struct family *f = &m->histograms[h];
    int64_t total = 0;

    assert(place < (int)f->size);
    memset(ret_buckets, 0, (METRICS_BUCKETS + 1) * sizeof(*ret_buckets));
    for (size_t s = 0; s < f->size; s++)
        for (size_t i = 0; i <= METRICS_BUCKETS && (place < 0 || (size_t)place == s); i++) {
            int64_t n = atomic_load(&m->bucket[f->first + s][i]);

            ret_buckets[i] += n;
            total += n;
        }
    return total;
}

const int64_t *metrics_bounds_us(void)
{
    return bounds_us;
}
