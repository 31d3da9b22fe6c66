/* Amounts, dates and names as banks write them. */
#include "base/time/civil.h"
#include "domain/bank_value.h"
#include "unit/cm.h"

#include <string.h>

enum { NO = -1 };

static void amounts_are_exact_or_none(void **state)
{
    static const struct {
        const char *text;
        int digits;
        bool fine;
        int64_t want;
    } rows[] = {
        { "1200", 0, true, 1200 },
        { "1,200", 0, true, 1200 },
        { "１，２００", 0, true, 1200 },
        { "￥1,200", 0, true, 1200 },
        { "¥1,200", 0, true, 1200 },
        { "\\1,200", 0, true, 1200 },
        { "1,200円", 0, true, 1200 },
        { "１２００円", 0, true, 1200 },
        { " 1,200 ", 0, true, 1200 },
        { "+1,200", 0, true, 1200 },
        { "-1,200", 0, true, -1200 },
        { "▲1,200", 0, true, -1200 },
        { "△500", 0, true, -500 },
        { "－５００", 0, true, -500 },
        { "-¥500", 0, true, -500 },
        { "¥-500", 0, true, -500 },
        { "", 0, true, 0 },
        { "　", 0, true, 0 },
        { "0", 0, true, 0 },
        { "1,234,567", 0, true, 1234567 },
        { "1200.00", 0, true, 1200 },
        { "12.34", 2, true, 1234 },
        { "12.3", 2, true, 1230 },
        { "12", 2, true, 1200 },
        { "12.340", 2, true, 1234 },
        { "1,234.5", 3, true, 1234500 },
        { "1,20", 0, false, 0 },
        { "12,00", 0, false, 0 },
        { ",120", 0, false, 0 },
        { "1,200,", 0, false, 0 },
        { "1,2000", 0, false, 0 },
        { "1.5", 0, false, 0 },
        { "12.345", 2, false, 0 },
        { "12.", 2, false, 0 },
        { "1200x", 0, false, 0 },
        { "--5", 0, false, 0 },
        { "+-5", 0, false, 0 },
        { "1e3", 0, false, 0 },
        { "0x10", 0, false, 0 },
        { "-", 0, false, 0 },
        { "円", 0, false, 0 },
        { "1 200", 0, false, 0 },
        { "999999999999999", 0, true, 999999999999999 },
        { "9999999999999999", 0, false, 0 },
        { "9999999999999999999999", 0, false, 0 },
        { "999999999999999", 2, false, 0 },
        { "00000000000000000000000000000000000000000000000000000000000000000000000001", 0, false,
          0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t got = 0;
        bool fine = bank_amount(str_of(rows[i].text), rows[i].digits, &got);

        if (fine != rows[i].fine || (fine && got != rows[i].want))
            fail_msg("\"%s\": %d %lld", rows[i].text, fine, (long long)got);
    }
}

static void dates_are_read_in_every_form_and_never_guessed(void **state)
{
    static const struct {
        const char *text;
        int year, month, day; /* NO: it is none */
    } rows[] = {
        { "2026/11/16", 2026, 11, 16 },
        { "2026-11-16", 2026, 11, 16 },
        { "2026.11.16", 2026, 11, 16 },
        { "20261116", 2026, 11, 16 },
        { "２０２６／１１／１６", 2026, 11, 16 },
        { "2026年11月16日", 2026, 11, 16 },
        { "2026/1/5", 2026, 1, 5 },
        { "R8.11.16", 2026, 11, 16 },
        { "R08/11/16", 2026, 11, 16 },
        { "令和8年11月16日", 2026, 11, 16 },
        { "令和元年5月1日", 2019, 5, 1 },
        { "H31.4.30", 2019, 4, 30 },
        { "平成３０年１月２日", 2018, 1, 2 },
        { "2026/11/16 10:32:05", 2026, 11, 16 },
        { "2024/2/29", 2024, 2, 29 },
        { " 2026/11/16 ", 2026, 11, 16 },
        { "2026/2/29", NO, 0, 0 },
        { "2026/13/1", NO, 0, 0 },
        { "2026/0/1", NO, 0, 0 },
        { "2026/1/0", NO, 0, 0 },
        { "26/11/16", NO, 0, 0 },
        { "11/16/2026", NO, 0, 0 },
        { "2026/11", NO, 0, 0 },
        { "2026/11/16/1", NO, 0, 0 },
        { "2026/11-16", NO, 0, 0 },
        { "261116", NO, 0, 0 },
        { "202611160", NO, 0, 0 },
        { "R0.1.1", NO, 0, 0 },
        { "1999/12/31", NO, 0, 0 },
        { "2100/1/1", NO, 0, 0 },
        { "S63.1.1", NO, 0, 0 },
        { "", NO, 0, 0 },
        { "日付", NO, 0, 0 },
        { "2026/11/16 x", NO, 0, 0 },
        { "R", NO, 0, 0 },
        { "2026//16", NO, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t got = 0;
        bool fine = bank_date(str_of(rows[i].text), &got), want = rows[i].year != NO;

        if (fine != want || (fine && got != civil_days(rows[i].year, rows[i].month, rows[i].day)))
            fail_msg("\"%s\": %d %lld", rows[i].text, fine, (long long)got);
    }
}

static void headings_and_payers_have_one_spelling(void **state)
{
    static const struct {
        const char *text, *want;
    } headings[] = { { "お預入金額（円）", "お預入金額" },
                     { "入出金(円)", "入出金" },
                     { " Transaction Date ", "transactiondate" },
                     { "残　高", "残高" },
                     { "ＡＭＯＵＮＴ", "amount" },
                     { "", "" } },
      cores[] = { { "お預かり金額（円）", "預金額" },
                  { "操作日（年）", "操作日年" },
                  { "お取り扱い内容", "取扱内容" },
                  { "【残高】円", "残高" },
                  { "ひらがな", "" },
                  { "Paid-In (JPY)", "paidin" } },
      payers[] = { { "振込 123456786 ヤマダ タロウ", "ヤマダタロウ" },
                   { "ヤマダ　タロウ", "ヤマダタロウ" },
                   { "ﾌﾘｺﾐ ﾔﾏﾀﾞ ﾀﾛｳ", "ﾔﾏﾀﾞﾀﾛｳ" },
                   { "１２３ Yamada, T.", "YAMADAT" },
                   { "123456786", "" } };
    char room[32];

    (void)state;
    for (size_t i = 0; i < COUNT(headings); i++)
        assert_true(str_eq(bank_heading(str_of(headings[i].text), room, sizeof(room)),
                           str_of(headings[i].want)));
    for (size_t i = 0; i < COUNT(cores); i++) {
        struct str got = bank_heading_core(str_of(cores[i].text), room, sizeof(room));

        if (!str_eq(got, str_of(cores[i].want)))
            fail_msg("%s: " STR_FMT, cores[i].text, STR_ARG(got));
    }
    for (size_t i = 0; i < COUNT(payers); i++) {
        struct str got = bank_payer(str_of(payers[i].text), room, sizeof(room));

        if (!str_eq(got, str_of(payers[i].want)))
            fail_msg("%s: " STR_FMT, payers[i].text, STR_ARG(got));
    }
    assert_int_equal(bank_payer(S("ヤマダヤマダヤマダヤマダ"), room, 10).n,
                     9); /* whole characters */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_exact_or_none),
        cmocka_unit_test(dates_are_read_in_every_form_and_never_guessed),
        cmocka_unit_test(headings_and_payers_have_one_spelling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
