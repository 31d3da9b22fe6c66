/* find.c - scans over dead letters. One criterion is looked up by the narrowest index, the others
 * are compared row by row. A page costs what it examines, however many dead letters are stored. */
#include "dlq/find.h"

#include "auth/base64url.h"
#include "base/hex.h"
#include "base/limits.h"

#include <string.h>

enum { CURSOR_BYTES = 32, BY_STATEMENTS = 5 };

enum by { BY_REF, BY_PAYMENT, BY_CAUSE, BY_KIND, BY_TIME };

/* --- rows --- */

static struct str dead_row_text(const struct val *v)
{
    return v->type == VAL_TEXT ? v->s : (struct str){ 0 };
}

bool dead_letter_of_row(const struct row *row, struct dead_letter *ret_letter)
{
    const struct val *v = row->col;
    struct dead_letter d = {
        .kind = v[1].s,
        .has_lane = v[2].type == VAL_INT,
        .lane = v[2].i,
        .ref = dead_row_text(&v[3]),
        .has_payment = v[4].type == VAL_BLOB,
        .reason = v[5].s,
        .attempts = v[6].i,
        .added_ms = v[7].i,
        .died_ms = v[8].i,
        .has_body = v[9].i != 0,
        .cause = dead_row_text(&v[10]),
    };

    if (!uuid_of_bytes(v[0].s, &d.id))
        return false;
    if (d.has_payment && !uuid_of_bytes(v[4].s, &d.payment))
        return false;
    *ret_letter = d;
    return true;
}

/* --- kinds and ids --- */

const struct dead_kind *dead_kind_of(const struct dead_letters *l, struct str kind)
{
    for (size_t i = 0; i < l->kind_count; i++)
        if (str_eq(kind, str_of(l->kinds[i].name)))
            return &l->kinds[i];
    return NULL;
}

bool dead_id_read(const struct dead_letters *l, struct str text, struct uuid *ret_id)
{
    if (uuid_parse(text, ret_id))
        return true;
    for (size_t i = 0; i < l->kind_count; i++)
        if (l->kinds[i].parse && l->kinds[i].parse(text, ret_id))
            return true;
    return false;
}

/* --- filters --- */

bool dead_filter_is_empty(const struct dead_filter *f)
{
    return !f->kind.n && !f->ref.n && !f->reason.n && !f->cause.n && !f->has_payment &&
           !f->from_ms && !f->to_ms;
}

static enum by dead_filter_index(const struct dead_filter *f)
{
    if (f->ref.n)
        return BY_REF;
    if (f->has_payment)
        return BY_PAYMENT;
    if (!f->kind.n)
        return BY_TIME;
    return f->cause.n ? BY_CAUSE : BY_KIND;
}

static bool dead_reason_contains(struct str text, struct str part)
{
    for (size_t i = 0; i + part.n <= text.n; i++)
        if (str_eq_nocase((struct str){ text.p + i, part.n }, part))
            return true;
    return false;
}

static bool dead_filter_matches(const struct dead_filter *f, const struct dead_letter *d)
{
    if (f->kind.n && !str_eq(f->kind, d->kind))
        return false;
    if (f->ref.n && !str_eq(f->ref, d->ref))
        return false;
    if (f->has_payment && !(d->has_payment && uuid_eq(f->payment, d->payment)))
        return false;
    if (f->cause.n && !str_eq(f->cause, d->cause))
        return false;
    return !f->reason.n || dead_reason_contains(d->reason, f->reason);
}

/* True: every row of the index matches, so no more rows are read than are wanted. */
static bool dead_filter_index_is_exact(const struct dead_filter *f)
{
    int criteria = (f->kind.n > 0) + (f->ref.n > 0) + (f->cause.n > 0) + f->has_payment;
    int decided = dead_filter_index(f) == BY_CAUSE ? 2 : dead_filter_index(f) == BY_TIME ? 0 : 1;

    return criteria == decided && !f->reason.n;
}

/* --- the scan --- */

struct dead_cursor dead_from_newest(const struct dead_filter *f)
{
    return (struct dead_cursor){ .at_ms = f->to_ms ? f->to_ms : INT64_MAX };
}

struct dead_cursor dead_from_oldest(const struct dead_filter *f, int64_t until_ms)
{
    struct dead_cursor c = { .at_ms = f->from_ms - 1, .until_ms = until_ms };

    memset(c.id.b, 0xff, sizeof(c.id.b));
    if (f->to_ms && f->to_ms <= until_ms)
        c.until_ms = f->to_ms - 1;
    return c;
}

struct dead_scan { /* of one statement */
    struct dead_find *find;
    size_t rows;
};

static enum err dead_scan_row(void *ctx, const struct row *row)
{
    struct dead_scan *s = ctx;
    struct dead_find *f = s->find;
    struct dead_letter d;

    s->rows++;
    if (f->count == f->max)
        return OK;
    if (!dead_letter_of_row(row, &d))
        return ERR_INTERNAL;
    f->looked++;
    f->at.at_ms = d.died_ms;
    f->at.id = d.id;
    if (dead_filter_matches(f->filter, &d))
        f->found[f->count++] = d;
    return OK;
}

static enum err dead_scan_read(struct tx *tx, struct dead_find *f, size_t rows, size_t *ret_rows)
{
    static const enum stmt statements[2][BY_STATEMENTS] = {
        { [BY_REF] = STMT_letters_of_ref_down,
          [BY_PAYMENT] = STMT_letters_of_payment_down,
          [BY_CAUSE] = STMT_letters_of_cause_down,
          [BY_KIND] = STMT_letters_of_kind_down,
          [BY_TIME] = STMT_letters_down },
        { [BY_REF] = STMT_letters_of_ref_up,
          [BY_PAYMENT] = STMT_letters_of_payment_up,
          [BY_CAUSE] = STMT_letters_of_cause_up,
          [BY_KIND] = STMT_letters_of_kind_up,
          [BY_TIME] = STMT_letters_up },
    };
    enum by by = dead_filter_index(f->filter);
    struct uuid payment = f->filter->payment, id = f->at.id;
    struct val key[] = { [BY_REF] = V_TEXT(f->filter->ref),
                         [BY_PAYMENT] = V_BLOB(uuid_bytes(&payment)),
                         [BY_CAUSE] = V_TEXT(f->filter->cause),
                         [BY_KIND] = V_TEXT(f->filter->kind),
                         [BY_TIME] = V_NULL };
    struct val v[] = { V_TEXT(f->filter->kind), /* used by BY_CAUSE only */
                       key[by],
                       V_INT(f->at.at_ms),
                       V_BLOB(uuid_bytes(&id)),
                       V_INT(f->up ? f->at.until_ms : f->filter->from_ms),
                       V_INT((int64_t)rows) };
    size_t skip = by == BY_CAUSE ? 0 : by == BY_TIME ? 2 : 1;
    struct dead_scan s = { .find = f };
    enum err e = tx_each(tx, statements[f->up][by], v + skip, COUNT(v) - skip, dead_scan_row, &s);

    *ret_rows = s.rows;
    return e;
}

static size_t dead_scan_rows(const struct dead_find *f)
{
    int64_t left = f->budget - f->looked;
    size_t rows = dead_filter_index_is_exact(f->filter) ? f->max - f->count : LIMIT_STATEMENT_ROWS;

    if (rows > LIMIT_STATEMENT_ROWS)
        rows = LIMIT_STATEMENT_ROWS;
    return (int64_t)rows < left ? rows : (size_t)left;
}

enum err dead_find(struct tx *tx, struct dead_find *f)
{
    enum err e = OK;

    f->count = 0;
    f->looked = 0;
    f->end = false;
    while (!e && !f->end && f->count < f->max && f->looked < f->budget) {
        size_t wanted = dead_scan_rows(f), rows = 0;

        e = dead_scan_read(tx, f, wanted, &rows);
        f->end = rows < wanted && f->count < f->max;
    }
    return e;
}

/* --- cursors --- */

void dead_cursor_write(struct buf *out, const struct dead_cursor *c)
{
    unsigned char bytes[CURSOR_BYTES];

    i64_put(bytes, c->at_ms);
    i64_put(bytes + 8, c->until_ms);
    memcpy(bytes + 16, c->id.b, sizeof(c->id.b));
    base64url_add(out, (struct str){ (const char *)bytes, sizeof(bytes) });
}

bool dead_cursor_read(struct str text, struct dead_cursor *ret_cursor)
{
    struct str bytes;
    struct arena a;
    bool fine;

    arena_init(&a, 1024);
    fine = text.n == DEAD_CURSOR_TEXT && !base64url_decode(&a, text, &bytes) &&
           bytes.n == CURSOR_BYTES;
    if (fine) {
        ret_cursor->at_ms = i64_get(bytes.p);
        ret_cursor->until_ms = i64_get(bytes.p + 8);
        memcpy(ret_cursor->id.b, bytes.p + 16, sizeof(ret_cursor->id.b));
    }
    arena_release(&a);
    return fine;
}
