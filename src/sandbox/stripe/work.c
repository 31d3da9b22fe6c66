/* work.c - struct work: the first failure, text in the arena, events, messages, and jobs. */
#include "base/limits.h"
#include "sandbox/stripe/model.h"

#include <stdarg.h>
#include <stdio.h>

bool work_ok(struct work *w, enum err e)
{
    if (e && !w->err)
        w->err = e;
    return !e;
}

struct str work_text(struct work *w, const char *format, ...)
{
    char text[1024];
    struct str s = { text, 0 };
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n > 0)
        s.n = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    s = arena_str(w->a, s);
    work_ok(w, s.p ? OK : ERR_NO_MEMORY);
    return s;
}

struct str work_text_of(struct work *w, struct buf *b)
{
    struct str s = { 0 };

    if (!b->failed)
        s = arena_str(w->a, buf_str(b));
    work_ok(w, s.p ? OK : ERR_NO_MEMORY);
    buf_release(b);
    return s;
}

bool work_emit(struct work *w, const char *type, struct str object, struct str previous)
{
    struct sandbox_event e = { .type = str_of(type),
                               .object = object,
                               .previous = previous,
                               .request_id = w->request_id,
                               .idempotency_key = w->idempotency_key };

    if (w->err) /* the object could not be written as JSON */
        return false;
    return work_ok(w, sandbox_event_add(w->s, w->tx, w->a, &e));
}

bool work_add_message(struct work *w, struct str kind, struct str ref, int64_t due_ms)
{
    struct queue_new m = { .id = env_uuid(&w->s->env), .kind = kind, .ref = ref, .due_ms = due_ms };

    return work_ok(w, queue_add(w->s->queue, w->tx, w->now_ms, &m, 1));
}

/* --- the run of a message --- */

enum err work_run(struct sandbox *s, struct tx *tx, struct str id,
                  void (*act)(struct work *w, struct str id))
{
    struct arena a;
    struct work w = { .s = s, .tx = tx, .a = &a, .now_ms = env_now_ms(&s->env) };

    arena_init(&a, LIMIT_SANDBOX_ARENA);
    act(&w, id);
    arena_release(&a);
    return w.err == ERR_NOT_FOUND ? OK : w.err;
}
