/* trace.h - what happened, line by line: a running hash of all of it, the last lines for a report,
 * and all of them on standard output where asked for. No addresses, no real time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_KEPT = 50, TRACE_LINE = 160 };

struct sim_trace {
    bool print;
    uint64_t hash;
    int64_t lines;
    char last[TRACE_KEPT][TRACE_LINE];
};

void sim_trace_init(struct sim_trace *t, bool print);
void sim_trace_line(struct sim_trace *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_trace_hash(struct sim_trace *t, const void *bytes, size_t n); /* without a line */
void sim_trace_dump(const struct sim_trace *t); /* the last lines, oldest first, on stderr */
