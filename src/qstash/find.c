/* find.c - see find.h: which index is walked, what fits, where the next page begins. scans.c has
 * the walks themselves. */
#include "qstash/find.h"

#include "base/limits.h"
#include "qstash/scans.h"
#include "store/values.h"

#include <stdio.h>
#include <string.h>

enum {
    FEW = 20,            /* a driver with so few rows need not be compared */
    SLACK_MS = 5 * 1000, /* of the log's times against the order of its lines */
};

/* --- which driver --- */

static size_t qstash_find_cost(const struct walks_page *p)
{
    return p->whole ? p->n : WALKS_PAGE + 1;
}

/* Each is tried for a page: the one that ends soonest is the one to take. */
static enum err qstash_find_choose(struct tx *tx, struct find *f)
{
    size_t best = SIZE_MAX;
    int count = 0, only = walks_last(f->in);

    for (int i = 0; i < walks_last(f->in); i++)
        if (walks_may_drive(f, i)) {
            count++;
            only = i;
        }
    f->driver = only;
    for (int i = 0; i < walks_last(f->in) && count > 1 && best > FEW; i++) {
        struct arena_mark mark = arena_mark(f->arena);
        struct walks_page p;
        enum err e;

        if (!walks_may_drive(f, i))
            continue;
        e = walks_page(tx, f, i, &p);
        if (e)
            return e;
        if (qstash_find_cost(&p) < best) {
            best = qstash_find_cost(&p);
            f->driver = i;
        }
        arena_rewind(f->arena, mark);
    }
    f->chosen = true;
    return OK;
}

/* --- the log by time: seq grows with it, nearly --- */

/* The line with that seq, or the nearest below it. *ret_seq 0: there is none. */
static enum err line_near(struct tx *tx, int64_t seq, int64_t *ret_seq, int64_t *ret_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_log_near, &row, V_INT(seq));

    *ret_seq = e ? 0 : row.col[0].i;
    *ret_ms = e ? 0 : row.col[1].i;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* Halves the log until it knows where the lines of that time end. */
static enum err qstash_find_seek(struct tx *tx, struct find *f)
{
    int64_t until = f->filter->to_ms, low = 0, high, seq, ms;
    enum err e;

    if (f->in != FIND_LOG || until > INT64_MAX - SLACK_MS || f->at.seq != INT64_MAX)
        return OK;
    e = line_near(tx, INT64_MAX, &high, &ms);
    while (!e && low < high) {
        int64_t middle = low + (high - low + 1) / 2;

        e = line_near(tx, middle, &seq, &ms);
        if (seq && ms > until + SLACK_MS)
            high = seq - 1;
        else
            low = middle;
    }
    f->at.seq = low + 1;
    return e;
}

static bool is_past(const struct find *f, const struct found *x)
{
    return f->in == FIND_LOG && f->filter->from_ms && x->at_ms < f->filter->from_ms - SLACK_MS;
}

/* --- what fits --- */

static bool fits_row(const struct find *f, const struct found *x)
{
    const struct filter *filter = f->filter;

    if (f->in == FIND_LIVE)
        return true;
    return filter_fits_id(filter, x->id) && filter_fits_time(filter, x->at_ms) &&
           (f->in == FIND_DEAD ? filter_fits_status(filter, x->number)
                               : filter_fits_state(filter, x->number));
}

static bool needs_facts(const struct find *f)
{
    return filter_has_texts(f->filter) || (f->in == FIND_LIVE && f->filter->has_dates);
}

enum row_verdict { NO, ASKED, YES };

struct judging {
    const struct find *find;
    const struct found *rows;
    size_t n;
    enum row_verdict *verdicts;
    size_t bytes;
};

static enum err qstash_find_judge(void *ctx, const struct row *row)
{
    struct judging *j = ctx;
    struct filter_facts facts = { .created_ms = row->col[1].i };
    const struct filter *f = j->find->filter;
    bool fits;

    for (int i = 0; i < FILTER_TEXTS; i++) {
        facts.text[i] = row->col[2 + i].s;
        j->bytes += facts.text[i].n;
    }
    fits = filter_fits_texts(f, &facts) &&
           (j->find->in != FIND_LIVE || filter_fits_time(f, facts.created_ms));
    for (size_t i = 0; i < j->n && fits; i++)
        if (j->verdicts[i] == ASKED && str_eq(row->col[0].s, uuid_bytes(&j->rows[i].id)))
            j->verdicts[i] = YES;
    return OK;
}

static bool came_before(const struct val *ids, size_t n, struct str id)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(ids[i].s, id))
            return true;
    return false;
}

/* LIMIT_STATEMENT_ROWS of them at most. A row whose content is gone does not fit. */
static enum err judge_rows(struct tx *tx, const struct find *f, const struct found *rows, size_t n,
                           enum row_verdict *verdicts, size_t *ret_bytes)
{
    struct judging j = { .find = f, .rows = rows, .n = n, .verdicts = verdicts };
    struct val ids[LIMIT_STATEMENT_ROWS];
    bool ask = needs_facts(f);
    size_t asked = 0;
    enum err e = OK;

    for (size_t i = 0; i < n; i++) {
        verdicts[i] = !fits_row(f, &rows[i]) ? NO : ask ? ASKED : YES;
        if (verdicts[i] == ASKED && !came_before(ids, asked, uuid_bytes(&rows[i].id)))
            ids[asked++] = v_uuid(&rows[i].id);
    }
    if (asked)
        e = tx_bulk(tx, STMT_qstash_facts, ids, asked, 1, qstash_find_judge, &j);
    *ret_bytes = j.bytes;
    return e;
}

/* --- the walk --- */

/* True: enough was found. */
static bool qstash_find_take(struct find *f, const struct found *rows, size_t n,
                             const enum row_verdict *verdicts)
{
    for (size_t i = 0; i < n; i++) {
        f->looked++;
        f->at = rows[i].spot;
        if (is_past(f, &rows[i])) {
            f->end = true;
            return true;
        }
        if (verdicts[i] == YES)
            f->found[f->count++] = rows[i];
        if (f->count == f->max)
            return true;
    }
    return false;
}

static enum err take_page(struct tx *tx, struct find *f, const struct walks_page *p, size_t *bytes,
                          bool *ret_enough)
{
    enum row_verdict verdicts[LIMIT_STATEMENT_ROWS];
    enum err e = OK;

    *ret_enough = false;
    for (size_t from = 0; from < p->n && !e && !*ret_enough; from += LIMIT_STATEMENT_ROWS) {
        size_t n = p->n - from, read = 0;

        n = n < LIMIT_STATEMENT_ROWS ? n : LIMIT_STATEMENT_ROWS;
        e = judge_rows(tx, f, p->rows + from, n, verdicts, &read);
        *bytes += read;
        if (!e)
            *ret_enough = qstash_find_take(f, p->rows + from, n, verdicts) ||
                          f->looked >= f->budget || *bytes > LIMIT_QSTASH_PAGE_BYTES / 2;
    }
    if (!e && p->whole && (!p->n || !spot_compare(&f->at, &p->rows[p->n - 1].spot)))
        f->end = true;
    return e;
}

enum err find_next(struct tx *tx, struct find *f)
{
    bool enough = false;
    size_t bytes = 0;
    enum err e = OK;

    f->count = 0;
    f->looked = 0;
    f->end = false;
    if (!f->chosen) {
        e = qstash_find_choose(tx, f);
        f->by_time = f->in == FIND_DEAD && walks_are_by_time(f->in, f->driver);
        if (!e)
            e = qstash_find_seek(tx, f);
    }
    while (!e && !f->end && !enough) {
        struct arena_mark mark = arena_mark(f->arena);
        struct walks_page p;

        e = walks_page(tx, f, f->driver, &p);
        if (!e)
            e = take_page(tx, f, &p, &bytes, &enough);
        arena_rewind(f->arena, mark);
    }
    return e;
}

void find_begin(struct find *f, enum find_in in, const struct filter *filter)
{
    *f = (struct find){ .in = in, .filter = filter };
    if (walks_go_down(in)) {
        f->at = (struct spot){ .major = INT64_MAX, .seq = INT64_MAX };
        memset(f->at.id.b, 0xff, sizeof(f->at.id.b));
    }
}

/* --- cursors: "12", and by time "1760000000000-12" --- */

void find_cursor(const struct find *f, const struct spot *at, char text[FIND_CURSOR])
{
    if (f->by_time)
        snprintf(text, FIND_CURSOR, "%lld-%lld", (long long)at->major, (long long)at->seq);
    else
        snprintf(text, FIND_CURSOR, "%lld", (long long)at->seq);
}

bool find_cursor_read(struct find *f, struct str text)
{
    struct str rest = text, first = str_cut(&rest, '-');

    f->by_time = f->in == FIND_DEAD && first.n < text.n;
    if (f->by_time)
        return str_to_i64(first, &f->at.major) && str_to_i64(rest, &f->at.seq) && f->at.seq > 0;
    return first.n == text.n && str_to_i64(text, &f->at.seq) && f->at.seq >= 0;
}
