/* bank_file.c - the rows of a bank's file, in order:
 *
 *   rows about the account --> headings --> lines --> a row of sums
 *
 * Rows are skipped until one has the heading of a date and of an amount. A row of sums is
 * recognized by its first word. */
#include "domain/bank_file.h"

#include "base/csv.h"
#include "base/limits.h"
#include "domain/bank_value.h"
#include "domain/money.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADING_ROOM = 96,
    FIELD_NAME = 64,
    PREAMBLE = 20,
    PROBLEMS_MOST = 100,
    DATE_ROOM = 48,
    SHOWN = 40
};

enum bank_file_column {
    COLUMN_NONE,
    COLUMN_DATE,
    COLUMN_YEAR, /* a date in three columns */
    COLUMN_MONTH,
    COLUMN_DAY,
    COLUMN_IN,
    COLUMN_OUT,
    COLUMN_SIGNED, /* below 0: it went out */
    COLUMN_WAY,    /* whether it came in or went out */
    COLUMN_TEXT,
    COLUMN_BALANCE,
    COLUMN_ID,
    COLUMNS
};

static const struct {
    enum bank_file_column column;
    const char *names; /* as bank_heading_core() writes them, separated by | */
} headings[] = {
    { COLUMN_DATE, "日付|取引日|取引日付|年月日|取引年月日|入金日|勘定日|操作日|取扱日|取扱年月日|"
                   "計上日|date|transactiondate|bookingdate|valuedate|postingdate" },
    { COLUMN_YEAR, "操作日年|取引日年|日付年|年" },
    { COLUMN_MONTH, "操作日月|取引日月|日付月|月" },
    { COLUMN_DAY, "操作日日|取引日日|日付日|日" },
    { COLUMN_IN, "入金|入金額|入金金額|預入|預入額|預入金額|預金額|受入|受入額|受入金額|deposit|"
                 "deposits|credit|creditamount|paidin|moneyin|amountin" },
    { COLUMN_OUT, "出金|出金額|出金金額|引出|引出額|引出金額|支払|支払額|支払金額|払戻|払戻額|"
                  "払戻金額|払出|払出額|払出金額|withdrawal|withdrawals|debit|debitamount|paidout|"
                  "moneyout|amountout" },
    { COLUMN_SIGNED, "金額|取引金額|入出金|入出金額|入出金金額|入払金額|amount" },
    { COLUMN_WAY, "入払区分|入出金区分|入出区分|貸借区分|direction" },
    { COLUMN_TEXT, "摘要|取引内容|取扱内容|入出金内容|内容|摘要内容|詳細|詳細1|詳細2|振込依頼人名|"
                   "振込依頼人|依頼人名|振込人名|取引先|相手先|取引名|メモ|備考|text|description|"
                   "details|payer|payername|name|memo|reference|paymentreference|"
                   "remittanceinformation" },
    { COLUMN_BALANCE, "残高|差引残高|預残高|取引後残高|差引残高金額|現在高|現在貸付高|balance" },
    { COLUMN_ID,
      "取引番号|明細番号|照会番号|取引id|明細通番|入出金明細id|整理番号|transactionid|id" },
};

struct bank_file_reading {
    struct arena *arena;
    const struct bank_reading *how;
    struct json_problems *problems;
    struct csv csv;
    enum bank_file_column of[CSV_FIELDS]; /* each field's */
    bool headed;
    int digits; /* of the currency */
    bool no_memory;
    size_t more_problems; /* beyond PROBLEMS_MOST */
    struct bank_file *file;
    size_t room;
};

/* --- problems --- */

static void bank_file_problem(struct bank_file_reading *r, int line, const char *what,
                              const char *en, const char *ja)
{
    char field[FIELD_NAME];

    if (r->problems->count >= PROBLEMS_MOST) {
        r->more_problems++;
        return;
    }
    snprintf(field, sizeof(field), "line %d%s%s", line, *what ? ", " : "", what);
    json_problem_in(r->problems, field, en, ja);
}

static void bank_file_report_rest(struct bank_file_reading *r)
{
    char en[64], ja[64];

    if (!r->more_problems)
        return;
    snprintf(en, sizeof(en), "has %zu more problems", r->more_problems);
    snprintf(ja, sizeof(ja), "ほかに %zu 件の問題があります", r->more_problems);
    json_problem_in(r->problems, "file", en, ja);
}

/* --- headings --- */

static enum bank_file_column column_of(struct str heading)
{
    char room[HEADING_ROOM];
    struct str name = bank_heading_core(heading, room, sizeof(room));

    for (size_t i = 0; name.n && i < COUNT(headings); i++) {
        struct str names = str_of(headings[i].names);

        while (names.n)
            if (str_eq(str_cut(&names, '|'), name))
                return headings[i].column;
    }
    return COLUMN_NONE;
}

static bool bank_file_has(const struct bank_file_reading *r, enum bank_file_column c)
{
    for (size_t i = 0; i < CSV_FIELDS; i++)
        if (r->of[i] == c)
            return true;
    return false;
}

static bool has_date(const struct bank_file_reading *r)
{
    return bank_file_has(r, COLUMN_DATE) ||
           (bank_file_has(r, COLUMN_YEAR) && bank_file_has(r, COLUMN_MONTH) &&
            bank_file_has(r, COLUMN_DAY));
}

static bool is_number(struct str s, size_t *ret_number)
{
    int64_t n;

    if (!str_to_i64(s, &n) || n < 1 || n > CSV_FIELDS)
        return false;
    *ret_number = (size_t)n;
    return true;
}

/* A column that the operator named replaces those recognized by heading. False: it does not
 * exist. */
static bool name_column(struct bank_file_reading *r, struct str name, enum bank_file_column c)
{
    char wanted[HEADING_ROOM], there[HEADING_ROOM];
    struct str want = bank_heading(name, wanted, sizeof(wanted));
    size_t number;

    if (!name.n)
        return true;
    for (size_t i = 0; i < CSV_FIELDS; i++)
        if (r->of[i] == c || (c == COLUMN_SIGNED && r->of[i] == COLUMN_IN))
            r->of[i] = COLUMN_NONE;
    if (is_number(name, &number)) {
        r->of[number - 1] = c;
        return true;
    }
    for (size_t i = 0; i < r->csv.count; i++)
        if (str_eq(bank_heading(r->csv.fields[i], there, sizeof(there)), want)) {
            r->of[i] = c;
            return true;
        }
    return false;
}

static bool name_columns(struct bank_file_reading *r)
{
    const struct bank_columns *k = &r->how->columns;

    return name_column(r, k->date, COLUMN_DATE) && name_column(r, k->amount, COLUMN_SIGNED) &&
           name_column(r, k->text, COLUMN_TEXT) && name_column(r, k->balance, COLUMN_BALANCE) &&
           name_column(r, k->id, COLUMN_ID);
}

/* A file whose date and amount are named by number needs no headings. */
static bool needs_headings(const struct bank_file_reading *r)
{
    const struct bank_columns *k = &r->how->columns;
    size_t n;

    return !is_number(k->date, &n) || !is_number(k->amount, &n);
}

/* True: this row is the headings. */
static bool take_headings(struct bank_file_reading *r)
{
    memset(r->of, 0, sizeof(r->of));
    for (size_t i = 0; needs_headings(r) && i < r->csv.count; i++)
        r->of[i] = column_of(r->csv.fields[i]);
    r->headed = name_columns(r) && has_date(r) &&
                (bank_file_has(r, COLUMN_IN) || bank_file_has(r, COLUMN_SIGNED));
    return r->headed;
}

/* --- one row --- */

static bool is_blank(const struct csv *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (str_trim(c->fields[i]).n)
            return false;
    return true;
}

static bool is_sum(const struct csv *c)
{
    char room[HEADING_ROOM];
    struct str first = bank_heading(c->fields[0], room, sizeof(room));

    return str_eq(first, S("合計")) || str_eq(first, S("計")) || str_eq(first, S("total"));
}

/* The first field of that column; .p NULL: the row has none. */
static struct str field_of(const struct bank_file_reading *r, enum bank_file_column c)
{
    for (size_t i = 0; i < r->csv.count; i++)
        if (r->of[i] == c)
            return r->csv.fields[i];
    return (struct str){ 0 };
}

/* The row's date as written; if it has three columns, they are joined with slashes. */
static struct str date_text(const struct bank_file_reading *r, char room[DATE_ROOM])
{
    static const enum bank_file_column parts[] = { COLUMN_YEAR, COLUMN_MONTH, COLUMN_DAY };
    size_t n = 0;

    if (bank_file_has(r, COLUMN_DATE))
        return str_trim(field_of(r, COLUMN_DATE));
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct str part = str_trim(field_of(r, parts[i]));

        if (n + part.n + 1 > DATE_ROOM)
            return part; /* longer than any date */
        if (i)
            room[n++] = '/';
        if (part.n)
            memcpy(room + n, part.p, part.n);
        n += part.n;
    }
    return (struct str){ room, n };
}

/* Reports the invalid text, cut at the end of a character. */
static void not_a_date(struct bank_file_reading *r, struct str text)
{
    size_t n = text.n < SHOWN ? text.n : SHOWN;
    char en[SHOWN + 64], ja[SHOWN + 64];
    const char *more = n < text.n ? "..." : "";

    if (!n) {
        bank_file_problem(r, r->csv.line, "date", "is missing", "日付がありません");
        return;
    }
    while (n < text.n && n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    snprintf(en, sizeof(en), "is not a date: %.*s%s", (int)n, text.p, more);
    snprintf(ja, sizeof(ja), "日付として読めません: %.*s%s", (int)n, text.p, more);
    bank_file_problem(r, r->csv.line, "date", en, ja);
}

static bool read_amount(struct bank_file_reading *r, enum bank_file_column c, const char *what,
                        int64_t *ret_amount)
{
    if (bank_amount(field_of(r, c), r->digits, ret_amount))
        return true;
    bank_file_problem(r, r->csv.line, what, "is not an amount of money", "金額として読めません");
    return false;
}

/* 1: it came in; -1: it went out; 0: the row does not say. */
static int way_of(struct bank_file_reading *r, bool *fine)
{
    static const struct {
        const char *words;
        int way;
    } ways[] = { { "入金|入|預入|貸方|credit|deposit|in|1", 1 },
                 { "出金|出|引出|支払|借方|debit|withdrawal|out|2", -1 } };
    char room[HEADING_ROOM];
    struct str word;

    if (!bank_file_has(r, COLUMN_WAY) || !bank_file_has(r, COLUMN_SIGNED))
        return 0;
    word = bank_heading_core(field_of(r, COLUMN_WAY), room, sizeof(room));
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct str words = str_of(ways[i].words);

        while (words.n)
            if (str_eq(str_cut(&words, '|'), word))
                return ways[i].way;
    }
    *fine = false;
    bank_file_problem(r, r->csv.line, "direction",
                      "says neither that it came in nor that it went out",
                      "入金か出金かを読み取れません");
    return 0;
}

static bool check_signs(struct bank_file_reading *r, int64_t in, int64_t out, int64_t both)
{
    if (in < 0 || out < 0)
        bank_file_problem(r, r->csv.line, in < 0 ? "amount" : "withdrawal",
                          "is negative, in a column of its own for one direction",
                          "入金または出金だけの列の金額が負の数です");
    else if (in && (out || both))
        bank_file_problem(r, r->csv.line, "amount", "came in and went out at the same time",
                          "入金と出金の両方が入っています");
    else
        return true;
    return false;
}

/* *ret_amount 0: the row has no deposit. False: the problems were reported. */
static bool read_deposit(struct bank_file_reading *r, int64_t *ret_amount)
{
    int64_t in = 0, out = 0, both = 0;
    bool fine = read_amount(r, COLUMN_IN, "amount", &in);
    int way;

    fine = read_amount(r, COLUMN_OUT, "withdrawal", &out) && fine;
    fine = read_amount(r, COLUMN_SIGNED, "amount", &both) && fine;
    way = way_of(r, &fine);
    if (!fine || !check_signs(r, in, out, both))
        return false;
    if (way < 0)
        both = 0;
    *ret_amount = in ? in : both > 0 && !out ? both : 0;
    return true;
}

/* Appends s; a run of blanks and line ends becomes one blank. */
static void add_words(char *room, size_t *n, struct str s)
{
    while (s.n) {
        bool wide = str_starts(s, S("\u3000"));
        bool blank = wide || strchr(" \t\r\n", s.p[0]);
        size_t cut = wide ? 3 : 1;

        if (!blank)
            room[(*n)++] = s.p[0];
        else if (*n && room[*n - 1] != ' ')
            room[(*n)++] = ' ';
        s = (struct str){ s.p + cut, s.n - cut };
    }
}

static size_t count_chars(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* Joins all columns of text. */
static bool read_text(struct bank_file_reading *r, struct str *ret_text)
{
    size_t room = 0, n = 0;
    char *text;

    for (size_t i = 0; i < r->csv.count; i++)
        if (r->of[i] == COLUMN_TEXT)
            room += r->csv.fields[i].n + 1;
    text = arena_alloc(r->arena, room + 1, 1);
    if (!text) {
        r->no_memory = true;
        return false;
    }
    for (size_t i = 0; i < r->csv.count; i++)
        if (r->of[i] == COLUMN_TEXT) {
            add_words(text, &n, r->csv.fields[i]);
            add_words(text, &n, S(" "));
        }
    *ret_text = str_trim((struct str){ text, n });
    if (count_chars(*ret_text) <= LIMIT_BANK_TEXT)
        return true;
    bank_file_problem(r, r->csv.line, "text", "is longer than 400 characters",
                      "400 文字を超えています");
    return false;
}

static bool read_rest(struct bank_file_reading *r, struct bank_line *l)
{
    struct str balance = field_of(r, COLUMN_BALANCE);
    bool fine = read_text(r, &l->text);

    l->id = str_trim(field_of(r, COLUMN_ID));
    l->has_balance = str_trim(balance).n > 0;
    if (l->has_balance)
        fine = read_amount(r, COLUMN_BALANCE, "balance", &l->balance) && fine;
    if (l->id.n > LIMIT_BANK_TEXT) {
        bank_file_problem(r, r->csv.line, "id", "is too long", "長すぎます");
        fine = false;
    }
    return fine;
}

static bool add_line(struct bank_file_reading *r, const struct bank_line *l)
{
    struct bank_file *f = r->file;

    if (f->count == LIMIT_BANK_LINES) {
        bank_file_problem(r, l->line, "", "is more than the 20000 deposits that one file may have",
                          "1 ファイルの入金は 20000 件までです");
        return false;
    }
    if (f->count == r->room) {
        size_t more = r->room ? r->room * 2 : 256;
        struct bank_line *lines = arena_alloc(r->arena, more, sizeof(*lines));

        if (!lines) {
            r->no_memory = true;
            return false;
        }
        if (f->count)
            memcpy(lines, f->lines, f->count * sizeof(*lines));
        f->lines = lines;
        r->room = more;
    }
    if (!f->count || l->days < f->first_day)
        f->first_day = l->days;
    if (!f->count || l->days > f->last_day)
        f->last_day = l->days;
    f->lines[f->count++] = *l;
    return true;
}

/* False: stop reading. */
static bool read_row(struct bank_file_reading *r)
{
    struct bank_line l = { .line = r->csv.line };
    char room[DATE_ROOM];
    struct str date = date_text(r, room);
    bool fine = bank_date(date, &l.days);

    if (is_blank(&r->csv))
        return true;
    if (is_sum(&r->csv)) {
        r->file->ignored++;
        return true;
    }
    if (!fine)
        not_a_date(r, date);
    fine = read_deposit(r, &l.amount) && fine;
    if (!fine)
        return true;
    if (!l.amount) {
        r->file->ignored++;
        return true;
    }
    return read_rest(r, &l) ? add_line(r, &l) : !r->no_memory;
}

/* Even with columns named by number, the first row may be headings. */
static bool looks_like_headings(const struct bank_file_reading *r)
{
    int64_t days;

    return !needs_headings(r) && r->file->count + r->file->ignored == 0 && r->csv.line == 1 &&
           !bank_date(field_of(r, COLUMN_DATE), &days);
}

static bool take_row(struct bank_file_reading *r)
{
    if (r->headed)
        return read_row(r);
    if (take_headings(r) && !needs_headings(r) && !looks_like_headings(r))
        return read_row(r);
    if (r->headed || r->csv.line <= PREAMBLE)
        return true;
    return false;
}

static void read_rows(struct bank_file_reading *r)
{
    for (;;) {
        switch (csv_next(&r->csv, r->arena)) {
        case CSV_ROW:
            if (take_row(r))
                continue;
            return;
        case CSV_BROKEN:
            bank_file_problem(r, r->csv.line, "", r->csv.why_en, r->csv.why_ja);
            continue;
        case CSV_NO_MEMORY: r->no_memory = true; return;
        case CSV_END: return;
        }
    }
}

/* --- identities --- */

static bool bank_file_digest(struct str text, unsigned char ret_digest[BANK_IDENTITY])
{
    unsigned int n = 0;

    return EVP_Digest(text.p, text.n, ret_digest, &n, EVP_sha256(), NULL) && n == BANK_IDENTITY;
}

/* Writes the length before each part, so that different lines never give the same bytes. */
static void add_part(struct buf *b, struct str s)
{
    buf_fmt(b, "%zu:", s.n);
    buf_add(b, s);
}

static void write_line(struct buf *b, const struct bank_reading *how, const struct bank_line *l)
{
    buf_clear(b);
    add_part(b, how->account);
    add_part(b, str_of(how->currency));
    buf_fmt(b, "%lld %lld ", (long long)l->days, (long long)l->amount);
    if (l->id.n) {
        add_part(b, l->id);
        return;
    }
    add_part(b, l->text);
    if (l->has_balance)
        buf_fmt(b, "%lld", (long long)l->balance);
}

static int by_identity(const void *x, const void *y)
{
    const struct bank_line *a = *(const struct bank_line *const *)x;
    const struct bank_line *b = *(const struct bank_line *const *)y;
    int order = memcmp(a->identity, b->identity, BANK_IDENTITY);

    return order ? order : (a > b) - (a < b); /* equal lines: in the file's order */
}

/* Adds to each identity how many equal lines come before it, so that the n-th of them has the same
 * identity in every file that contains them. */
static bool number_alike(struct arena *a, struct bank_file *f)
{
    struct bank_line **sorted = arena_alloc(a, f->count + 1, sizeof(struct bank_line *));
    unsigned char before[BANK_IDENTITY] = { 0 };
    unsigned alike = 0;

    if (!sorted)
        return false;
    for (size_t i = 0; i < f->count; i++)
        sorted[i] = &f->lines[i];
    qsort(sorted, f->count, sizeof(struct bank_line *), by_identity);
    for (size_t i = 0; i < f->count; i++) {
        char text[BANK_IDENTITY + 16];
        int n;

        alike = i && memcmp(before, sorted[i]->identity, BANK_IDENTITY) == 0 ? alike + 1 : 0;
        memcpy(before, sorted[i]->identity, BANK_IDENTITY);
        memcpy(text, before, BANK_IDENTITY);
        n = snprintf(text + BANK_IDENTITY, 16, ":%u", alike);
        if (!bank_file_digest((struct str){ text, BANK_IDENTITY + (size_t)n }, sorted[i]->identity))
            return false;
    }
    return true;
}

static enum err bank_file_identify(struct bank_file_reading *r)
{
    struct bank_file *f = r->file;
    struct buf b;
    bool fine = true;

    buf_init(&b, 64 * 1024);
    for (size_t i = 0; fine && i < f->count; i++) {
        write_line(&b, r->how, &f->lines[i]);
        fine = !b.failed && bank_file_digest(buf_str(&b), f->lines[i].identity);
    }
    buf_release(&b);
    return fine && number_alike(r->arena, f) ? OK : ERR_NO_MEMORY;
}

/* --- the file --- */

static void check_whole(struct bank_file_reading *r)
{
    if (!r->headed)
        json_problem_in(
            r->problems, "file",
            "has no row of headings with a date and an amount in its first 20 lines; ?date= and "
            "?amount= name the columns, by heading or by number",
            "先頭 20 行に日付と金額の見出しがありません。?date= と ?amount= "
            "で列名または列番号を指定してください");
    else if (!r->problems->count && !r->file->count && !r->file->ignored)
        json_problem_in(r->problems, "file", "has no lines", "明細がありません");
}

enum err bank_file_read(struct arena *a, struct str text, const struct bank_reading *how,
                        struct json_problems *problems, struct bank_file *ret_file)
{
    struct bank_file f = { 0 };
    struct bank_file_reading r = { .arena = a,
                                   .how = how,
                                   .problems = problems,
                                   .digits = currency_digits(how->currency),
                                   .file = &f };
    enum err e;

    if (r.digits < 0)
        return ERR_VALIDATION;
    csv_init(&r.csv, text);
    read_rows(&r);
    if (r.no_memory)
        return ERR_NO_MEMORY;
    check_whole(&r);
    bank_file_report_rest(&r);
    if (problems->count)
        return ERR_VALIDATION;
    e = bank_file_identify(&r);
    if (e)
        return e;
    *ret_file = f;
    return OK;
}
