/* state.c - how the payment moved, and what changes beside it: refunds, disputes, objects
 * at the gateway. Of those a row has the newest state alone: so it began, and what it is now it
 * became when the row was last written. Between the two the payment's own changes tell. */
#include "timeline/entries.h"

static bool is_word(const struct val *v, struct str word)
{
    return v->type == VAL_TEXT && str_eq(v->s, word);
}

/* --- the payment --- */

/* domain_events.dedupe of a void: nothing was taken, so nothing went back. */
static void add_change(struct timeline *t, const struct val *v)
{
    struct str type = is_word(&v[4], S("VOIDED")) ? S("PaymentVoided") : v[1].s;
    struct entry *e = timeline_add(t, LANE_STATE, type, v[3].i);
    struct buf b;

    e->ref = timeline_uuid(t, v[0].s);
    if (str_eq(type, S("PaymentFailed")))
        e->result = RESULT_FAILED;
    if (!str_eq(str_of(e->kind->name), type))
        e->about = type;
    detail_begin(&b);
    out_text(&b, "type", v[1].s);
    detail_number(&b, "version", &v[2]);
    detail_end(t, e, &b);
}

/* --- what is made, and changes --- */

struct thing {
    struct str made, now; /* kinds: its beginning, and what it is now */
    struct str state;     /* now; may be empty */
    enum timeline_result result;
    struct str ref;
    int64_t created_ms, updated_ms;
};

/* Where it was never written again it began as what it is. */
static void begin_thing(struct timeline *t, const struct thing *x, const struct val *amount)
{
    struct entry *e;
    struct buf b;

    if (x->updated_ms <= x->created_ms)
        return;
    e = timeline_add(t, LANE_STATE, x->made, x->created_ms);
    e->ref = x->ref;
    detail_begin(&b);
    detail_number(&b, "amount", amount);
    detail_end(t, e, &b);
}

static struct entry *now_of_thing(struct timeline *t, const struct thing *x)
{
    bool changed = x->updated_ms > x->created_ms;
    struct entry *e = timeline_add(t, LANE_STATE, x->now, changed ? x->updated_ms : x->created_ms);

    e->result = x->result;
    e->about = x->state;
    e->ref = x->ref;
    return e;
}

static enum timeline_result refund_result(const struct val *status)
{
    if (is_word(status, S("succeeded")))
        return RESULT_OK;
    return is_word(status, S("failed")) || is_word(status, S("canceled")) ? RESULT_FAILED
                                                                          : RESULT_WAITING;
}

static void add_refund(struct timeline *t, const struct val *v)
{
    struct thing x = { .made = S("refund_asked"),
                       .now = S("refund"),
                       .state = v[3].s,
                       .result = refund_result(&v[3]),
                       .ref = timeline_uuid(t, v[0].s),
                       .created_ms = v[7].i,
                       .updated_ms = v[8].i };
    struct entry *e;
    struct buf b;

    begin_thing(t, &x, &v[1]);
    e = now_of_thing(t, &x);
    detail_begin(&b);
    detail_number(&b, "amount", &v[1]);
    detail_words(&b, "reason", &v[2]);
    detail_words(&b, "providerId", &v[4]);
    detail_words(&b, "failureReason", &v[5]);
    if (v[6].i)
        out_text(&b, "automatic", S("yes"));
    detail_end(t, e, &b);
}

static enum timeline_result transaction_result(const struct val *status)
{
    if (is_word(status, S("pending")))
        return RESULT_WAITING;
    return is_word(status, S("failed")) || is_word(status, S("canceled")) ? RESULT_FAILED
                                                                          : RESULT_OK;
}

static void add_transaction(struct timeline *t, const struct val *v)
{
    struct thing x = { .made = S("transaction_made"),
                       .now = S("transaction"),
                       .state = v[2].s,
                       .result = transaction_result(&v[2]),
                       .ref = v[0].s,
                       .created_ms = v[9].i,
                       .updated_ms = v[10].i };
    struct entry *e;
    struct buf b;

    begin_thing(t, &x, &v[3]);
    e = now_of_thing(t, &x);
    detail_begin(&b);
    out_text(&b, "gateway", v[1].s);
    detail_number(&b, "amount", &v[3]);
    detail_number(&b, "received", &v[4]);
    detail_number(&b, "fee", &v[5]);
    detail_number(&b, "net", &v[6]);
    detail_words(&b, "failureCode", &v[7]);
    detail_words(&b, "cancelReason", &v[8]);
    detail_end(t, e, &b);
}

static void add_dispute(struct timeline *t, const struct val *v)
{
    struct thing x = { .made = S("dispute_opened"),
                       .now = S("dispute"),
                       .state = v[1].type == VAL_TEXT ? v[1].s : (struct str){ 0 },
                       .result = !v[2].i  ? RESULT_WAITING
                                 : v[3].i ? RESULT_FAILED
                                          : RESULT_OK,
                       .ref = v[0].s,
                       .created_ms = v[6].i,
                       .updated_ms = v[7].i };
    struct entry *e;
    struct buf b;

    begin_thing(t, &x, &v[5]);
    e = now_of_thing(t, &x);
    detail_begin(&b);
    detail_words(&b, "status", &v[1]);
    detail_words(&b, "reason", &v[4]);
    detail_number(&b, "amount", &v[5]);
    detail_end(t, e, &b);
}

enum err timeline_states(struct timeline *t)
{
    static const struct {
        enum stmt stmt;
        timeline_row each;
    } sources[] = {
        { STMT_timeline_changes, add_change },
        { STMT_timeline_refunds, add_refund },
        { STMT_timeline_transactions, add_transaction },
        { STMT_timeline_disputes, add_dispute },
    };
    enum err e = OK;

    for (size_t i = 0; !e && i < COUNT(sources); i++)
        e = timeline_each(t, sources[i].stmt, sources[i].each);
    return e;
}
