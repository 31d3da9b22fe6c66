/* list.c - pages of the audit log. A page is a scan along the most selective index; the rest of the
 * filter is compared here, row by row, for at most LIMIT_AUDIT_LOOKED rows. There is no index by user:
 * see sql/sqlite/0012_audit_chain.sql. It only reads. */
#include "audit/list.h"

#include "audit/row.h"
#include "auth/base64url.h"
#include "base/hex.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "store/json_values.h"

#include <string.h>

enum { CURSOR_BYTES = 16, COL_N = AUDIT_COLUMNS, COL_NAME, STEP = 500, JSON_MAX = 2 * 1024 * 1024 };

/* --- cursors --- */

bool audit_cursor_read(struct str text, struct audit_cursor *ret_cursor)
{
    struct str bytes;
    struct arena a;
    bool fine;

    arena_init(&a, 256);
    fine = text.n == AUDIT_CURSOR_TEXT && !base64url_decode(&a, text, &bytes) &&
           bytes.n == CURSOR_BYTES;
    if (fine)
        *ret_cursor = (struct audit_cursor){ i64_get(bytes.p), i64_get(bytes.p + 8) };
    arena_release(&a);
    return fine;
}

static void write_cursor(struct buf *out, const struct audit_cursor *c)
{
    unsigned char bytes[CURSOR_BYTES];

    i64_put(bytes, c->at_ms);
    i64_put(bytes + 8, c->seq);
    base64url_add(out, (struct str){ (const char *)bytes, sizeof(bytes) });
}

/* --- one row --- */

static bool is_zero(struct str id)
{
    static const char zero[16];

    return id.n == sizeof(zero) && memcmp(id.p, zero, sizeof(zero)) == 0;
}

/* The admin token belongs to no person: its id is all zero, and it is shown under a name of its own.
 */
static struct str name_of(const struct row *row)
{
    const struct val *user = &row->col[AUDIT_USER], *name = &row->col[COL_NAME];

    if (name->type == VAL_TEXT)
        return name->s;
    return user->type == VAL_BLOB && is_zero(user->s) ? S("admin token") : (struct str){ 0 };
}

static void out_number(struct buf *b, const char *name, const struct val *v)
{
    if (v->type == VAL_INT)
        out_int(b, name, v->i);
    else
        out_json(b, name, (struct str){ 0 });
}

static void out_columns(struct buf *b, const struct row *row)
{
    const struct val *v = row->col;

    out_int(b, "seq", v[AUDIT_SEQ].i);
    out_time(b, "at", v[AUDIT_AT].i);
    out_val_text(b, "operation", &v[AUDIT_OPERATION]);
    out_val_text(b, "subject", &v[AUDIT_SUBJECT]);
    out_val_text(b, "result", &v[AUDIT_RESULT]);
    out_int(b, "times", v[AUDIT_TIMES].i);
    out_val_text(b, "detail", &v[AUDIT_DETAIL]);
    out_val_uuid(b, "userId", &v[AUDIT_USER]);
    out_text(b, "userName", name_of(row));
    out_val_uuid(b, "paymentId", &v[AUDIT_PAYMENT]);
    out_number(b, "amount", &v[AUDIT_AMOUNT]);
    out_val_uuid(b, "idempotencyKey", &v[AUDIT_KEY]);
}

/* --- pages --- */

struct audit_list_page {
    const struct audit_filter *filter;
    struct audit_cursor at;
    struct buf out;
    int limit, count;
    int64_t rows, looked; /* of one statement, of all */
    bool end;
};

static bool text_matches(struct str wanted, const struct val *v)
{
    return !wanted.n || (v->type == VAL_TEXT && str_eq(wanted, v->s));
}

static bool id_matches(bool has, const struct uuid *wanted, const struct val *v)
{
    return !has || (v->type == VAL_BLOB && str_eq(uuid_bytes(wanted), v->s));
}

static bool row_matches(const struct audit_filter *f, const struct val *v)
{
    return text_matches(f->operation, &v[AUDIT_OPERATION]) &&
           text_matches(f->subject, &v[AUDIT_SUBJECT]) &&
           text_matches(f->result, &v[AUDIT_RESULT]) &&
           id_matches(f->has_payment, &f->payment, &v[AUDIT_PAYMENT]) &&
           id_matches(f->has_user, &f->user, &v[AUDIT_USER]);
}

static enum err page_add_row(void *ctx, const struct row *row)
{
    struct audit_list_page *p = ctx;

    p->rows++;
    if (p->count == p->limit)
        return OK;
    p->looked++;
    p->at = (struct audit_cursor){ row->col[AUDIT_AT].i, row->col[AUDIT_SEQ].i };
    if (!row_matches(p->filter, row->col))
        return OK;
    buf_add(&p->out, p->count++ ? S(",{") : S("{"));
    out_columns(&p->out, row);
    out_number(&p->out, "sealed", &row->col[COL_N]);
    buf_char(&p->out, '}');
    return OK;
}

/* The most selective index, and the key to look up in it. */
static enum stmt audit_list_narrowest(const struct audit_filter *f, struct val *ret_key)
{
    if (f->has_payment) {
        *ret_key = V_BLOB(uuid_bytes(&f->payment));
        return STMT_audit_by_payment;
    }
    if (f->subject.n) {
        *ret_key = V_TEXT(f->subject);
        return STMT_audit_by_subject;
    }
    if (f->result.n && !str_eq(f->result, S("success"))) {
        *ret_key = V_TEXT(f->result);
        return STMT_audit_by_failure;
    }
    *ret_key = V_TEXT(f->operation);
    return f->operation.n ? STMT_audit_by_operation : STMT_audit_by_time;
}

/* True: every row of the index matches, so that one row more than the page is enough to read. */
static bool index_decides(const struct audit_filter *f)
{
    int criteria = (f->operation.n > 0) + (f->subject.n > 0) + (f->result.n > 0) + f->has_payment;

    return !f->has_user && criteria <= 1 && !str_eq(f->result, S("success"));
}

static enum err page_read_rows(struct tx *tx, struct audit_list_page *p)
{
    struct val key;
    enum stmt stmt = audit_list_narrowest(p->filter, &key);
    int64_t wanted = index_decides(p->filter) ? p->limit - p->count + 1 : STEP;
    struct val v[] = { key, V_INT(p->at.at_ms), V_INT(p->at.seq), V_INT(p->filter->from_ms),
                       V_INT(wanted) };
    size_t skip = stmt == STMT_audit_by_time;
    int64_t before = p->looked;
    enum err e;

    p->rows = 0;
    e = tx_each(tx, stmt, v + skip, COUNT(v) - skip, page_add_row, p);
    p->end = p->rows < wanted && p->looked - before == p->rows;
    return e;
}

static enum err page_read_window(struct tx *tx, struct audit_list_page *p,
                                 const struct audit_cursor *to)
{
    struct val v[] = { V_BLOB(uuid_bytes(&p->filter->user)),
                       V_INT(p->at.at_ms),
                       V_INT(p->at.seq),
                       V_INT(to->at_ms),
                       V_INT(to->seq),
                       V_INT(p->limit) };
    enum err e = tx_each(tx, STMT_audit_by_user, v, COUNT(v), page_add_row, p);

    if (p->rows < p->limit)
        p->at = *to;
    return e;
}

/* A user's rows may be anywhere: each page scans one window of the log. */
static enum err page_read_for_user(struct tx *tx, struct audit_list_page *p)
{
    struct audit_cursor to = { p->filter->from_ms, INT64_MIN };
    struct row row;
    enum err e = TX_ROW(tx, STMT_audit_time_window, &row, V_INT(p->at.at_ms), V_INT(p->at.seq),
                        V_INT(p->filter->from_ms), V_INT(LIMIT_AUDIT_WALKED));
    bool is_last = e == ERR_NOT_FOUND;

    if (e && !is_last)
        return e;
    if (!is_last)
        to = (struct audit_cursor){ row.col[0].i, row.col[1].i };
    e = page_read_window(tx, p, &to);
    p->end = is_last && p->rows < p->limit;
    return e;
}

static bool is_by_user(const struct audit_filter *f)
{
    struct val key;

    return f->has_user && audit_list_narrowest(f, &key) == STMT_audit_by_time;
}

static enum err page_read(struct tx *tx, struct audit_list_page *p)
{
    enum err e = OK;

    if (is_by_user(p->filter))
        return page_read_for_user(tx, p);
    while (!e && !p->end && p->count < p->limit && p->looked < LIMIT_AUDIT_LOOKED)
        e = page_read_rows(tx, p);
    return e;
}

enum err audit_page(struct tx *tx, struct arena *a, const struct audit_filter *f,
                    const struct audit_cursor *cursor, int limit, struct str *ret_json)
{
    struct audit_list_page p = { .filter = f, .limit = limit };
    enum err e;

    p.at = cursor
               ? *cursor
               : (struct audit_cursor){ f->to_ms ? f->to_ms : INT64_MAX, f->to_ms ? 0 : INT64_MAX };
    buf_init(&p.out, JSON_MAX);
    buf_add(&p.out, S("{\"data\":["));
    e = page_read(tx, &p);
    if (p.end) {
        buf_add(&p.out, S("],\"nextCursor\":null}"));
    } else {
        buf_add(&p.out, S("],\"nextCursor\":\""));
        write_cursor(&p.out, &p.at);
        buf_add(&p.out, S("\"}"));
    }
    *ret_json = out_done(&p.out, a);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}
