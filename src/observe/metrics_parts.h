/* metrics_parts.h - the layout of metrics in memory. Only metrics*.c include this.
 *
 * A family (a counter or histogram) has a run of series: one for each combination of its labels'
 * values, the last label running fastest. Its shape is read from the lists once, at the start. */
#pragma once

#include "observe/metrics.h"

#include <stdatomic.h>

enum { COUNTER_SERIES = 1024, HISTOGRAM_SERIES = 64, LIST_MAX = METRICS_CURRENCIES + 1 };

struct family {
    struct str name, help;
    size_t labels;
    struct str label[METRICS_LABELS];
    struct str values[METRICS_LABELS]; /* as listed */
    size_t count[METRICS_LABELS];      /* the number of values; 1 where there is no such label */
    size_t first, size;                /* its run of series */
    bool by_gateway, by_currency;      /* the kind of its first label */
};

struct metrics {
    struct family counters[COUNTERS], histograms[HISTOGRAMS];
    const char *version;
    _Atomic unsigned gateways;                     /* a bit for each gateway that is set up */
    _Atomic uint32_t currency[METRICS_CURRENCIES]; /* its three letters; 0: free */

    _Atomic int64_t counter[COUNTER_SERIES];
    _Atomic double gauge[GAUGES];
    _Atomic int64_t bucket[HISTOGRAM_SERIES][METRICS_BUCKETS + 1], sum_us[HISTOGRAM_SERIES];
};

/* The i-th value of a list, or its last one where it is shorter. */
struct str metrics_listed(struct str list, size_t i);

#define METRICS_CURRENCY(text)                                                                     \
    ((uint32_t)(unsigned char)(text)[0] | (uint32_t)(unsigned char)(text)[1] << 8 |                \
     (uint32_t)(unsigned char)(text)[2] << 16)
