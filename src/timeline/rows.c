/* rows.c - entries of the payment's own rows: operations, tries, replays, acts of people. The audit
 * log is read first: it has the results of operations, and the acts of operators are stored nowhere
 * else. */
#include "timeline/entries.h"

#include <string.h>

/* --- people --- */

/* The admin token of the settings has the id zero and no name (auth.h). */
static void person_read_name(struct timeline *t, struct person *p)
{
    static const struct uuid nobody;
    struct row row;
    enum err e = ERR_NOT_FOUND;

    if (uuid_eq(p->id, nobody)) {
        p->is_operator = true;
        p->name = S("admin token");
        return;
    }
    if (uuid_eq(p->id, t->payment.user_id)) {
        p->name = S("owner");
        return;
    }
    e = TX_ROW(t->tx, STMT_timeline_person, &row, v_uuid(&p->id));
    p->is_operator = !e;
    p->name = e ? timeline_uuid(t, uuid_bytes(&p->id)) : row.col[0].s;
    if (e && e != ERR_NOT_FOUND)
        t->err = e;
}

/* Returns NULL if the row names no person, or after LIMIT_TIMELINE_PEOPLE. */
static const struct person *person_find(struct timeline *t, const struct val *v)
{
    struct uuid id;
    struct person *p;

    if (v->type != VAL_BLOB || !uuid_of_bytes(v->s, &id))
        return NULL;
    for (size_t i = 0; i < t->person_count; i++)
        if (uuid_eq(t->people[i].id, id))
            return &t->people[i];
    if (t->person_count == LIMIT_TIMELINE_PEOPLE)
        return NULL;
    p = &t->people[t->person_count++];
    *p = (struct person){ .id = id };
    person_read_name(t, p);
    return p;
}

static void out_person(struct timeline *t, struct buf *b, const struct val *v)
{
    const struct person *p = person_find(t, v);

    if (p)
        out_text(b, "by", p->name);
}

/* --- the audit --- */

enum {
    AUDIT_SEQ,
    AUDIT_AT,
    AUDIT_OPERATION,
    AUDIT_SUBJECT,
    AUDIT_RESULT,
    AUDIT_TIMES,
    AUDIT_DETAIL,
    AUDIT_USER,
    AUDIT_AMOUNT,
    AUDIT_KEY,
    AUDIT_COLUMNS
};

static void audit_keep(struct timeline *t, const struct val *v)
{
    memcpy(t->audit[t->audit_count++].v, v, AUDIT_COLUMNS * sizeof(*v));
}

/* Returns the audit line of an operation, which has its end time and its key, or NULL. */
static const struct val *audit_of_operation(const struct timeline *t, const char *keyword,
                                            const struct val *ended, const struct val *key)
{
    for (size_t i = 0; i < t->audit_count; i++) {
        const struct val *v = t->audit[i].v;

        if (val_is_word(&v[AUDIT_OPERATION], str_of(keyword)) && v[AUDIT_AT].i == ended->i &&
            v[AUDIT_KEY].type == key->type &&
            (key->type != VAL_BLOB || str_eq(v[AUDIT_KEY].s, key->s)))
            return v;
    }
    return NULL;
}

static bool audit_is_operation(const struct val *v)
{
    for (enum op_kind k = 0; k < OP_KINDS; k++)
        if (val_is_word(v, str_of(op_keyword(k))))
            return true;
    return false;
}

/* Is this a failure that was detected, not an act? It is stored nowhere else. */
static bool audit_is_finding(const struct val *v)
{
    return v[AUDIT_USER].type == VAL_NULL && val_is_word(&v[AUDIT_RESULT], S("failure")) &&
           v[AUDIT_DETAIL].type == VAL_TEXT &&
           (str_starts(v[AUDIT_DETAIL].s, S("more was refunded")) ||
            str_starts(v[AUDIT_DETAIL].s, S("gateway_")));
}

/* The first id in a text like "by the admin API: stripe.event 0199..., dead of: ...". */
static bool audit_id_in_text(struct str text, struct uuid *ret_id)
{
    for (size_t i = 0; i + UUID_TEXT <= text.n; i++)
        if (uuid_parse((struct str){ text.p + i, UUID_TEXT }, ret_id))
            return true;
    return false;
}

static void rows_add_retry(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_QUEUE, S("retry"), v[AUDIT_AT].i);
    struct uuid message;
    struct buf b;

    e->result = RESULT_RETRIED;
    e->ref = v[AUDIT_SUBJECT].s;
    detail_begin(&b);
    out_person(t, &b, &v[AUDIT_USER]);
    detail_words(&b, "what", &v[AUDIT_DETAIL]);
    detail_end(t, e, &b);
    if (v[AUDIT_DETAIL].type != VAL_TEXT || !audit_id_in_text(v[AUDIT_DETAIL].s, &message))
        return;
    t->revivals[t->revival_count++] = (struct revival){ message, v[AUDIT_AT].i };
    timeline_message(t, message, (struct str){ 0 });
}

static struct str rows_lower(struct timeline *t, struct str s)
{
    struct str copy = arena_str(t->arena, s);

    for (size_t i = 0; i < copy.n; i++)
        if (copy.p[i] >= 'A' && copy.p[i] <= 'Z')
            ((char *)copy.p)[i] = (char)(copy.p[i] | 0x20);
    return copy;
}

static void rows_add_act(struct timeline *t, const struct val *v, enum timeline_lane lane)
{
    struct str operation = rows_lower(t, v[AUDIT_OPERATION].s);
    struct entry *e = timeline_add(
        t, lane, audit_is_operation(&v[AUDIT_OPERATION]) ? S("note") : operation, v[AUDIT_AT].i);
    struct buf b;

    e->times = val_number(&v[AUDIT_TIMES]);
    e->result = val_is_word(&v[AUDIT_RESULT], S("success")) ? RESULT_OK : RESULT_FAILED;
    e->ref = v[AUDIT_SUBJECT].s;
    if (!str_eq(str_of(e->kind->name), operation))
        e->about = operation;
    detail_begin(&b);
    out_person(t, &b, &v[AUDIT_USER]);
    detail_number(&b, "amount", &v[AUDIT_AMOUNT]);
    detail_words(&b, "what", &v[AUDIT_DETAIL]);
    detail_end(t, e, &b);
}

/* Operations, disputes, receipts and replays have rows of their own. */
static void rows_add_audit(struct timeline *t, const struct val *v)
{
    const struct val *what = &v[AUDIT_OPERATION];

    if (val_is_word(what, S("DLQ_RETRY")))
        rows_add_retry(t, v);
    else if (val_is_word(what, S("DISPUTE")) || val_is_word(what, S("RECEIPT")) ||
             val_is_word(what, S("EVENT_REPLAY")))
        return;
    else if (!audit_is_operation(what))
        rows_add_act(t, v,
                     v[AUDIT_USER].type == VAL_BLOB || val_is_word(what, S("DLQ_DELETE"))
                         ? LANE_OPERATOR
                         : LANE_STATE);
    else if (audit_is_finding(v))
        rows_add_act(t, v, LANE_STATE);
}

static enum err audit_read(struct timeline *t)
{
    enum err e = timeline_each(t, STMT_timeline_audit, audit_keep);

    for (size_t i = 0; !e && i < t->audit_count; i++) {
        rows_add_audit(t, t->audit[i].v);
        e = t->err;
    }
    return e;
}

/* --- operations --- */

enum {
    OP_ID,
    OP_KIND,
    OP_PHASE,
    OP_CAUSE,
    OP_AMOUNT,
    OP_USER,
    OP_KEY,
    OP_MESSAGE,
    OP_CLAIMED,
    OP_SENDS,
    OP_ASKS,
    OP_RESULT,
    OP_ENDED,
    OP_COLUMNS
};

static enum timeline_result operation_result(const struct val *v, const struct val *audit)
{
    if (val_is_word(&v[OP_PHASE], S("unknown")))
        return RESULT_UNKNOWN;
    if (!val_is_word(&v[OP_PHASE], S("done")))
        return RESULT_WAITING;
    if (val_is_word(&v[OP_RESULT], S("nothing to do")))
        return RESULT_SKIPPED;
    if (!val_is_word(&v[OP_RESULT], S("done")))
        return RESULT_FAILED;
    return audit && val_is_word(&audit[AUDIT_RESULT], S("failure")) ? RESULT_FAILED : RESULT_OK;
}

static const char *operation_keyword(struct str kind)
{
    for (enum op_kind k = 0; k < OP_KINDS; k++)
        if (str_eq(str_of(op_name(k)), kind))
            return op_keyword(k);
    return "";
}

/* An operation of an operator is in the operators' lane; one without a user is our own. */
static struct entry *rows_add_operation_entry(struct timeline *t, const struct val *v)
{
    const struct person *p = person_find(t, &v[OP_USER]);
    struct str kind = v[OP_KIND].s;

    if (v[OP_USER].type != VAL_BLOB)
        return timeline_add(t, LANE_QUEUE,
                            str_eq(kind, S("refund")) ? S("automatic_refund") : S("automatic_void"),
                            v[OP_CLAIMED].i);
    return timeline_add(t, p && p->is_operator ? LANE_OPERATOR : LANE_CALL, kind, v[OP_CLAIMED].i);
}

static void rows_add_operation(struct timeline *t, const struct val *v)
{
    const struct val *audit =
        audit_of_operation(t, operation_keyword(v[OP_KIND].s), &v[OP_ENDED], &v[OP_KEY]);
    struct entry *e = rows_add_operation_entry(t, v);
    struct uuid message;
    struct buf b;

    e->result = operation_result(v, audit);
    e->ref = timeline_uuid(t, v[OP_ID].s);
    timeline_ended(e, val_number(&v[OP_ENDED]));
    detail_begin(&b);
    out_person(t, &b, &v[OP_USER]);
    detail_number(&b, "amount", &v[OP_AMOUNT]);
    if (v[OP_USER].type != VAL_BLOB)
        detail_words(&b, "cause", &v[OP_CAUSE]);
    if (v[OP_KEY].type == VAL_BLOB)
        out_text(&b, "idempotencyKey", timeline_uuid(t, v[OP_KEY].s));
    detail_number(&b, "sends", &v[OP_SENDS]);
    detail_number(&b, "asks", &v[OP_ASKS]);
    if (e->result == RESULT_FAILED && audit)
        detail_words(&b, "reason", &audit[AUDIT_DETAIL]);
    if (e->result != RESULT_OK)
        detail_words(&b, "state", &v[OP_RESULT]);
    detail_end(t, e, &b);
    if (uuid_of_bytes(v[OP_MESSAGE].s, &message))
        timeline_message(t, message, S("op"));
}

/* --- replays and tries --- */

static void rows_add_replay(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_REPLAY, S("replay"), v[3].i);
    struct buf b;

    e->result = RESULT_DUPLICATE;
    e->about = v[1].s;
    e->times = v[2].i;
    e->ended_ms = v[4].i;
    e->ref = timeline_uuid(t, v[0].s);
    detail_begin(&b);
    out_text(&b, "operation", v[1].s);
    detail_end(t, e, &b);
}

enum {
    TRY_AT,
    TRY_OPERATION,
    TRY_N,
    TRY_TOOK,
    TRY_ASK,
    TRY_OUTCOME,
    TRY_RETRIED,
    TRY_STATUS,
    TRY_DETAIL,
    TRY_TIMES
};

/* `absent` answers a query; for any other request it is a failure. */
static enum timeline_result try_result(const struct val *v)
{
    bool asks = str_starts(v[TRY_ASK].s, S("fetch"));

    if (v[TRY_RETRIED].i)
        return RESULT_RETRIED;
    if (val_is_word(&v[TRY_OUTCOME], S("ok")) ||
        (asks && val_is_word(&v[TRY_OUTCOME], S("absent"))))
        return RESULT_OK;
    if (val_is_word(&v[TRY_OUTCOME], S("uncertain")) || val_is_word(&v[TRY_OUTCOME], S("timeout")))
        return RESULT_UNKNOWN;
    return RESULT_FAILED;
}

static void rows_add_try(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_GATEWAY, v[TRY_ASK].s, v[TRY_AT].i);
    struct buf b;

    e->result = try_result(v);
    e->times = v[TRY_TIMES].i;
    e->ref = timeline_uuid(t, v[TRY_OPERATION].s);
    e->ms = v[TRY_TOOK].i;
    e->ended_ms = v[TRY_AT].i + v[TRY_TOOK].i;
    detail_begin(&b);
    out_text(&b, "outcome", v[TRY_OUTCOME].s);
    detail_number(&b, "try", &v[TRY_N]);
    detail_number(&b, "status", &v[TRY_STATUS]);
    detail_words(&b, "code", &v[TRY_DETAIL]);
    out_text(&b, "gateway", t->payment.gateway);
    detail_end(t, e, &b);
}

/* --- events that were applied once more --- */

enum { AGAIN_EVENT, AGAIN_TYPE, AGAIN_AT, AGAIN_ENDED, AGAIN_OUTCOME, AGAIN_DETAIL, AGAIN_WAS };
enum { AGAIN_USER = AGAIN_WAS + 1, AGAIN_REDRIVE };

static enum timeline_result event_replay_result(const struct val *outcome)
{
    if (outcome->type != VAL_TEXT)
        return RESULT_WAITING;
    return val_is_word(outcome, S("retried")) ? RESULT_RETRIED : timeline_event_result(outcome);
}

static void rows_add_event_replay(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_OPERATOR, S("event_replay"), v[AGAIN_AT].i);
    struct buf b;

    e->result = event_replay_result(&v[AGAIN_OUTCOME]);
    e->about = v[AGAIN_TYPE].type == VAL_TEXT ? v[AGAIN_TYPE].s : (struct str){ 0 };
    e->ref = v[AGAIN_EVENT].s;
    timeline_ended(e, val_number(&v[AGAIN_ENDED]));
    detail_begin(&b);
    out_person(t, &b, &v[AGAIN_USER]);
    detail_words(&b, "outcome", &v[AGAIN_OUTCOME]);
    detail_words(&b, "what", &v[AGAIN_DETAIL]);
    detail_words(&b, "was", &v[AGAIN_WAS]);
    out_text(&b, "replay", timeline_uuid(t, v[AGAIN_REDRIVE].s));
    detail_end(t, e, &b);
}

enum err timeline_own_rows(struct timeline *t)
{
    static const struct {
        enum stmt stmt;
        timeline_row each;
    } sources[] = {
        { STMT_timeline_operations, rows_add_operation },
        { STMT_attempts_of, rows_add_try },
        { STMT_replays_of, rows_add_replay },
        { STMT_timeline_event_replays, rows_add_event_replay },
    };
    enum err e = audit_read(t);

    for (size_t i = 0; !e && i < COUNT(sources); i++)
        e = timeline_each(t, sources[i].stmt, sources[i].each);
    return e;
}
