#include "queue/message_span.h"

#include <assert.h>

enum { MORE_MAX = 8, ID_BYTES = 8 };

/* The last bytes of an id are random; another attempt is another span. */
static void place_of(const struct message *m, struct trace *t)
{
    memcpy(t->span_id, m->id.b + sizeof(m->id.b) - ID_BYTES, ID_BYTES);
    t->span_id[ID_BYTES - 2] ^= (unsigned char)m->attempt;
    t->span_id[ID_BYTES - 3] ^= (unsigned char)(m->attempt >> 8);
}

struct span message_span(struct env *env, const struct message *m, struct str traceparent,
                         const char *name)
{
    struct span s = { 0 };
    struct trace t;

    if (!env->spans || !trace_is_sampled(traceparent) || !trace_parse(traceparent, &t))
        return s;
    s = (struct span){ .spans = env->spans,
                       .name = name,
                       .kind = SPAN_CONSUMER,
                       .has_parent = true,
                       .trace = t,
                       .began_us = m->began_us ? m->began_us : clock_mono_us(&env->clock) };
    memcpy(s.parent, t.span_id, sizeof(s.parent));
    place_of(m, &s.trace);
    return s;
}

void message_place(struct env *env, const struct message *m, struct str traceparent,
                   char text[TRACE_TEXT + 1])
{
    struct span s = message_span(env, m, traceparent, "");

    span_place(&s, traceparent, text);
}

void message_span_end(struct span *s, const struct message *m, enum job_end end, const char *why,
                      const struct attribute *more, size_t count)
{
    static const char *const words[] = { [JOB_DONE] = "done",
                                         [JOB_RETRIED] = "retried",
                                         [JOB_DEAD] = "dead",
                                         [JOB_PUT_OFF] = "put off" };
    struct attribute a[5 + MORE_MAX];
    bool failed = end == JOB_RETRIED || end == JOB_DEAD;
    char id[UUID_TEXT + 1];

    if (!s->spans)
        return;
    assert(count <= MORE_MAX);
    uuid_text(m->id, id);
    a[0] = SPAN_TEXT("messaging.system", S("ichido"));
    a[1] = SPAN_TEXT("messaging.destination.name", m->kind);
    a[2] = SPAN_TEXT("messaging.message.id", str_of(id));
    a[3] = SPAN_NUM("messaging.attempt", m->attempt);
    a[4] = SPAN_TEXT("messaging.outcome", str_of(words[end]));
    if (count)
        memcpy(a + 5, more, count * sizeof(*more));
    span_end(s, failed ? (why && why[0] ? why : "failed") : NULL, a, 5 + count);
}
