#include "transfer/json.h"

#include "base/json/write.h"
#include "store/json_values.h"

static void out_id(struct buf *b, const char *name, bool there, struct uuid id)
{
    if (there)
        out_uuid(b, name, id);
    else
        out_json(b, name, S("null"));
}

void out_transfer(struct buf *b, const struct transfer *t)
{
    buf_char(b, '{');
    out_uuid(b, "paymentId", t->payment_id);
    out_text(b, "reference", t->reference);
    money_out(b, t->money);
    out_int(b, "received", t->received);
    out_text(b, "state", str_of(transfer_state_name(t->state)));
    out_time(b, "expiresAt", t->expires_ms);
    out_text(b, "receivedOn", t->received_on);
    out_id(b, "lineId", t->has_line, t->line_id);
    out_time(b, "createdAt", t->created_ms);
    out_time(b, "updatedAt", t->updated_ms);
    buf_char(b, '}');
}

void out_line(struct buf *b, const struct statement_line *l, struct str candidates)
{
    buf_char(b, '{');
    out_uuid(b, "id", l->id);
    out_uuid(b, "importId", l->import_id);
    out_int(b, "line", l->line);
    out_text(b, "date", l->booked_on);
    money_out(b, l->money);
    out_name(b, "text");
    buf_json(b, l->text);
    if (l->has_balance)
        out_int(b, "balance", l->balance);
    else
        out_json(b, "balance", S("null"));
    out_text(b, "bankId", l->bank_id);
    out_text(b, "state", str_of(line_state_name(l->state)));
    out_text(b, "reason", l->reason);
    out_id(b, "paymentId", l->has_payment, l->payment_id);
    out_text(b, "note", l->note);
    out_time(b, "decidedAt", l->decided_ms);
    out_time(b, "createdAt", l->created_ms);
    if (candidates.n)
        out_json(b, "candidates", candidates);
    buf_char(b, '}');
}

void out_return(struct buf *b, const struct row *row)
{
    const struct val *v = row->col;

    buf_char(b, '{');
    out_val_uuid(b, "id", &v[0]);
    out_val_text(b, "kind", &v[1]);
    out_val_uuid(b, "paymentId", &v[2]);
    out_val_uuid(b, "lineId", &v[3]);
    out_int(b, "amount", v[4].i);
    out_val_text(b, "currency", &v[5]);
    out_val_text(b, "state", &v[6]);
    out_val_text(b, "paidOn", &v[7]);
    out_val_text(b, "note", &v[8]);
    out_time(b, "createdAt", v[9].i);
    out_time(b, "updatedAt", v[10].i);
    if (row->count > 11)
        out_val_text(b, "text", &v[11]);
    buf_char(b, '}');
}
