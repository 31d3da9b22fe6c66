/* books.c - GET /_sandbox/books?payment_id=&after=: what really moved, from the sandbox's own rows,
 * so that a test compares to the yen. Amounts are in minor units. Only money that moved counts: an
 * authorisation is held, a declined charge and a refund that failed are nothing. The totals are of
 * what is listed; has_more says when that is not all of it. */
#include "base/limits.h"
#include "sandbox/control.h"

struct sums {
    int64_t intents, held, captured, refunded, charges, refunds;
};

struct books {
    struct unit unit;
    struct request *request;
    struct str payment, after;
    bool more;
    struct sums sums;
    struct buf text;
};

static void write_texts(struct buf *b, const struct val *v)
{
    static const char *const names[] = { "id", "payment_id", "status", "currency" };

    for (size_t i = 0; i < COUNT(names); i++) {
        buf_fmt(b, "%c\"%s\":", i ? ',' : '{', names[i]);
        if (v[i].type == VAL_TEXT)
            buf_json(b, v[i].s);
        else
            buf_add(b, S("null"));
    }
}

static enum err add_intent(void *ctx, const struct row *row)
{
    struct books *k = ctx;
    const struct val *v = row->col;
    struct sums *s = &k->sums;

    k->more = s->intents == LIMIT_SANDBOX_BOOKS;
    if (k->more)
        return OK;
    if (s->intents++)
        buf_char(&k->text, ',');
    write_texts(&k->text, v);
    buf_fmt(&k->text,
            ",\"amount\":%lld,\"held\":%lld,\"captured\":%lld,\"refunded\":%lld,\"charges\":%lld,"
            "\"refunds\":%lld}",
            (long long)v[4].i, (long long)v[5].i, (long long)v[6].i, (long long)v[7].i,
            (long long)v[8].i, (long long)v[9].i);
    s->held += v[5].i;
    s->captured += v[6].i;
    s->refunded += v[7].i;
    s->charges += v[8].i;
    s->refunds += v[9].i;
    return OK;
}

static void write_totals(struct books *k)
{
    const struct sums *s = &k->sums;

    buf_fmt(&k->text,
            "],\"has_more\":%s,\"totals\":{\"intents\":%lld,\"held\":%lld,\"captured\":%lld,"
            "\"refunded\":%lld,\"net\":%lld,\"charges\":%lld,\"refunds\":%lld}}\n",
            k->more ? "true" : "false", (long long)s->intents, (long long)s->held,
            (long long)s->captured, (long long)s->refunded, (long long)(s->captured - s->refunded),
            (long long)s->charges, (long long)s->refunds);
}

static enum err books_run(struct tx *tx, struct unit *u)
{
    struct books *k = CONTAINER_OF(u, struct books, unit);
    struct val v[] = { V_TEXT(k->payment), V_TEXT(k->after), V_INT(LIMIT_SANDBOX_BOOKS + 1) };
    enum err e;

    k->more = false;
    k->sums = (struct sums){ 0 };
    buf_clear(&k->text);
    buf_add(&k->text, S("{\"intents\":["));
    e = tx_each(tx, STMT_sandbox_books, v, COUNT(v), add_intent, k);
    write_totals(k);
    return e;
}

static void books_read(struct unit *u)
{
    struct books *k = CONTAINER_OF(u, struct books, unit);

    if (!u->err) {
        control_reply(k->request, 200, S("application/json"), &k->text);
        return;
    }
    buf_release(&k->text);
    reply_problem(k->request, u->err, NULL);
}

void control_books(struct request *r, void *sandbox)
{
    static const struct unit_kind kind = { "sandbox.books", UNIT_READ, books_run, NULL };
    struct sandbox *s = sandbox;
    struct books *k = arena_alloc(&r->arena, 1, sizeof(*k));

    if (!k) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    k->request = r;
    k->payment = control_query(r, S("payment_id"));
    k->after = control_query(r, S("after"));
    buf_init(&k->text, LIMIT_REPLY);
    k->unit = (struct unit){ .kind = &kind, .home = r->home, .done = books_read };
    store_post(s->store, &k->unit);
}
