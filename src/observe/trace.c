#include "observe/trace.h"

#include "base/hex.h"

#include <string.h>

static void new_place(struct rng *r, struct trace *t)
{
    rng_bytes(r, t->span_id, sizeof(t->span_id));
    t->span_id[0] |= 1; /* all zero means "none" in the standard */
}

struct trace trace_new(struct rng *r)
{
    struct trace t = { .flags = TRACE_RANDOM };

    rng_bytes(r, t.trace_id, sizeof(t.trace_id));
    t.trace_id[0] |= 1; /* not one of the last 7 bytes, which samplers read */
    new_place(r, &t);
    return t;
}

struct trace trace_child(struct rng *r, const struct trace *parent)
{
    struct trace t = *parent;

    new_place(r, &t);
    return t;
}

/* Lower-case hex only, as the standard says; false also where all bytes are zero. */
static bool hex_bytes(struct str s, unsigned char *bytes, bool zero_is_fine)
{
    unsigned char any = 0;

    for (size_t i = 0; i < s.n; i += 2) {
        int high = hex_value_lower(s.p[i]), low = hex_value_lower(s.p[i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (unsigned char)(high << 4 | low);
        any |= bytes[i / 2];
    }
    return any || zero_is_fine;
}

bool trace_parse(struct str s, struct trace *ret_trace)
{
    unsigned char version;
    struct trace t;

    s = str_trim(s);
    if (s.n < TRACE_TEXT || s.p[2] != '-' || s.p[35] != '-' || s.p[52] != '-')
        return false;
    if (!hex_bytes((struct str){ s.p, 2 }, &version, true) || version == 0xff)
        return false;
    if (s.n > TRACE_TEXT && (version == 0 || s.p[TRACE_TEXT] != '-'))
        return false; /* later versions may add fields behind another dash */
    if (!hex_bytes((struct str){ s.p + 3, 32 }, t.trace_id, false) ||
        !hex_bytes((struct str){ s.p + 36, 16 }, t.span_id, false) ||
        !hex_bytes((struct str){ s.p + 53, 2 }, &t.flags, true))
        return false;
    t.flags &= TRACE_SAMPLED | TRACE_RANDOM;
    *ret_trace = t;
    return true;
}

void trace_text(const struct trace *t, char text[TRACE_TEXT + 1])
{
    char *p = text;

    memcpy(p, "00-", 3);
    p = hex_put(p + 3, t->trace_id, sizeof(t->trace_id));
    *p++ = '-';
    p = hex_put(p, t->span_id, sizeof(t->span_id));
    *p++ = '-';
    p = hex_put(p, &t->flags, 1);
    *p = '\0';
}
