/* state.c - entries of the payment's state changes, refunds, disputes and objects at the gateway.
 * The row of a refund, dispute or object has only its newest state, so it gets two entries: its
 * beginning, and its present state at the time of the row's last update. */
#include "timeline/entries.h"

/* --- the payment --- */

/* A void has VOIDED in domain_events.dedupe: nothing was captured, so nothing was refunded. */
static void state_add_change(struct timeline *t, const struct val *v)
{
    struct str type = val_is_word(&v[4], S("VOIDED")) ? S("PaymentVoided") : v[1].s;
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

/* --- objects with a beginning and a present state --- */

struct state_object {
    struct str made, now; /* kinds: its beginning, and what it is now */
    struct str state;     /* now; may be empty */
    enum timeline_result result;
    struct str ref;
    int64_t created_ms, updated_ms;
};

/* An object that was never updated has one entry only. */
static void state_object_begin(struct timeline *t, const struct state_object *x,
                               const struct val *amount)
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

static struct entry *state_object_now(struct timeline *t, const struct state_object *x)
{
    bool changed = x->updated_ms > x->created_ms;
    struct entry *e = timeline_add(t, LANE_STATE, x->now, changed ? x->updated_ms : x->created_ms);

    e->result = x->result;
    e->about = x->state;
    e->ref = x->ref;
    return e;
}

static enum timeline_result state_refund_result(const struct val *status)
{
    if (val_is_word(status, S("succeeded")))
        return RESULT_OK;
    return val_is_word(status, S("failed")) || val_is_word(status, S("canceled")) ? RESULT_FAILED
                                                                                  : RESULT_WAITING;
}

static void state_add_refund(struct timeline *t, const struct val *v)
{
    struct state_object x = { .made = S("refund_asked"),
                              .now = S("refund"),
                              .state = v[3].s,
                              .result = state_refund_result(&v[3]),
                              .ref = timeline_uuid(t, v[0].s),
                              .created_ms = v[7].i,
                              .updated_ms = v[8].i };
    struct entry *e;
    struct buf b;

    state_object_begin(t, &x, &v[1]);
    e = state_object_now(t, &x);
    detail_begin(&b);
    detail_number(&b, "amount", &v[1]);
    detail_words(&b, "reason", &v[2]);
    detail_words(&b, "providerId", &v[4]);
    detail_words(&b, "failureReason", &v[5]);
    if (v[6].i)
        out_text(&b, "automatic", S("yes"));
    detail_end(t, e, &b);
}

static enum timeline_result state_transaction_result(const struct val *status)
{
    if (val_is_word(status, S("pending")))
        return RESULT_WAITING;
    return val_is_word(status, S("failed")) || val_is_word(status, S("canceled")) ? RESULT_FAILED
                                                                                  : RESULT_OK;
}

static void state_add_transaction(struct timeline *t, const struct val *v)
{
    struct state_object x = { .made = S("transaction_made"),
                              .now = S("transaction"),
                              .state = v[2].s,
                              .result = state_transaction_result(&v[2]),
                              .ref = v[0].s,
                              .created_ms = v[9].i,
                              .updated_ms = v[10].i };
    struct entry *e;
    struct buf b;

    state_object_begin(t, &x, &v[3]);
    e = state_object_now(t, &x);
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

static void state_add_dispute(struct timeline *t, const struct val *v)
{
    struct state_object x = { .made = S("dispute_opened"),
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

    state_object_begin(t, &x, &v[5]);
    e = state_object_now(t, &x);
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
        { STMT_timeline_changes, state_add_change },
        { STMT_timeline_refunds, state_add_refund },
        { STMT_timeline_transactions, state_add_transaction },
        { STMT_timeline_disputes, state_add_dispute },
    };
    enum err e = OK;

    for (size_t i = 0; !e && i < COUNT(sources); i++)
        e = timeline_each(t, sources[i].stmt, sources[i].each);
    return e;
}
