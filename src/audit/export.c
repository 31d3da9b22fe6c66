/* export.c - the whole log, in parts (list.h). It has the order of the chain and its hashes, so that
 * a copy can be verified without this program. A row that is sealed late comes after the others. It
 * only reads. */
#include "audit/list.h"
#include "audit/row.h"
#include "base/csv.h"
#include "base/hex.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "base/text.h"
#include "store/json_values.h"

#include <stdio.h>
#include <string.h>

enum { COL_N = AUDIT_COLUMNS, COL_SEQ, COL_HASH, TEXT_MAX = 8 * 1024 * 1024 };

struct export_part {
    struct buf out;
    enum audit_format format;
    struct audit_export_place *place;
    size_t rows;
    bool full;
};

bool audit_export_read(struct str text, struct audit_export_place *ret_place)
{
    struct audit_export_place p;

    if (text.n < 2 || (text.p[0] != 's' && text.p[0] != 'u'))
        return false;
    p.unsealed = text.p[0] == 'u';
    if (!str_to_i64((struct str){ text.p + 1, text.n - 1 }, &p.at) || (!p.unsealed && p.at < 0))
        return false;
    *ret_place = p;
    return true;
}

void audit_export_text(const struct audit_export_place *p, char ret_text[AUDIT_EXPORT_TEXT + 1])
{
    snprintf(ret_text, AUDIT_EXPORT_TEXT + 1, "%c%lld", p->unsealed ? 'u' : 's', (long long)p->at);
}

/* --- JSON --- */

static void json_number(struct buf *b, const char *name, const struct val *v)
{
    if (v->type == VAL_INT)
        out_int(b, name, v->i);
    else
        out_json(b, name, (struct str){ 0 });
}

static void json_row(struct buf *b, const struct row *row, int64_t n, struct str hash)
{
    const struct val *v = row->col;

    buf_char(b, '{');
    if (n)
        out_int(b, "n", n);
    else
        out_json(b, "n", (struct str){ 0 });
    out_text(b, "hash", hash);
    json_number(b, "seq", &v[AUDIT_SEQ]);
    if (v[AUDIT_AT].type == VAL_INT)
        out_time(b, "at", v[AUDIT_AT].i);
    else
        out_json(b, "at", (struct str){ 0 });
    out_val_text(b, "operation", &v[AUDIT_OPERATION]);
    out_val_text(b, "subject", &v[AUDIT_SUBJECT]);
    out_val_text(b, "result", &v[AUDIT_RESULT]);
    json_number(b, "times", &v[AUDIT_TIMES]);
    out_val_text(b, "detail", &v[AUDIT_DETAIL]);
    out_val_uuid(b, "userId", &v[AUDIT_USER]);
    out_val_uuid(b, "paymentId", &v[AUDIT_PAYMENT]);
    json_number(b, "amount", &v[AUDIT_AMOUNT]);
    out_val_uuid(b, "idempotencyKey", &v[AUDIT_KEY]);
    buf_add(b, S("}\n"));
}

/* --- CSV --- */

/* A spreadsheet takes =, +, - and @ for the beginning of a formula; tab and CR may come before one.
 */
static bool is_formula(struct str s)
{
    return s.n && strchr("=+-@\t\r", s.p[0]);
}

static void csv_value(struct buf *b, const struct val *v)
{
    char text[UUID_TEXT + 1];
    struct uuid id;

    if (v->type == VAL_INT)
        buf_i64(b, v->i);
    else if (v->type == VAL_TEXT)
        csv_field(b, v->s, is_formula(v->s));
    else if (v->type == VAL_BLOB && uuid_of_bytes(v->s, &id)) {
        uuid_text(id, text);
        buf_add(b, str_of(text));
    }
}

static void csv_row(struct buf *b, const struct row *row, int64_t n, struct str hash)
{
    char at[TIME_TEXT + 1] = "";

    if (n)
        buf_i64(b, n);
    buf_char(b, ',');
    buf_add(b, hash);
    for (int i = 0; i < AUDIT_COLUMNS; i++) {
        buf_char(b, ',');
        if (i == AUDIT_AT && row->col[i].type == VAL_INT) {
            time_text(row->col[i].i, at);
            buf_add(b, str_of(at));
        } else {
            csv_value(b, &row->col[i]);
        }
    }
    buf_add(b, S("\r\n"));
}

/* --- one part --- */

static void add_row(struct export_part *p, const struct row *row, int64_t n, struct str hash)
{
    if (p->format == AUDIT_CSV)
        csv_row(&p->out, row, n, hash);
    else
        json_row(&p->out, row, n, hash);
    p->full = p->out.n >= LIMIT_AUDIT_EXPORT_BYTES;
}

/* Also for a row that is gone: then only its seal is written. */
static enum err add_sealed(void *ctx, const struct row *row)
{
    struct export_part *p = ctx;
    struct row whole = *row;
    char hex[2 * AUDIT_HASH];
    const struct val *hash = &row->col[COL_HASH];

    if (p->full)
        return OK;
    if (hash->type != VAL_BLOB || hash->s.n != AUDIT_HASH)
        return ERR_INTERNAL;
    hex_put(hex, (const unsigned char *)hash->s.p, AUDIT_HASH);
    whole.col[AUDIT_SEQ] = row->col[COL_SEQ];
    p->place->at = row->col[COL_N].i;
    p->rows++;
    add_row(p, &whole, row->col[COL_N].i, (struct str){ hex, sizeof(hex) });
    return OK;
}

static enum err add_unsealed(void *ctx, const struct row *row)
{
    struct export_part *p = ctx;

    if (p->full)
        return OK;
    p->place->at = row->col[AUDIT_SEQ].i;
    p->rows++;
    if (row->col[COL_N].type == VAL_NULL)
        add_row(p, row, 0, (struct str){ 0 });
    return OK;
}

static enum err read_part(struct tx *tx, struct export_part *p, bool *ret_end)
{
    bool unsealed = p->place->unsealed;
    struct val v[] = { V_INT(p->place->at), V_INT(LIMIT_AUDIT_EXPORT) };
    enum err e = tx_each(tx, unsealed ? STMT_audit_rows_look : STMT_audit_sealed, v, COUNT(v),
                         unsealed ? add_unsealed : add_sealed, p);
    bool more = p->full || p->rows == LIMIT_AUDIT_EXPORT;

    if (!more && !unsealed)
        *p->place = (struct audit_export_place){ .unsealed = true, .at = INT64_MIN };
    *ret_end = !more && unsealed;
    return e;
}

static void csv_head(struct buf *b)
{
    buf_add(b, S("n,hash,seq,at,operation,subject,result,times,detail,user_id,payment_id,amount,"
                 "idempotency_key\r\n"));
}

enum err audit_export(struct tx *tx, struct arena *a, enum audit_format format,
                      const struct audit_export_place *from, struct audit_export *ret_part)
{
    struct export_part p = { .format = format, .place = &ret_part->next };
    enum err e;

    ret_part->next = *from;
    buf_init(&p.out, TEXT_MAX);
    if (format == AUDIT_CSV && !from->unsealed && !from->at)
        csv_head(&p.out);
    e = read_part(tx, &p, &ret_part->is_last);
    ret_part->text = out_done(&p.out, a);
    return e ? e : ret_part->text.p ? OK : ERR_NO_MEMORY;
}
