#include "sim/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sim_trace_init(struct sim_trace *t, bool print)
{
    memset(t, 0, sizeof(*t));
    t->print = print;
    t->hash = 0xcbf29ce484222325U;
}

void sim_trace_hash(struct sim_trace *t, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        t->hash = (t->hash ^ p[i]) * 0x100000001b3U; /* FNV-1a */
}

void sim_trace_line(struct sim_trace *t, const char *format, ...)
{
    char *line = t->last[t->lines++ % TRACE_KEPT];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, TRACE_LINE, format, args);
    va_end(args);
    sim_trace_hash(t, line, n < TRACE_LINE ? (size_t)n + 1 : TRACE_LINE);
    if (t->print)
        puts(line);
}

void sim_trace_dump(const struct sim_trace *t)
{
    int64_t from = t->lines > TRACE_KEPT ? t->lines - TRACE_KEPT : 0;

    for (int64_t i = from; i < t->lines; i++)
        fprintf(stderr, "  %s\n", t->last[i % TRACE_KEPT]);
}
