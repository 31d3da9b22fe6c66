/* dead_letter.c - dead messages as rows: reading, retrying (also with an edited body) and deleting
 * them. Each function is part of a unit of work of its caller, who deletes the dead letter in the
 * same commit. */
#include "qstash/dlq/dead_letter.h"

#include "base/json/json.h"
#include "qstash/redact.h"
#include "qstash/rows.h"
#include "store/values.h"

#include <stdio.h>

/* --- ids --- */

void dlq_id_text(int64_t died_ms, int64_t seq, char text[DLQ_ID_TEXT])
{
    snprintf(text, DLQ_ID_TEXT, "%lld-%lld", (long long)died_ms, (long long)seq);
}

bool dlq_id_parse(struct str text, int64_t *ret_died_ms, int64_t *ret_seq)
{
    struct str died = str_cut(&text, '-');

    return str_to_i64(died, ret_died_ms) && str_to_i64(text, ret_seq) && *ret_died_ms >= 0 &&
           *ret_seq > 0;
}

/* --- rows --- */

static enum err dead_read_with_body(struct tx *tx, struct arena *a, struct uuid id,
                                    struct parcel *ret_parcel, struct dead *ret_dead)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_dead_show, &row, v_uuid(&id));
    const struct val *c = &row.col[PARCEL_COLUMN_COUNT];

    if (e)
        return e;
    if (c[1].type == VAL_NULL)
        return ERR_NOT_FOUND;
    *ret_dead = (struct dead){ .seq = c[1].i,
                               .died_ms = c[2].i,
                               .status = (int)c[3].i,
                               .response_header = c[4].s,
                               .response_body = c[5].s };
    e = parcel_of_row(a, &row, 0, ret_parcel);
    ret_parcel->body = c[0].s;
    return e;
}

enum err dead_read(struct tx *tx, struct arena *a, struct uuid id, bool with_body,
                   struct parcel *ret_parcel, struct dead *ret_dead)
{
    struct row row;
    enum err e;

    if (with_body)
        return dead_read_with_body(tx, a, id, ret_parcel, ret_dead);
    e = TX_ROW(tx, STMT_qstash_dead_find, &row, v_uuid(&id));
    if (e)
        return e;
    *ret_dead =
        (struct dead){ .seq = row.col[0].i, .died_ms = row.col[2].i, .status = (int)row.col[3].i };
    e = parcel_read(tx, a, id, false, ret_parcel);
    if (e == ERR_NOT_FOUND) { /* never; but a row without content must still be deletable */
        *ret_parcel = (struct parcel){ .id = id };
        e = OK;
    }
    return e;
}

/* --- what is done with them --- */

enum err dead_repost(struct qstash *q, struct tx *tx, const struct parcel *p, struct uuid new_id,
                     int64_t now_ms, int64_t not_before_ms)
{
    struct parcel again = *p;
    enum err e;

    again.id = new_id;
    again.webhook_id = p->has_webhook_id ? p->webhook_id : p->id;
    again.has_webhook_id = true;
    again.created_ms = now_ms;
    again.not_before_ms = not_before_ms;
    again.holds_queue_id = 0;
    e = parcel_post(q, tx, &again);
    /* After it: a message that is refused stays dead and keeps its edits. */
    return e ? e : TX_DO(tx, STMT_message_edits_move, -1, v_uuid(&new_id), v_uuid(&p->id));
}

enum err dead_remove(struct tx *tx, const struct parcel *p, const struct dead *d)
{
    enum err e = TX_DO(tx, STMT_qstash_dead_remove, 1, V_INT(d->seq));

    if (!e)
        e = labels_remove(tx, p, d->seq);
    return e ? e : TX_DO(tx, STMT_qstash_message_release, -1, v_uuid(&p->id));
}

enum { TEXTS = 4 * 1024 * 1024, OTHER_TEXTS = 4096 }; /* of one message */

/* A missing queue needs no lock: no other unit sees the one that a retry creates. */
static void dead_need_of_row(const struct row *row, struct dead_need *n)
{
    const struct val *c = row->col;
    struct live at = { 0 };

    if (c[0].type == VAL_INT)
        at.queue_id = c[0].i;
    if (c[1].type == VAL_TEXT)
        at.flow_key = c[1].s;
    n->bytes = c[2].i + OTHER_TEXTS;
    n->has_gates = true;
    n->lane_count = gate_lanes(&at, n->lanes);
}

enum err qstash_dead_need(struct tx *tx, struct uuid id, struct dead_need *ret_need)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_dead_need, &row, v_uuid(&id));

    if (!e)
        dead_need_of_row(&row, ret_need);
    return e;
}

enum err qstash_dead_edit(struct tx *tx, struct qstash *q, struct uuid id, struct uuid new_id,
                          const struct str *body)
{
    int64_t now_ms = env_now_ms(q->env);
    CLEANUP(arena_release) struct arena a;
    struct parcel p;
    struct dead d;
    enum err e;

    arena_init(&a, TEXTS);
    e = dead_read(tx, &a, id, true, &p, &d);
    if (e)
        return e;
    if (body)
        p.body = *body;
    e = dead_repost(q, tx, &p, new_id, now_ms, now_ms);
    return e ? e : dead_remove(tx, &p, &d);
}

enum err qstash_dead_retry(struct tx *tx, struct qstash *q, struct uuid id, struct uuid new_id)
{
    return qstash_dead_edit(tx, q, id, new_id, NULL);
}

enum err qstash_dead_body(struct tx *tx, struct uuid id, struct str *ret_body, bool *ret_hidden)
{
    CLEANUP(arena_release) struct arena a;
    struct parcel p;
    struct dead d;
    enum err e;

    arena_init(&a, TEXTS);
    e = dead_read(tx, &a, id, true, &p, &d);
    if (e)
        return e;
    *ret_body = p.body;
    *ret_hidden = redact_of(p.redact).body;
    return OK;
}

enum err qstash_dead_forget(struct tx *tx, struct qstash *q, struct uuid id)
{
    CLEANUP(arena_release) struct arena a;
    struct parcel p;
    struct dead d;
    enum err e;

    (void)q;
    arena_init(&a, TEXTS);
    e = dead_read(tx, &a, id, false, &p, &d);
    return e ? e : dead_remove(tx, &p, &d);
}
