/* find.c - a search: which index is scanned, which rows match, where the next page begins. scans.c
 * has the scans. */
#include "qstash/find.h"

#include "base/limits.h"
#include "qstash/scans.h"
#include "store/values.h"

#include <stdio.h>
#include <string.h>

enum {
    FEW = 20,            /* a driver with so few rows is taken at once */
    SLACK_MS = 5 * 1000, /* by which the times in the log may differ from its order */
};

/* --- which driver --- */

static size_t page_cost(const struct scan_page *p)
{
    return p->whole ? p->n : SCAN_PAGE_ROWS + 1;
}

/* Reads one page of each driver and takes the one with the fewest rows. */
static enum err find_choose_driver(struct tx *tx, struct find *f)
{
    size_t best = SIZE_MAX;
    int count = 0, only = scan_last_driver(f->in);

    for (int i = 0; i < scan_last_driver(f->in); i++)
        if (scan_may_drive(f, i)) {
            count++;
            only = i;
        }
    f->driver = only;
    for (int i = 0; i < scan_last_driver(f->in) && count > 1 && best > FEW; i++) {
        struct arena_mark mark = arena_mark(f->arena);
        struct scan_page p;
        enum err e;

        if (!scan_may_drive(f, i))
            continue;
        e = scan_page(tx, f, i, &p);
        if (e)
            return e;
        if (page_cost(&p) < best) {
            best = page_cost(&p);
            f->driver = i;
        }
        arena_rewind(f->arena, mark);
    }
    f->chosen = true;
    return OK;
}

/* --- the log by time: seq nearly grows with it --- */

/* The line with this seq, or the nearest one below. *ret_seq 0: there is none. */
static enum err log_line_near(struct tx *tx, int64_t seq, int64_t *ret_seq, int64_t *ret_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_log_near, &row, V_INT(seq));

    *ret_seq = e ? 0 : row.col[0].i;
    *ret_ms = e ? 0 : row.col[1].i;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* Binary search for the last line before the filter's end. */
static enum err find_seek_log(struct tx *tx, struct find *f)
{
    int64_t until = f->filter->to_ms, low = 0, high, seq, ms;
    enum err e;

    if (f->in != FIND_LOG || until > INT64_MAX - SLACK_MS || f->at.seq != INT64_MAX)
        return OK;
    e = log_line_near(tx, INT64_MAX, &high, &ms);
    while (!e && low < high) {
        int64_t middle = low + (high - low + 1) / 2;

        e = log_line_near(tx, middle, &seq, &ms);
        if (seq && ms > until + SLACK_MS)
            high = seq - 1;
        else
            low = middle;
    }
    f->at.seq = low + 1;
    return e;
}

static bool find_is_past(const struct find *f, const struct found *x)
{
    return f->in == FIND_LOG && f->filter->from_ms && x->at_ms < f->filter->from_ms - SLACK_MS;
}

/* --- which rows match --- */

static bool row_matches(const struct find *f, const struct found *x)
{
    const struct filter *filter = f->filter;

    if (f->in == FIND_LIVE)
        return true;
    return filter_fits_id(filter, x->id) && filter_fits_time(filter, x->at_ms) &&
           (f->in == FIND_DEAD ? filter_fits_status(filter, x->number)
                               : filter_fits_state(filter, x->number));
}

static bool find_needs_content(const struct find *f)
{
    return filter_has_texts(f->filter) || (f->in == FIND_LIVE && f->filter->has_dates);
}

enum row_verdict { NO, ASKED, YES };

struct row_check {
    const struct find *find;
    const struct found *rows;
    size_t n;
    enum row_verdict *verdicts;
    size_t bytes;
};

static enum err row_check_content(void *ctx, const struct row *row)
{
    struct row_check *j = ctx;
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

static bool ids_have(const struct val *ids, size_t n, struct str id)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(ids[i].s, id))
            return true;
    return false;
}

/* n <= LIMIT_STATEMENT_ROWS. A row without a content does not match. */
static enum err find_check_rows(struct tx *tx, const struct find *f, const struct found *rows,
                                size_t n, enum row_verdict *verdicts, size_t *ret_bytes)
{
    struct row_check j = { .find = f, .rows = rows, .n = n, .verdicts = verdicts };
    struct val ids[LIMIT_STATEMENT_ROWS];
    bool ask = find_needs_content(f);
    size_t asked = 0;
    enum err e = OK;

    for (size_t i = 0; i < n; i++) {
        verdicts[i] = !row_matches(f, &rows[i]) ? NO : ask ? ASKED : YES;
        if (verdicts[i] == ASKED && !ids_have(ids, asked, uuid_bytes(&rows[i].id)))
            ids[asked++] = v_uuid(&rows[i].id);
    }
    if (asked)
        e = tx_bulk(tx, STMT_qstash_facts, ids, asked, 1, row_check_content, &j);
    *ret_bytes = j.bytes;
    return e;
}

/* --- the scan --- */

/* True: enough was found. */
static bool find_take_rows(struct find *f, const struct found *rows, size_t n,
                           const enum row_verdict *verdicts)
{
    for (size_t i = 0; i < n; i++) {
        f->looked++;
        f->at = rows[i].spot;
        if (find_is_past(f, &rows[i])) {
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

static enum err find_take_page(struct tx *tx, struct find *f, const struct scan_page *p,
                               size_t *bytes, bool *ret_enough)
{
    enum row_verdict verdicts[LIMIT_STATEMENT_ROWS];
    enum err e = OK;

    *ret_enough = false;
    for (size_t from = 0; from < p->n && !e && !*ret_enough; from += LIMIT_STATEMENT_ROWS) {
        size_t n = p->n - from, read = 0;

        n = n < LIMIT_STATEMENT_ROWS ? n : LIMIT_STATEMENT_ROWS;
        e = find_check_rows(tx, f, p->rows + from, n, verdicts, &read);
        *bytes += read;
        if (!e)
            *ret_enough = find_take_rows(f, p->rows + from, n, verdicts) ||
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
        e = find_choose_driver(tx, f);
        f->by_time = f->in == FIND_DEAD && scan_is_by_time(f->in, f->driver);
        if (!e)
            e = find_seek_log(tx, f);
    }
    while (!e && !f->end && !enough) {
        struct arena_mark mark = arena_mark(f->arena);
        struct scan_page p;

        e = scan_page(tx, f, f->driver, &p);
        if (!e)
            e = find_take_page(tx, f, &p, &bytes, &enough);
        arena_rewind(f->arena, mark);
    }
    return e;
}

void find_begin(struct find *f, enum find_in in, const struct filter *filter)
{
    *f = (struct find){ .in = in, .filter = filter };
    if (scan_is_descending(in)) {
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
