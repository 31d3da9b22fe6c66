/* find.c - reads a page of rows, and for open lines the payments they may be for. See find.h. */
#include "transfer/find.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "domain/bank_value.h"
#include "domain/reference.h"
#include "store/values.h"
#include "transfer/json.h"

#include <string.h>

enum { PAGE_MAX = 4 * 1024 * 1024, CANDIDATE_JSON = 4096, PAYER_USERS = 3 };

/* --- pages --- */

struct listing {
    struct transfer_page *page;
    struct arena *arena;
    struct buf out;
    int count;
    void (*show)(struct listing *l, const struct row *row);
    struct statement_line *lines; /* of a page of lines: shown once all are read */
};

static enum err listing_add_row(void *ctx, const struct row *row)
{
    struct listing *l = ctx;
    struct transfer_page *p = l->page;

    p->has_more = l->count == p->limit; /* one row more than is shown */
    if (p->has_more)
        return OK;
    if (!uuid_of_bytes(row->col[0].s, &p->last))
        return ERR_INTERNAL;
    if (l->count++ && !l->lines)
        buf_char(&l->out, ',');
    l->show(l, row);
    return OK;
}

/* The statements take the state (by_state only), the id before which the page begins, a limit. */
static enum err listing_read(struct tx *tx, struct listing *l, enum stmt by_state, enum stmt all)
{
    struct transfer_page *p = l->page;
    struct uuid last;
    struct val v[3];

    p->has_more = false;
    memset(last.b, 0xff, sizeof(last.b));
    v[0] = V_TEXT(p->state);
    v[1] = v_uuid(p->has_before ? &p->before : &last);
    v[2] = V_INT(p->limit + 1);
    return p->state.n ? tx_each(tx, by_state, v, 3, listing_add_row, l)
                      : tx_each(tx, all, v + 1, 2, listing_add_row, l);
}

static void listing_begin(struct listing *l)
{
    buf_init(&l->out, PAGE_MAX);
    buf_char(&l->out, '[');
}

static enum err listing_finish(struct listing *l, enum err e)
{
    buf_char(&l->out, ']');
    l->page->data = out_done(&l->out, l->arena);
    return e ? e : l->page->data.p ? OK : ERR_NO_MEMORY;
}

/* --- transfers --- */

static void listing_show_transfer(struct listing *l, const struct row *row)
{
    struct transfer t;

    if (transfer_of_row(NULL, row, &t) == OK)
        out_transfer(&l->out, &t);
    else
        l->out.failed = true;
}

enum err transfers_page(struct tx *tx, struct arena *a, struct transfer_page *p)
{
    struct listing l = { .page = p, .arena = a, .show = listing_show_transfer };
    struct val reference = V_TEXT(p->reference);
    enum err e;

    listing_begin(&l);
    if (p->reference.n)
        e = tx_each(tx, STMT_transfers_by_reference, &reference, 1, listing_add_row, &l);
    else
        e = listing_read(tx, &l, STMT_transfers_by_state, STMT_transfers_all);
    return listing_finish(&l, e);
}

/* --- candidates for a line --- */

struct candidates {
    struct buf out;
    struct uuid shown[LIMIT_BANK_CANDIDATES];
    size_t count;
    const char *because;
    struct uuid users[PAYER_USERS];
    size_t user_count;
};

static bool candidates_has(const struct candidates *c, struct uuid payment)
{
    for (size_t i = 0; i < c->count; i++)
        if (uuid_eq(c->shown[i], payment))
            return true;
    return false;
}

static enum err candidates_add(void *ctx, const struct row *row)
{
    struct candidates *c = ctx;
    struct transfer t;
    enum err e = transfer_of_row(NULL, row, &t);

    if (e || c->count == LIMIT_BANK_CANDIDATES || candidates_has(c, t.payment_id))
        return e;
    buf_add(&c->out, c->count ? S(",{") : S("{"));
    out_uuid(&c->out, "paymentId", t.payment_id);
    out_text(&c->out, "reference", t.reference);
    money_out(&c->out, t.money);
    out_text(&c->out, "state", str_of(transfer_state_name(t.state)));
    out_text(&c->out, "because", str_of(c->because));
    buf_char(&c->out, '}');
    c->shown[c->count++] = t.payment_id;
    return OK;
}

static enum err candidates_add_references(struct tx *tx, struct candidates *c, const char *because,
                                          const struct reference *all, size_t n)
{
    enum err e = OK;

    c->because = because;
    for (size_t i = 0; !e && i < n && c->count < LIMIT_BANK_CANDIDATES; i++) {
        struct val v = V_TEXT(str_of(all[i].text));

        e = tx_each(tx, STMT_transfers_by_reference, &v, 1, candidates_add, c);
    }
    return e;
}

static enum err candidates_add_user(void *ctx, const struct row *row)
{
    struct candidates *c = ctx;

    if (c->user_count < PAYER_USERS && uuid_of_bytes(row->col[0].s, &c->users[c->user_count]))
        c->user_count++;
    return OK;
}

static enum err candidates_add_payer(struct tx *tx, struct candidates *c, struct str payer)
{
    struct val v[] = { V_TEXT(payer), V_INT(LIMIT_STATEMENT_ROWS), V_INT(PAYER_USERS) };
    enum err e =
        payer.n ? tx_each(tx, STMT_users_of_payer, v, COUNT(v), candidates_add_user, c) : OK;

    c->because = "payer";
    for (size_t i = 0; !e && i < c->user_count; i++) {
        struct val u[] = { v_uuid(&c->users[i]), V_INT(LIMIT_STATEMENT_ROWS),
                           V_INT(LIMIT_BANK_CANDIDATES) };

        e = tx_each(tx, STMT_transfers_of_user, u, COUNT(u), candidates_add, c);
    }
    return e;
}

static enum err candidates_add_amount(struct tx *tx, struct candidates *c,
                                      const struct statement_line *l)
{
    struct val v[] = { V_TEXT(str_of(l->money.currency)), V_INT(l->money.minor),
                       V_INT(LIMIT_BANK_CANDIDATES) };

    c->because = "amount";
    return tx_each(tx, STMT_transfers_of_amount, v, COUNT(v), candidates_add, c);
}

static enum err candidates_read(struct tx *tx, struct candidates *c, const struct statement_line *l)
{
    struct reference found[REFERENCES_FOUND], near[REFERENCES_NEAR];
    enum err e =
        candidates_add_references(tx, c, "reference", found, reference_find(l->text, found));

    if (e)
        return e;
    e = candidates_add_references(tx, c, "reference_near", near, reference_near(l->text, near));
    if (e)
        return e;
    e = candidates_add_payer(tx, c, l->payer);
    return e ? e : candidates_add_amount(tx, c, l);
}

static enum err candidates_json(struct tx *tx, struct arena *a, const struct statement_line *l,
                                struct str *ret_json)
{
    struct candidates c = { 0 };
    enum err e;

    buf_init(&c.out, CANDIDATE_JSON);
    buf_char(&c.out, '[');
    e = candidates_read(tx, &c, l);
    buf_char(&c.out, ']');
    *ret_json = out_done(&c.out, a);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- lines --- */

static void listing_keep_line(struct listing *l, const struct row *row)
{
    if (!statement_line_of_row(row, &l->lines[l->count - 1]))
        l->out.failed = true;
}

enum err lines_page(struct tx *tx, struct arena *a, struct transfer_page *p)
{
    struct listing l = { .page = p, .arena = a, .show = listing_keep_line };
    enum err e;

    l.lines = arena_alloc(a, (size_t)p->limit, sizeof(*l.lines));
    if (!l.lines)
        return ERR_NO_MEMORY;
    listing_begin(&l);
    e = listing_read(tx, &l, STMT_lines_by_state, STMT_lines_all);
    for (int i = 0; !e && !l.out.failed && i < l.count; i++) {
        struct str candidates = { 0 };

        if (l.lines[i].state == LINE_OPEN)
            e = candidates_json(tx, a, &l.lines[i], &candidates);
        if (i)
            buf_char(&l.out, ',');
        out_line(&l.out, &l.lines[i], candidates);
    }
    return listing_finish(&l, e);
}

/* --- imports, returns --- */

static void listing_show_import(struct listing *l, const struct row *row)
{
    const struct val *v = row->col;
    struct buf *b = &l->out;
    struct uuid id = { 0 };

    buf_char(b, '{');
    uuid_of_bytes(v[0].s, &id);
    out_uuid(b, "id", id);
    out_text(b, "name", v[1].s);
    out_text(b, "account", v[2].s);
    out_text(b, "currency", v[3].s);
    out_text(b, "state", v[9].type == VAL_INT ? S("finished") : S("interrupted"));
    out_int(b, "deposits", v[4].i);
    out_int(b, "ignored", v[5].i);
    out_text(b, "firstDate", v[6].type == VAL_TEXT ? v[6].s : S(""));
    out_text(b, "lastDate", v[7].type == VAL_TEXT ? v[7].s : S(""));
    out_int(b, "lines", v[11].i);
    out_int(b, "matched", v[13].i);
    out_int(b, "open", v[12].i);
    uuid_of_bytes(v[10].s, &id);
    out_uuid(b, "userId", id);
    out_time(b, "createdAt", v[8].i);
    out_time(b, "finishedAt", v[9].type == VAL_INT ? v[9].i : 0);
    buf_char(b, '}');
}

enum err imports_page(struct tx *tx, struct arena *a, struct transfer_page *p)
{
    struct listing l = { .page = p, .arena = a, .show = listing_show_import };

    listing_begin(&l);
    return listing_finish(&l, listing_read(tx, &l, STMT_imports_page, STMT_imports_page));
}

static void listing_show_return(struct listing *l, const struct row *row)
{
    out_return(&l->out, row);
}

enum err returns_page(struct tx *tx, struct arena *a, struct transfer_page *p)
{
    struct listing l = { .page = p, .arena = a, .show = listing_show_return };

    listing_begin(&l);
    return listing_finish(&l, listing_read(tx, &l, STMT_returns_by_state, STMT_returns_all));
}
