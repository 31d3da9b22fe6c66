/* A bank's CSV: columns by headings or by name, what is wrong with it, and what makes two lines
 * one. */
#include "base/limits.h"
#include "base/time/civil.h"
#include "domain/bank_file.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct bank_file file;
static struct json_problems problems;

static enum err read_as(const char *text, struct bank_reading how)
{
    if (!how.currency[0])
        memcpy(how.currency, "JPY", 4);
    arena_release(&arena);
    json_problems_release(&problems);
    json_problems_init(&problems);
    file = (struct bank_file){ 0 };
    return bank_file_read(&arena, str_of(text), &how, &problems, &file);
}

static enum err read_plain(const char *text)
{
    return read_as(text, (struct bank_reading){ 0 });
}

static int begin(void **state)
{
    (void)state;
    arena_init(&arena, LIMIT_BANK_ARENA);
    json_problems_init(&problems);
    return 0;
}

static int end(void **state)
{
    (void)state;
    json_problems_release(&problems);
    arena_release(&arena);
    return 0;
}

/* "2026-11-16 1200 [text] 51200" for each line. */
static void told(char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < file.count; i++) {
        const struct bank_line *l = &file.lines[i];
        struct civil c = civil_of(l->days);

        n += (size_t)snprintf(out + n, size - n, "%d-%02d-%02d %lld [" STR_FMT "]", (int)c.year,
                              c.month, c.day, (long long)l->amount, STR_ARG(l->text));
        if (l->has_balance)
            n += (size_t)snprintf(out + n, size - n, " %lld", (long long)l->balance);
        n += (size_t)snprintf(out + n, size - n, "\n");
        assert_true(n < size);
    }
}

static void files_of_banks_are_read_by_their_headings(void **state)
{
    static const struct {
        const char *why, *text, *want;
        size_t ignored;
    } rows[] = {
        { "deposits and withdrawals in columns of their own",
          "日付,摘要,お引出金額,お預入金額,残高\n2026/11/16,ヤマダ,,\"1,200\",\"51,200\"\n"
          "2026/11/16,カード,300,,50900\n",
          "2026-11-16 1200 [ヤマダ] 51200\n", 1 },
        { "one column with a sign",
          "取引日,入出金(円),取引後残高(円),入出金内容\n"
          "20261116,1200,5,ﾔﾏﾀﾞ\n20261117,-300,4,x\n20261118,▲5,4,y\n",
          "2026-11-16 1200 [ﾔﾏﾀﾞ] 5\n", 2 },
        { "one column and a word",
          "年月日,入払区分,金額,摘要\nR8.11.16,入金,1200,a\nR8.11.16,出金,5,b\n",
          "2026-11-16 1200 [a]\n", 1 },
        { "several columns of text, and blanks of all kinds",
          "日付,摘要,振込依頼人名,入金額\n2026/11/16, 振込　,ヤマダ　　タロウ,1200\n",
          "2026-11-16 1200 [振込 ヤマダ タロウ]\n", 0 },
        { "rows before the headings, and a sum behind",
          "\"口座番号\",\"1234567\"\n\n\"照会期間\"\n日付,入金,摘要\n2026/11/16,5,a\n合計,5,\n",
          "2026-11-16 5 [a]\n", 1 },
        { "English, tabs", "Transaction Date\tPaid In\tPaid Out\tPayer\n2026-11-16\t5\t\tbob\n",
          "2026-11-16 5 [bob]\n", 0 },
        { "SMBC",
          "年月日,お引出し,お預入れ,お取り扱い内容,残高\n2026/11/16,,1200,ﾔﾏﾀﾞ,51200\n"
          "R8.11.17,300,,カード,50900\n",
          "2026-11-16 1200 [ﾔﾏﾀﾞ] 51200\n", 1 },
        { "MUFG",
          "\"日付\",\"摘要\",\"摘要内容\",\"支払い金額\",\"預かり金額\",\"差引残高\",\"メモ\","
          "\"未資金化区分\",\"入払区分\"\n"
          "\"2026/11/16\",\"振込1\",\"ヤマダ\",\"\",\"1,200\",\"51,200\",\"\",\"\",\"入金\"\n"
          "\"2026/11/16\",\"カード\",\"\",\"300\",\"\",\"50,900\",\"\",\"\",\"支払い\"\n",
          "2026-11-16 1200 [振込1 ヤマダ] 51200\n", 1 },
        { "Japan Post Bank",
          "お客さま口座情報\n取引日,入出金明細ＩＤ,受入金額（円）,払出金額（円）,詳細１,詳細２,"
          "現在（貸付）高\n20261116,1,1200,,振込,ヤマダ,51200\n20261117,2,,300,カード,,50900\n",
          "2026-11-16 1200 [振込 ヤマダ] 51200\n", 1 },
        { "PayPay Bank, whose date has three columns",
          "\"操作日(年)\",\"操作日(月)\",\"操作日(日)\",\"操作時刻(時)\",\"操作時刻(分)\","
          "\"操作時刻(秒)\",\"取引順番号\",\"摘要\",\"お支払金額\",\"お預り金額\",\"残高\"\n"
          "\"2026\",\"11\",\"6\",\"10\",\"1\",\"2\",\"1\",\"ヤマダ\",\"\",\"1200\",\"51200\"\n"
          "\"2026\",\"11\",\"17\",\"10\",\"1\",\"2\",\"2\",\"x\",\"300\",\"\",\"50900\"\n",
          "2026-11-06 1200 [ヤマダ] 51200\n", 1 },
        { "other spellings of the same headings",
          "お取引日　【年】,取引日〔月〕,取引日[日],ご入金額 [円],お預かり残高円,お取扱い内容\n"
          "２０２６,１１,１６,1200,5,a\n",
          "2026-11-16 1200 [a] 5\n", 0 },
        { "rows that move nothing", "日付,入金,出金\n2026/11/16,0,\n2026/11/16,,\n2026/11/16,7,0\n",
          "2026-11-16 7 []\n", 2 },
        { "short rows", "日付,入金,摘要\n2026/11/16,5\n", "2026-11-16 5 []\n", 0 },
        { "blank rows", "日付,入金\n,\n2026/11/16,5\n , \n", "2026-11-16 5 []\n", 0 },
    };
    char out[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum err e = read_plain(rows[i].text);

        told(out, sizeof(out));
        if (e || strcmp(out, rows[i].want) != 0 || file.ignored != rows[i].ignored)
            fail_msg("%s: %d %s%zu ignored", rows[i].why, (int)e, out, file.ignored);
    }
}

static void columns_may_be_named_by_heading_or_number(void **state)
{
    struct bank_reading named = {
        .columns = { .date = S("when"), .amount = S("HOW MUCH"), .text = S("3") }
    };
    struct bank_reading numbered = { .columns = { .date = S("1"), .amount = S("2") } };
    struct bank_reading missing = { .columns = { .date = S("nowhere") } };
    char out[128];

    (void)state;
    assert_int_equal(read_as("when,how much,who\n2026-11-16,5,bob\n", named), OK);
    told(out, sizeof(out));
    assert_string_equal(out, "2026-11-16 5 [bob]\n");
    assert_int_equal(read_as("2026-11-16,5,x\n", numbered), OK);
    assert_int_equal(file.count, 1);
    assert_int_equal(read_as("a,b,c\n2026-11-16,5,x\n", numbered), OK); /* headings all the same */
    assert_int_equal(file.count, 1);
    assert_int_equal(read_as("date,amount\n2026-11-16,5\n", missing), ERR_VALIDATION);
}

static void a_currency_has_its_digits(void **state)
{
    (void)state;
    assert_int_equal(
        read_as("date,amount\n2026-11-16,12.34\n", (struct bank_reading){ .currency = "USD" }), OK);
    assert_int_equal(file.lines[0].amount, 1234);
    assert_int_equal(read_plain("date,amount\n2026-11-16,12.34\n"), ERR_VALIDATION);
}

static void all_that_is_wrong_is_said_at_once(void **state)
{
    static const struct {
        const char *why, *text, *want;
    } rows[] = {
        { "each bad line by its number",
          "date,amount,balance\nx,5,1\n2026-11-16,y,1\n2026-11-16,5,z\n2026-11-16,\"5\n",
          "[{\"field\":\"line 2, date\",\"message\":\"is not a date: x\"},"
          "{\"field\":\"line 3, amount\",\"message\":\"is not an amount of money\"},"
          "{\"field\":\"line 4, balance\",\"message\":\"is not an amount of money\"},"
          "{\"field\":\"line 5\",\"message\":\"has a quote that is never closed\"}]" },
        { "in and out at once", "日付,入金,出金\n2026/11/16,5,6\n",
          "[{\"field\":\"line 2, amount\",\"message\":\"came in and went out at the same "
          "time\"}]" },
        { "below nothing", "日付,入金,出金\n2026/11/16,-5,\n2026/11/16,,-6\n",
          "[{\"field\":\"line 2, amount\",\"message\":\"is negative, in a column of its own for "
          "one direction\"},{\"field\":\"line 3, withdrawal\",\"message\":\"is negative, in a "
          "column of its own for one direction\"}]" },
        { "a date is shown, cut between two characters",
          "日付,入金\na日付日付日付日付日付日付日付日付,5\n,5\n",
          "[{\"field\":\"line 2, date\",\"message\":\"is not a date: "
          "a日付日付日付日付日付日付日...\"},"
          "{\"field\":\"line 3, date\",\"message\":\"is missing\"}]" },
        { "no such day in three columns", "操作日(年),操作日(月),操作日(日),入金\n2026,2,30,5\n",
          "[{\"field\":\"line 2, date\",\"message\":\"is not a date: 2026/2/30\"}]" },
        { "a way that is none", "日付,金額,入払区分\n2026/11/16,5,?\n",
          "[{\"field\":\"line 2, direction\",\"message\":\"says neither that it came in nor that "
          "it "
          "went out\"}]" },
        { "no lines", "date,amount\n", "[{\"field\":\"file\",\"message\":\"has no lines\"}]" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str got;

        assert_int_equal(read_plain(rows[i].text), ERR_VALIDATION);
        got = json_problems_array(&problems);
        if (!str_eq(got, str_of(rows[i].want)))
            fail_msg("%s: " STR_FMT, rows[i].why, STR_ARG(got));
        assert_int_equal(file.count, 0);
    }
    assert_int_equal(read_plain("a,b\nc,d\n"), ERR_VALIDATION);
    assert_int_equal(read_plain("1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n13,14\n15,16\n17,18\n19,20\n"
                                "1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n13,14\n15,16\n17,18\n19,20\n"
                                "1,2\ndate,amount\n2026-11-16,5\n"),
                     ERR_VALIDATION); /* the headings come too late */
    assert_int_equal(problems.count, 1);
}

/* --- identities --- */

static void keep_identities(unsigned char ids[][BANK_IDENTITY])
{
    for (size_t i = 0; i < file.count; i++)
        memcpy(ids[i], file.lines[i].identity, BANK_IDENTITY);
}

static bool same(const unsigned char *a, const unsigned char *b)
{
    return memcmp(a, b, BANK_IDENTITY) == 0;
}

static void a_line_is_the_same_in_every_file_that_has_it(void **state)
{
    unsigned char a[4][BANK_IDENTITY], b[4][BANK_IDENTITY];

    (void)state;
    assert_int_equal(read_plain("日付,入金,摘要\n2026/11/16,5,a\n2026/11/16,5,a\n2026/11/16,5,b\n"),
                     OK);
    keep_identities(a);
    assert_false(same(a[0], a[1])); /* alike, and still two */
    /* other headings, forms and order; a line before them */
    assert_int_equal(read_plain("memo,date,deposit\r\n  b ,R8.11.16,５\r\nz,20261116,1\r\n"
                                "a,2026-11-16,5円\r\na,2026-11-16,5\r\n"),
                     OK);
    keep_identities(b);
    assert_true(same(b[0], a[2]) && same(b[2], a[0]) && same(b[3], a[1]));
}

static void what_differs_makes_another_line(void **state)
{
    static const char *const texts[] = {
        "日付,入金,摘要,残高\n2026/11/16,5,a,1\n", "日付,入金,摘要,残高\n2026/11/17,5,a,1\n",
        "日付,入金,摘要,残高\n2026/11/16,6,a,1\n", "日付,入金,摘要,残高\n2026/11/16,5,b,1\n",
        "日付,入金,摘要,残高\n2026/11/16,5,a,2\n", "日付,入金,摘要,残高\n2026/11/16,5,a,\n",
    };
    unsigned char ids[COUNT(texts) + 1][BANK_IDENTITY];

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(read_plain(texts[i]), OK);
        memcpy(ids[i], file.lines[0].identity, BANK_IDENTITY);
    }
    assert_int_equal(read_as(texts[0], (struct bank_reading){ .account = S("2") }), OK);
    memcpy(ids[COUNT(texts)], file.lines[0].identity, BANK_IDENTITY);
    for (size_t i = 0; i < COUNT(ids); i++)
        for (size_t j = 0; j < i; j++)
            assert_false(same(ids[i], ids[j]));
}

static void the_banks_own_number_counts_where_there_is_one(void **state)
{
    unsigned char a[1][BANK_IDENTITY], b[1][BANK_IDENTITY];

    (void)state;
    assert_int_equal(read_plain("日付,入金,摘要,取引番号\n2026/11/16,5,ﾔﾏﾀﾞ,77\n"), OK);
    keep_identities(a);
    assert_int_equal(read_plain("日付,入金,摘要,取引番号\n2026/11/16,5,ヤマダ,77\n"), OK);
    keep_identities(b);
    assert_true(same(a[0], b[0]));
}

/* --- limits --- */

static void a_file_has_limits(void **state)
{
    size_t room = 64 + 32 * (LIMIT_BANK_LINES + 2), n;
    char *text = malloc(room);

    (void)state;
    n = (size_t)snprintf(text, room, "date,amount,text\n");
    for (int i = 0; i < LIMIT_BANK_LINES; i++)
        n += (size_t)snprintf(text + n, room - n, "2026-11-16,%d,line\n", i + 1);
    assert_int_equal(read_plain(text), OK);
    assert_int_equal(file.count, LIMIT_BANK_LINES);
    snprintf(text + n, room - n, "2026-11-16,1,line\n");
    assert_int_equal(read_plain(text), ERR_VALIDATION);
    free(text);
    text = malloc(2000);
    n = (size_t)snprintf(text, 2000, "date,amount,text\n2026-11-16,1,");
    memset(text + n, 'x', LIMIT_BANK_TEXT + 1);
    text[n + LIMIT_BANK_TEXT + 1] = '\0';
    assert_int_equal(read_plain(text), ERR_VALIDATION);
    text[n + LIMIT_BANK_TEXT] = '\0';
    assert_int_equal(read_plain(text), OK);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_banks_are_read_by_their_headings),
        cmocka_unit_test(columns_may_be_named_by_heading_or_number),
        cmocka_unit_test(a_currency_has_its_digits),
        cmocka_unit_test(all_that_is_wrong_is_said_at_once),
        cmocka_unit_test(a_line_is_the_same_in_every_file_that_has_it),
        cmocka_unit_test(what_differs_makes_another_line),
        cmocka_unit_test(the_banks_own_number_counts_where_there_is_one),
        cmocka_unit_test(a_file_has_limits),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
