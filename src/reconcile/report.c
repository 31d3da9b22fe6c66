/* report.c - a day's report as JSON and CSV. */
#include "base/csv.h"
#include "base/json/write.h"
#include "base/text.h"
#include "reconcile/run.h"
#include "store/json_values.h"

#include <string.h>

static struct str report_text(const struct val *v)
{
    return v->type == VAL_TEXT ? v->s : (struct str){ 0 };
}

/* --- one day, without its differences --- */

static void report_out_head(struct buf *b, const struct row *row)
{
    const struct val *c = row->col;
    bool done = str_eq(c[4].s, str_of(day_phase_name(DAY_DONE)));

    out_text(b, "day", c[0].s);
    out_text(b, "timeZone", c[1].s);
    out_time(b, "from", c[2].i);
    out_time(b, "to", c[3].i);
    out_text(b, "state", done ? S("done") : S("running"));
    out_text(b, "phase", c[4].s);
    out_text(b, "askedBy", c[7].s);
    out_int(b, "theirs", c[8].i);
    out_int(b, "ours", c[9].i);
    out_int(b, "checked", c[10].i);
    out_int(b, "differences", c[11].i);
    out_int(b, "healed", c[12].i);
    out_text(b, "error", report_text(&c[13]));
    out_time(b, "startedAt", c[14].i);
    out_time(b, "updatedAt", c[15].i);
    out_time(b, "endedAt", c[16].type == VAL_INT ? c[16].i : 0);
}

struct report_days {
    struct buf *out;
    int limit, count;
    bool more;
    char last[DAY_TEXT + 1];
};

static enum err report_add_day(void *ctx, const struct row *row)
{
    struct report_days *d = ctx;
    struct str day = row->col[0].s;

    if (d->count == d->limit) {
        d->more = true;
        return OK;
    }
    buf_add(d->out, d->count++ ? S(",{") : S("{"));
    report_out_head(d->out, row);
    buf_char(d->out, '}');
    if (day.n <= DAY_TEXT)
        memcpy(d->last, day.p, day.n);
    return OK;
}

enum err reconcile_list(struct tx *tx, struct arena *a, struct str before, int limit,
                        struct str *ret_json)
{
    struct val v[] = { V_TEXT(before.n ? before : S("~")), V_INT(limit + 1) };
    struct buf b;
    struct report_days d = { .out = &b, .limit = limit };
    enum err e;

    buf_init(&b, LIMIT_RECONCILE_REPORT);
    buf_add(&b, S("{\"data\":["));
    e = tx_each(tx, STMT_reconcile_page, v, COUNT(v), report_add_day, &d);
    buf_char(&b, ']');
    out_text(&b, "nextCursor", d.more ? str_of(d.last) : (struct str){ 0 });
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- JSON --- */

struct report_items {
    struct buf *out;
    int64_t count;
};

static void report_begin_item(struct report_items *l)
{
    buf_add(l->out, l->count++ ? S(",{") : S("{"));
}

/* c: a row of reconcile_totals_read. */
static bool report_net(const struct val *c, int64_t *ret_net)
{
    return minor_net(minor_of(&c[4]), minor_of(&c[5]), minor_of(&c[6]), ret_net);
}

static enum err report_add_total(void *ctx, const struct row *row)
{
    struct report_items *l = ctx;
    const struct val *c = row->col;
    int64_t net;

    if (!report_net(c, &net))
        return ERR_SUM_TOO_LARGE;
    report_begin_item(l);
    out_text(l->out, "gateway", c[0].s);
    out_text(l->out, "side", c[1].s);
    out_text(l->out, "currency", c[2].s);
    out_int(l->out, "payments", c[3].i);
    out_int(l->out, "captured", c[4].i);
    out_int(l->out, "refunded", c[5].i);
    out_int(l->out, "fees", c[6].i);
    out_int(l->out, "net", net);
    buf_char(l->out, '}');
    return OK;
}

static enum err report_add_difference(void *ctx, const struct row *row)
{
    struct report_items *l = ctx;
    const struct val *c = row->col;

    report_begin_item(l);
    out_text(l->out, "kind", c[1].s);
    out_text(l->out, "state", c[8].s);
    out_text(l->out, "gateway", c[2].s);
    out_val_uuid(l->out, "paymentId", &c[3]);
    out_text(l->out, "gatewayTransactionId", report_text(&c[4]));
    out_text(l->out, "currency", report_text(&c[5]));
    out_text(l->out, "ours", report_text(&c[6]));
    out_text(l->out, "theirs", report_text(&c[7]));
    out_time(l->out, "at", c[9].i);
    buf_char(l->out, '}');
    return OK;
}

/* In the phase DAY_CLEAR the rows are still those of an earlier run: they are not shown. */
static enum err report_each(struct tx *tx, enum stmt stmt, const struct row *head, bool bounded,
                            tx_each_fn each, struct report_items *l)
{
    struct val v[] = { head->col[0], V_INT(LIMIT_RECONCILE_KEPT) };

    l->count = 0;
    if (str_eq(head->col[4].s, str_of(day_phase_name(DAY_CLEAR))))
        return OK;
    return tx_each(tx, stmt, v, bounded ? 2 : 1, each, l);
}

enum err reconcile_show(struct tx *tx, struct arena *a, struct str day, struct str *ret_json)
{
    struct buf b;
    struct report_items l = { .out = &b };
    struct row row;
    enum err e = TX_ROW(tx, STMT_reconcile_get, &row, V_TEXT(day));

    if (e)
        return e;
    buf_init(&b, LIMIT_RECONCILE_REPORT);
    buf_char(&b, '{');
    report_out_head(&b, &row);
    out_name(&b, "totals");
    buf_char(&b, '[');
    e = report_each(tx, STMT_reconcile_totals_read, &row, false, report_add_total, &l);
    buf_char(&b, ']');
    out_name(&b, "found");
    buf_char(&b, '[');
    if (!e)
        e = report_each(tx, STMT_reconcile_differences_read, &row, true, report_add_difference, &l);
    buf_char(&b, ']');
    out_int(&b, "notShown", row.col[11].i + row.col[12].i - l.count);
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- CSV --- */

/* A spreadsheet reads a cell that starts with =, +, - or @ as a formula, also after a tab or a line
 * end; an apostrophe makes it text. Our numbers are written by cell_int(). */
static bool csv_is_formula(struct str s)
{
    return s.n && (strchr("=+-@\t\r\n", s.p[0]) != NULL);
}

static void cell_text(struct buf *b, struct str s)
{
    if (b->n && b->p[b->n - 1] != '\n')
        buf_char(b, ',');
    csv_field(b, s, csv_is_formula(s));
}

static void cell_int(struct buf *b, int64_t n)
{
    if (b->n && b->p[b->n - 1] != '\n')
        buf_char(b, ',');
    buf_i64(b, n);
}

static void cell_time(struct buf *b, int64_t ms)
{
    char text[TIME_TEXT + 1] = "";

    if (ms)
        time_text(ms, text);
    cell_text(b, str_of(text));
}

static void csv_end_line(struct buf *b)
{
    buf_add(b, S("\r\n"));
}

static enum err csv_difference(void *ctx, const struct row *row)
{
    struct buf *b = ((struct report_items *)ctx)->out;
    const struct val *c = row->col;
    char id[UUID_TEXT + 1] = "";
    struct uuid payment;

    if (c[3].type == VAL_BLOB && uuid_of_bytes(c[3].s, &payment))
        uuid_text(payment, id);
    cell_text(b, S("difference"));
    cell_text(b, c[2].s);
    cell_text(b, report_text(&c[5]));
    cell_text(b, c[1].s);
    cell_text(b, c[8].s);
    cell_text(b, str_of(id));
    cell_text(b, report_text(&c[4]));
    cell_text(b, report_text(&c[6]));
    cell_text(b, report_text(&c[7]));
    for (int i = 0; i < 5; i++)
        cell_text(b, S(""));
    cell_time(b, c[9].i);
    csv_end_line(b);
    return OK;
}

static enum err csv_total(void *ctx, const struct row *row)
{
    struct buf *b = ((struct report_items *)ctx)->out;
    const struct val *c = row->col;
    int64_t net;

    if (!report_net(c, &net))
        return ERR_SUM_TOO_LARGE;
    cell_text(b, S("total"));
    cell_text(b, c[0].s);
    cell_text(b, c[2].s);
    cell_text(b, c[1].s);
    for (int i = 0; i < 5; i++)
        cell_text(b, S(""));
    for (int i = 3; i < 7; i++)
        cell_int(b, c[i].i);
    cell_int(b, net);
    cell_text(b, S(""));
    csv_end_line(b);
    return OK;
}

/* The first line is in both languages, for people. */
static void csv_head(struct buf *b)
{
    static const char *const names[] = {
        "row / 行",
        "gateway / 決済サービス",
        "currency / 通貨",
        "kind / 種別",
        "state / 状態",
        "payment / 決済ID",
        "transaction / 取引ID",
        "ours / 自社",
        "theirs / 決済サービス側",
        "payments / 件数",
        "captured / 売上",
        "refunded / 返金",
        "fees / 手数料",
        "net / 純額",
        "at / 確認日時",
    };

    buf_add(b, S("\xef\xbb\xbf"));
    for (size_t i = 0; i < COUNT(names); i++) {
        buf_add(b, i ? S(",\"") : S("\""));
        buf_add(b, str_of(names[i]));
        buf_char(b, '"');
    }
    csv_end_line(b);
}

enum err reconcile_show_csv(struct tx *tx, struct arena *a, struct str day, struct str *ret_csv)
{
    struct buf b;
    struct report_items l = { .out = &b };
    struct row row;
    enum err e = TX_ROW(tx, STMT_reconcile_get, &row, V_TEXT(day));

    if (e)
        return e;
    buf_init(&b, LIMIT_RECONCILE_REPORT);
    csv_head(&b);
    e = report_each(tx, STMT_reconcile_totals_read, &row, false, csv_total, &l);
    if (!e)
        e = report_each(tx, STMT_reconcile_differences_read, &row, true, csv_difference, &l);
    *ret_csv = out_done(&b, a);
    return e ? e : ret_csv->p ? OK : ERR_NO_MEMORY;
}
