/* ledger.c - GET /_sandbox/ledger_view?payment_id=&after= and GET
 * /_sandbox/paypay/ledger_view?merchant_payment_id=&after=: the money that really moved, from the
 * sandbox's own rows, so that a test can compare to the yen.
 *
 * Amounts are in minor units. An authorization is held. A declined charge, a failed refund and a
 * cancelled payment count nothing. `after` is an id; the totals are of the listed payments;
 * has_more says that there are others. */
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/paypay/paypay.h"

enum { TEXTS = 4, NUMBERS = 6 };
/* Places among the numbers. The first number, the amount, is not summed up. */
enum { HELD = 1, CAPTURED, REFUNDED, OTHERS };

struct ledger { /* a provider's ledger: the columns are the texts, then the numbers */
    enum stmt stmt;
    const char *list;
    struct str parameter; /* the parameter that filters by payment */
    const char *texts[TEXTS + 1], *numbers[NUMBERS + 1];
};

struct ledger_view {
    struct unit unit;
    struct request *request;
    const struct ledger *of;
    struct str payment, after;
    bool more;
    int64_t count, sums[NUMBERS];
    struct buf text;
};

static enum err add_payment(void *ctx, const struct row *row)
{
    struct ledger_view *k = ctx;
    const struct val *v = row->col;

    k->more = k->count == LIMIT_SANDBOX_BOOKS;
    if (k->more)
        return OK;
    if (k->count++)
        buf_char(&k->text, ',');
    for (size_t i = 0; k->of->texts[i]; i++, v++) {
        buf_fmt(&k->text, "%c\"%s\":", i ? ',' : '{', k->of->texts[i]);
        if (v->type == VAL_TEXT)
            buf_json(&k->text, v->s);
        else
            buf_add(&k->text, S("null"));
    }
    for (size_t i = 0; k->of->numbers[i]; i++, v++) {
        buf_fmt(&k->text, ",\"%s\":%lld", k->of->numbers[i], (long long)v->i);
        k->sums[i] += v->i;
    }
    buf_char(&k->text, '}');
    return OK;
}

static void write_totals(struct ledger_view *k)
{
    const int64_t *s = k->sums;

    buf_fmt(&k->text, "],\"has_more\":%s,\"totals\":{\"%s\":%lld", k->more ? "true" : "false",
            k->of->list, (long long)k->count);
    for (size_t i = HELD; k->of->numbers[i]; i++) {
        if (i == OTHERS)
            buf_fmt(&k->text, ",\"net\":%lld", (long long)(s[CAPTURED] - s[REFUNDED]));
        buf_fmt(&k->text, ",\"%s\":%lld", k->of->numbers[i], (long long)s[i]);
    }
    buf_add(&k->text, S("}}\n"));
}

static enum err ledger_run(struct tx *tx, struct unit *u)
{
    struct ledger_view *k = CONTAINER_OF(u, struct ledger_view, unit);
    struct val v[] = { V_TEXT(k->payment), V_TEXT(k->after), V_INT(LIMIT_SANDBOX_BOOKS + 1) };
    enum err e;

    k->more = false;
    k->count = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        k->sums[i] = 0;
    buf_clear(&k->text);
    buf_fmt(&k->text, "{\"%s\":[", k->of->list);
    e = tx_each(tx, k->of->stmt, v, COUNT(v), add_payment, k);
    write_totals(k);
    return e;
}

static void ledger_done(struct unit *u)
{
    struct ledger_view *k = CONTAINER_OF(u, struct ledger_view, unit);

    if (!u->err) {
        control_reply(k->request, 200, S("application/json"), &k->text);
        return;
    }
    buf_release(&k->text);
    reply_problem(k->request, u->err, NULL);
}

static void ledger_post(struct request *r, struct sandbox *s, const struct ledger *of)
{
    static const struct unit_kind kind = { "sandbox.books", UNIT_READ, ledger_run, NULL };
    struct ledger_view *k = arena_alloc(&r->arena, 1, sizeof(*k));

    if (!k) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    k->request = r;
    k->of = of;
    k->payment = control_query(r, of->parameter);
    k->after = control_query(r, S("after"));
    buf_init(&k->text, LIMIT_REPLY);
    k->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = ledger_done };
    store_post(s->store, &k->unit);
}

void control_ledger(struct request *r, void *sandbox)
{
    static const struct ledger of = {
        .stmt = STMT_sandbox_books,
        .list = "intents",
        .parameter = { "payment_id", 10 },
        .texts = { "id", "payment_id", "status", "currency" },
        .numbers = { "amount", "held", "captured", "refunded", "charges", "refunds" },
    };

    ledger_post(r, sandbox, &of);
}

void pp_control_ledger(struct request *r, void *sandbox)
{
    static const struct ledger of = {
        .stmt = STMT_sandbox_paypay_books,
        .list = "payments",
        .parameter = { "merchant_payment_id", 19 },
        .texts = { "payment_id", "merchant_payment_id", "status" },
        .numbers = { "amount", "held", "captured", "refunded", "refunds" },
    };

    ledger_post(r, sandbox, &of);
}
