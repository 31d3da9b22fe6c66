/* Facts on their way through the queue: any bytes into the reader, and any texts and numbers
 * through the writer. What is read can be written and says the same; what is written is read back,
 * and has only one spelling. */
#include "base/json/json.h"
#include "gateway/fact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA = 1 << 24 };

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

/* Writes, reads and writes again. The two texts name every member of the fact, so if they are the
 * same then the facts are. */
static struct str survives(struct arena *a, const struct fact *f)
{
    struct str text = fact_write(a, f), again;
    struct fact back;

    must(text.p && json_check(text, NULL) == OK, "a fact is written as JSON");
    must(fact_read(a, text, &back) == OK, "what was written is read");
    must(back.kind == f->kind && back.state == f->state && back.refund == f->refund &&
             back.session == f->session && back.amount == f->amount &&
             back.received == f->received &&
             !memcmp(back.currency, f->currency, sizeof(f->currency)),
         "what decides is the same");
    again = fact_write(a, &back);
    must(str_eq(text, again), "it is written the same again");
    return text;
}

static void read_any(struct str text)
{
    struct fact f = { .amount = 42 };
    struct arena a;
    enum err e;

    arena_init(&a, ARENA);
    e = fact_read(&a, text, &f);
    must(e == OK || e == ERR_VALIDATION || e == ERR_NO_MEMORY, "one of three ends");
    must(!e || f.amount == 42, "a refused text leaves the fact alone");
    must(e || json_check(text, NULL) == OK, "only JSON is read");
    if (!e)
        survives(&a, &f);
    arena_release(&a);
}

/* Strict readers give us UTF-8 without NUL, and nothing else. */
static struct str next_text(struct str *rest)
{
    struct str text = str_cut(rest, '\n');

    return text.n && str_is_utf8(text) && !memchr(text.p, 0, text.n) ? text : (struct str){ 0 };
}

static int64_t next_number(struct str *rest)
{
    struct str text = str_cut(rest, '\n');
    int64_t value = 0;

    return str_to_i64(text, &value) ? value : 0;
}

static void write_any(struct str rest)
{
    unsigned char bits = rest.n ? (unsigned char)rest.p[0] : 0;
    struct fact f = { .kind = (enum fact_kind)(bits % (FACT_DISPUTE + 1)),
                      .state = (enum intent_state)(bits % INTENT_STATES),
                      .refund = (enum refund_status)(bits % REFUND_STATUSES),
                      .session = (enum session_status)(bits % SESSION_STATUSES),
                      .captured = bits & 1,
                      .charge_failed = bits & 2,
                      .has_fee = bits & 4,
                      .dispute_closed = bits & 16,
                      .dispute_lost = bits & 32 };
    struct arena a;

    if (bits & 8)
        memcpy(f.currency, "JPY", sizeof(f.currency));
    str_cut(&rest, '\n');
    f.amount = next_number(&rest);
    f.received = next_number(&rest);
    f.fee = next_number(&rest);
    f.intent_id = next_text(&rest);
    f.failure_message = next_text(&rest);
    f.action_url = next_text(&rest);
    f.refund_failure = next_text(&rest);
    f.konbini_number = next_text(&rest);
    f.session_url = next_text(&rest);
    f.dispute_reason = next_text(&rest);
    f.action_details = next_text(&rest);
    f.session_expires_ms = next_number(&rest);
    arena_init(&a, ARENA);
    survives(&a, &f);
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };

    read_any(text);
    write_any(text);
    return 0;
}
