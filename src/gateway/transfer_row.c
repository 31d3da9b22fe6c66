#include "gateway/transfer_row.h"

#include <stdio.h>

static struct str text_of(struct arena *a, const struct val *v, bool *fine)
{
    struct str copy;

    if (v->type != VAL_TEXT || !v->s.n)
        return (struct str){ 0 };
    if (!a)
        return v->s;
    copy = arena_str(a, v->s);
    *fine = *fine && copy.p;
    return copy;
}

enum err transfer_of_row(struct arena *a, const struct row *row, struct transfer *ret_transfer)
{
    const struct val *v = row->col;
    bool fine = true;
    struct transfer t = {
        .reference = text_of(a, &v[1], &fine),
        .received = v[4].i,
        .account = text_of(a, &v[6], &fine),
        .expires_ms = v[7].i,
        .received_on = text_of(a, &v[8], &fine),
        .has_line = v[9].type == VAL_BLOB,
        .cancel_reason = text_of(a, &v[10], &fine),
        .created_ms = v[11].i,
        .updated_ms = v[12].i,
    };

    if (t.has_line)
        uuid_of_bytes(v[9].s, &t.line_id);
    if (!uuid_of_bytes(v[0].s, &t.payment_id) || !money_make(v[2].i, v[3].s, &t.money) ||
        !transfer_state_parse(v[5].s, &t.state))
        return ERR_INTERNAL;
    *ret_transfer = t;
    return fine ? OK : ERR_NO_MEMORY;
}

enum err transfer_read(struct tx *tx, struct arena *a, struct uuid payment, bool lock,
                       struct transfer *ret_transfer)
{
    struct row row;
    enum err e = TX_ROW(tx, lock ? STMT_transfer_lock : STMT_transfer_get, &row,
                        V_BLOB(uuid_bytes(&payment)));

    return e ? e : transfer_of_row(a, &row, ret_transfer);
}

static void id_text(const char *prefix, struct uuid id, char text[TRANSFER_ID_TEXT + 1])
{
    char uuid[UUID_TEXT + 1];

    uuid_text(id, uuid);
    snprintf(text, TRANSFER_ID_TEXT + 1, "%s%s", prefix, uuid);
}

void transfer_intent_id(struct uuid payment, char text[TRANSFER_ID_TEXT + 1])
{
    id_text("bt_", payment, text);
}

void transfer_refund_id(struct uuid refund, char text[TRANSFER_ID_TEXT + 1])
{
    id_text("btr_", refund, text);
}
