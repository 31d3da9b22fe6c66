/* transfer_input.c - one reader for each request: the query of an import, the query of a list, and
 * the bodies of the four acts. */
#include "admin/transfer_input.h"

#include "base/limits.h"
#include "domain/day.h"
#include "domain/reference.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

#include <string.h>

enum { PAGE_DEFAULT = 20, NAME_MAX_CHARS = 255, COLUMN_MAX = 64, ACCOUNT_MAX = 64 };

#define WORDS_DAY "must be a day like 2026-11-16", "2026-11-16 のような日付にしてください"
#define WORDS_REFERENCE                                                                            \
    "must be the nine digits of a reference; the last one is a check digit",                       \
        "9 桁の振込番号にしてください（最後の 1 桁は検査数字です）"

/* --- texts --- */

/* Control characters are rejected, since terminals show the text. */
static bool is_text(struct str s, size_t most)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return query_text(s, most, &s);
}

/* Accepts groups of digits, too: "123 456 789". */
static bool read_reference(struct arena *a, struct str text, struct str *ret_reference)
{
    struct reference found[REFERENCES_FOUND];

    if (text.n > COLUMN_MAX || !str_is_utf8(text) || reference_find(text, found) != 1)
        return false;
    *ret_reference = arena_str(a, str_of(found[0].text));
    return ret_reference->p;
}

/* --- the import's query --- */

static bool import_name(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct transfer_import *)ctx)->name = value;
    return is_text(value, NAME_MAX_CHARS);
}

static bool import_dry_run(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct transfer_import *)ctx)->dry_run = str_eq(value, S("true"));
    return str_eq(value, S("true")) || str_eq(value, S("false"));
}

static bool import_account(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct transfer_import *)ctx)->how.account = value;
    return is_text(value, ACCOUNT_MAX);
}

static bool import_currency(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return currency_parse(value, ((struct transfer_import *)ctx)->how.currency);
}

static bool import_charset(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return charset_parse(value, &((struct transfer_import *)ctx)->charset);
}

static bool import_set_column(struct str value, struct str *ret_column)
{
    *ret_column = value;
    return is_text(value, COLUMN_MAX);
}

#define IMPORT_COLUMN(name)                                                                        \
    static bool import_##name(struct request *r, void *ctx, struct str value)                      \
    {                                                                                              \
        (void)r;                                                                                   \
        return import_set_column(value, &((struct transfer_import *)ctx)->how.columns.name);       \
    }
IMPORT_COLUMN(date)
IMPORT_COLUMN(amount)
IMPORT_COLUMN(text)
IMPORT_COLUMN(balance)
IMPORT_COLUMN(id)

static bool import_read_count(struct str value, int64_t least, size_t *ret_count)
{
    int64_t n;

    if (!str_to_i64(value, &n) || n < least || n > LIMIT_BANK_LINES)
        return false;
    *ret_count = (size_t)n;
    return true;
}

static bool import_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return import_read_count(value, 0, &((struct transfer_import *)ctx)->from);
}

static bool import_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return import_read_count(value, 1, &((struct transfer_import *)ctx)->limit);
}

/* The type must be text/csv. A charset in the query replaces the one in the header. */
static bool import_read_type(struct request *r, struct transfer_import *im)
{
    struct str type = request_header(r, S("Content-Type"), NULL);
    struct str value, name;

    if (!str_eq_nocase(str_trim(str_cut(&type, ';')), S("text/csv")))
        return false;
    while (type.n) {
        value = str_trim(str_cut(&type, ';'));
        name = str_trim(str_cut(&value, '='));
        value = str_trim(value);
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = (struct str){ value.p + 1, value.n - 2 };
        if (str_eq_nocase(name, S("charset")) && !charset_parse(value, &im->charset))
            return false;
    }
    return true;
}

#define WORDS_COLUMN                                                                               \
    "must be a column's heading, or its number from 1 to 64",                                      \
        "列の見出し、または 1〜64 の列番号を指定してください"

ANSWERS static bool import_read_query(struct request *r, struct transfer_import *im)
{
    static const struct query_parameter parameters[] = {
        { "name", import_name, "must be a name of 1 to 255 characters",
          "1〜255 文字の名前にしてください" },
        { "dryRun", import_dry_run, "must be true or false",
          "true または false を指定してください" },
        { "account", import_account, "must be a text of 1 to 64 characters",
          "1〜64 文字の文字列にしてください" },
        { "currency", import_currency, "must be an ISO 4217 code like JPY",
          "JPY のような ISO 4217 通貨コードにしてください" },
        { "charset", import_charset, "must be utf-8 or shift_jis",
          "utf-8 または shift_jis を指定してください" },
        { "date", import_date, WORDS_COLUMN },
        { "amount", import_amount, WORDS_COLUMN },
        { "text", import_text, WORDS_COLUMN },
        { "balance", import_balance, WORDS_COLUMN },
        { "id", import_id, WORDS_COLUMN },
        { "from", import_from, "must be the next of an earlier answer",
          "前の応答の next を指定してください" },
        { "limit", import_limit, "must be a whole number from 1 to 20000",
          "1〜20000 の整数にしてください" },
    };

    return query_read(r, parameters, COUNT(parameters), im);
}

bool transfer_read_import(struct request *r, struct transfer_import *ret_import)
{
    memcpy(ret_import->how.currency, "JPY", 4);
    ret_import->name = S("statement.csv");
    if (!import_read_type(r, ret_import)) {
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
        return false;
    }
    if (!import_read_query(r, ret_import))
        return false;
    ret_import->csv = r->body;
    ret_import->language = r->language;
    if (r->body.n)
        return true;
    fields_refuse(r, "file", "is empty", "空です");
    return false;
}

/* --- pages --- */

static bool page_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct transfer_page *)ctx)->limit);
}

static bool page_cursor(struct request *r, void *ctx, struct str value)
{
    struct transfer_page *p = ctx;

    return query_cursor(&r->arena, value, &p->has_before, &p->before);
}

static bool page_transfer_state(struct request *r, void *ctx, struct str value)
{
    enum transfer_state state;

    (void)r;
    ((struct transfer_page *)ctx)->state = value;
    return transfer_state_parse(value, &state);
}

static bool page_line_state(struct request *r, void *ctx, struct str value)
{
    enum line_state state;

    (void)r;
    ((struct transfer_page *)ctx)->state = value;
    return line_state_parse(value, &state);
}

static bool page_return_state(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct transfer_page *)ctx)->state = value;
    return str_eq(value, S("due")) || str_eq(value, S("paid"));
}

static bool page_reference(struct request *r, void *ctx, struct str value)
{
    return read_reference(&r->arena, value, &((struct transfer_page *)ctx)->reference);
}

static const struct query_parameter transfer_parameters[] = {
    QUERY_LIMIT(page_limit),
    QUERY_CURSOR(page_cursor),
    { "state", page_transfer_state, "must be open, received, returning or canceled",
      "open、received、returning、canceled のいずれかにしてください" },
    { "reference", page_reference, WORDS_REFERENCE },
};
static const struct query_parameter line_parameters[] = {
    QUERY_LIMIT(page_limit),
    QUERY_CURSOR(page_cursor),
    { "state", page_line_state, "must be open, matched, assigned, set_aside, to_return or returned",
      "open、matched、assigned、set_aside、to_return、returned のいずれかにしてください" },
};
static const struct query_parameter import_parameters[] = { QUERY_LIMIT(page_limit),
                                                            QUERY_CURSOR(page_cursor) };
static const struct query_parameter return_parameters[] = {
    QUERY_LIMIT(page_limit),
    QUERY_CURSOR(page_cursor),
    { "state", page_return_state, "must be due or paid", "due または paid を指定してください" },
};

bool transfer_read_page(struct request *r, enum transfer_list list, struct transfer_page *ret_page)
{
    static const struct {
        const struct query_parameter *parameters;
        size_t n;
    } lists[TRANSFER_LISTS] = {
        [LIST_TRANSFERS] = { transfer_parameters, COUNT(transfer_parameters) },
        [LIST_LINES] = { line_parameters, COUNT(line_parameters) },
        [LIST_IMPORTS] = { import_parameters, COUNT(import_parameters) },
        [LIST_RETURNS] = { return_parameters, COUNT(return_parameters) },
    };

    *ret_page = (struct transfer_page){ .limit = PAGE_DEFAULT };
    return query_read(r, lists[list].parameters, lists[list].n, ret_page);
}

/* --- bodies --- */

struct transfer_input_reading {
    struct request *request;
    struct json_problems problems;
    bool no_memory;
};

static void read_note(struct transfer_input_reading *g, const cJSON *o, const char *field,
                      bool required, struct str *ret_note)
{
    struct str text;

    if (!json_get_str(o, field, required, LIMIT_BANK_NOTE, &text, &g->problems))
        return;
    if (is_text(text, LIMIT_BANK_NOTE))
        *ret_note = fields_keep(g->request, text, &g->no_memory);
    else
        json_problem_in(&g->problems, field,
                        "must be a text of 1 to 200 characters without line ends",
                        "改行を含まない 1〜200 文字の文字列にしてください");
}

static void read_day(struct transfer_input_reading *g, const cJSON *o, int64_t *ret_days)
{
    struct str text;

    if (json_get_str(o, "date", true, COLUMN_MAX, &text, &g->problems) &&
        !day_parse(text, ret_days))
        json_problem_in(&g->problems, "date", WORDS_DAY);
}

ANSWERS static bool transfer_input_begin(struct request *r, struct uuid *ret_id, cJSON **ret_body,
                                         struct transfer_input_reading *g)
{
    static const char *const nullable[] = { "paymentId", "reference", "note", "toBeReturned" };

    *g = (struct transfer_input_reading){ .request = r };
    if (!fields_path_id(r, ret_id) || !fields_body(r, ret_body))
        return false;
    json_drop_nulls(*ret_body, nullable, COUNT(nullable));
    fields_problems(r, &g->problems);
    return true;
}

ANSWERS static bool transfer_input_finish(struct transfer_input_reading *g, const cJSON *body,
                                          const char *const *names, size_t n)
{
    fields_only(body, names, n, &g->problems);
    return !fields_failed(g->request, &g->problems, g->no_memory ? ERR_NO_MEMORY : OK);
}

bool transfer_read_confirm(struct request *r, struct transfer_word *ret_word)
{
    static const char *const names[] = { "amount", "date", "note" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct transfer_input_reading g;

    *ret_word = (struct transfer_word){ 0 };
    if (!transfer_input_begin(r, &ret_word->payment, &body, &g))
        return false;
    json_get_int(body, "amount", true, 1, MONEY_MAX, &ret_word->amount, &g.problems);
    read_day(&g, body, &ret_word->days);
    read_note(&g, body, "note", false, &ret_word->note);
    return transfer_input_finish(&g, body, names, COUNT(names));
}

static void read_payment_or_reference(struct transfer_input_reading *g, const cJSON *body,
                                      struct line_order *o)
{
    struct str text;
    bool by_reference;

    o->has_payment = fields_uuid(body, "paymentId", false, &o->payment, &g->problems);
    by_reference = json_get_str(body, "reference", false, COLUMN_MAX, &text, &g->problems);
    if (by_reference && !read_reference(&g->request->arena, text, &o->reference))
        json_problem_in(&g->problems, "reference", WORDS_REFERENCE);
    if (!g->problems.count && by_reference == o->has_payment)
        json_problem_in(&g->problems, "paymentId",
                        "or reference must say whose money it is: one of them",
                        "paymentId と reference のどちらか一方を指定してください");
}

bool transfer_read_assign(struct request *r, struct line_order *ret_order)
{
    static const char *const names[] = { "paymentId", "reference", "note" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct transfer_input_reading g;

    *ret_order = (struct line_order){ 0 };
    if (!transfer_input_begin(r, &ret_order->line, &body, &g))
        return false;
    read_payment_or_reference(&g, body, ret_order);
    read_note(&g, body, "note", false, &ret_order->note);
    return transfer_input_finish(&g, body, names, COUNT(names));
}

bool transfer_read_set_aside(struct request *r, struct line_order *ret_order)
{
    static const char *const names[] = { "reason", "toBeReturned" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct transfer_input_reading g;

    *ret_order = (struct line_order){ 0 };
    if (!transfer_input_begin(r, &ret_order->line, &body, &g))
        return false;
    read_note(&g, body, "reason", true, &ret_order->note);
    json_get_bool(body, "toBeReturned", false, &ret_order->to_return, &g.problems);
    return transfer_input_finish(&g, body, names, COUNT(names));
}

bool transfer_read_paid(struct request *r, struct return_word *ret_word)
{
    static const char *const names[] = { "date", "note" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct transfer_input_reading g;

    *ret_word = (struct return_word){ 0 };
    if (!transfer_input_begin(r, &ret_word->id, &body, &g))
        return false;
    read_day(&g, body, &ret_word->days);
    read_note(&g, body, "note", false, &ret_word->note);
    return transfer_input_finish(&g, body, names, COUNT(names));
}
