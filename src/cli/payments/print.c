/* print.c - prints payments: a table for people at a terminal, lines with tabs for programs. */
#include "cli/cells.h"
#include "cli/payments/command.h"
#include "domain/money.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    WIDTH_UNKNOWN = 140,
    WIDTH_LEAST = 20,
    ID = 36,
    TIME_SECONDS = 19, /* of 2026-11-16T09:30:00.000Z */
    STATUS = 10,
    MONEY = 16,
    GATEWAY = 9,
    NAME = 14,
};

void payments_table_init(struct payments_table *t)
{
    struct winsize size;

    *t = (struct payments_table){ .terminal = isatty(STDOUT_FILENO), .width = WIDTH_UNKNOWN };
    if (t->terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        t->width = size.ws_col;
}

/* --- money --- */

void payments_money(long long minor, const char *currency, char ret_text[64])
{
    char text[MONEY_TEXT];

    money_text(minor, currency, text);
    snprintf(ret_text, 64, "%s %.3s", text, currency);
}

static struct str money_of(const cJSON *p, const char *name, char text[64])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(p, name);

    if (!cJSON_IsNumber(item))
        return S("-");
    payments_money(answer_number(p, name), answer_words(p, "currency"), text);
    return str_of(text);
}

/* --- the table --- */

static struct str subject_of(const cJSON *p)
{
    static const char *const names[] = { "bookingId", "purchaseId", "participantId" };

    for (size_t i = 0; i < COUNT(names); i++)
        if (answer_text(p, names[i]).n)
            return answer_text(p, names[i]);
    return S("-");
}

static struct str payments_print_seconds(const cJSON *o, const char *name)
{
    struct str at = answer_text(o, name);

    at.n = at.n < TIME_SECONDS ? at.n : TIME_SECONDS;
    return at;
}

static void payments_print_right(struct str s, int width)
{
    int n = cells_width(s);

    printf("%*s", n < width ? width - n : 0, "");
    cells_put(stdout, s, width);
    fputs("  ", stdout);
}

/* For other programs: separated by tabs, and not cut. */
static void print_fields(const cJSON *p)
{
    static const char *const names[] = { "id",       "createdAt", "status",
                                         "currency", "context",   "gateway" };

    for (size_t i = 0; i < COUNT(names); i++) {
        cells_put(stdout, answer_text(p, names[i]), INT32_MAX);
        putchar('\t');
    }
    printf("%lld\t", answer_number(p, "amount"));
    cells_put(stdout, subject_of(p), INT32_MAX);
    putchar('\t');
    cells_put(stdout, answer_text(p, "userId"), INT32_MAX);
    putchar('\t');
    cells_put(stdout, answer_text(p, "description"), INT32_MAX);
    putchar('\n');
}

static void payments_print_head(struct payments_table *t)
{
    if (t->headed)
        return;
    t->headed = true;
    printf("%-*s  %-*s  %-*s  %*s  %-*s  %s\n", ID, "PAYMENT", TIME_SECONDS, "CREATED (UTC)",
           STATUS, "STATUS", MONEY, "AMOUNT", GATEWAY, "GATEWAY", "DESCRIPTION");
}

void payments_table_row(struct payments_table *t, const cJSON *p)
{
    int rest = t->width - (ID + TIME_SECONDS + STATUS + MONEY + GATEWAY + 5 * 2);
    char text[64];

    if (!t->terminal) {
        print_fields(p);
        return;
    }
    payments_print_head(t);
    cells_column(stdout, answer_text(p, "id"), ID);
    cells_column(stdout, payments_print_seconds(p, "createdAt"), TIME_SECONDS);
    cells_column(stdout, answer_text(p, "status"), STATUS);
    payments_print_right(money_of(p, "amount", text), MONEY);
    cells_column(stdout, answer_text(p, "gateway"), GATEWAY);
    cells_put(stdout, answer_text(p, "description"), rest > WIDTH_LEAST ? rest : WIDTH_LEAST);
    putchar('\n');
}

void payments_table_use(struct payments_table *t, const cJSON *u)
{
    static const struct {
        const char *head, *name;
        int width;
    } columns[] = { { "OPERATION", "operation", 9 }, { "STATE", "state", 7 },
                    { "PAYMENT", "paymentId", ID },  { "USER", "userId", ID },
                    { "CREATED", "createdAt", 24 },  { "EXPIRES", "expiresAt", 24 } };

    for (size_t i = 0; t->terminal && !t->headed && i < COUNT(columns); i++)
        cells_column(stdout, str_of(columns[i].head), columns[i].width);
    if (t->terminal && !t->headed)
        puts("STATUS");
    t->headed = true;
    for (size_t i = 0; i < COUNT(columns); i++) {
        struct str s = answer_text(u, columns[i].name);

        if (t->terminal)
            cells_column(stdout, s.n ? s : S("-"), columns[i].width);
        else {
            cells_put(stdout, s, INT32_MAX);
            putchar('\t');
        }
    }
    if (answer_number(u, "status"))
        printf("%lld\n", answer_number(u, "status"));
    else
        puts(t->terminal ? "-" : "");
}

/* --- one payment --- */

static void payments_print_line(const char *name, struct str text)
{
    printf("%-*s", NAME, name);
    cells_put(stdout, text.n ? text : S("-"), INT32_MAX);
    putchar('\n');
}

static void print_rows(const cJSON *payment, const char *name,
                       void (*print)(const cJSON *payment, const cJSON *one))
{
    const cJSON *one, *all = cJSON_GetObjectItemCaseSensitive(payment, name);

    if (cJSON_GetArraySize(all))
        printf("%s\n", name);
    cJSON_ArrayForEach(one, all)
    {
        fputs("  ", stdout);
        print(payment, one);
        putchar('\n');
    }
}

/* For an operation of the system its reason says more. An older server gives neither. */
static struct str who_of(const cJSON *operation)
{
    struct str by = answer_text(operation, "by");

    return by.n && !str_eq(by, S("system")) ? by : answer_text(operation, "cause");
}

static void print_operation(const cJSON *payment, const cJSON *o)
{
    char text[64] = "";

    if (answer_number(o, "amount"))
        payments_money(answer_number(o, "amount"), answer_words(payment, "currency"), text);
    cells_column(stdout, payments_print_seconds(o, "claimedAt"), TIME_SECONDS);
    cells_column(stdout, answer_text(o, "kind"), 7);
    cells_column(stdout, answer_text(o, "phase"), 7);
    cells_column(stdout, who_of(o), 12);
    payments_print_right(str_of(text), MONEY);
    printf("sent %lld, asked %lld  ", answer_number(o, "sends"), answer_number(o, "asks"));
    cells_put(stdout, answer_text(o, "result"), INT32_MAX);
}

static void print_transaction(const cJSON *payment, const cJSON *o)
{
    (void)payment;
    cells_column(stdout, answer_text(o, "id"), 30);
    cells_column(stdout, answer_text(o, "status"), STATUS);
    cells_column(stdout, answer_text(o, "chargeId"), 30);
    cells_put(stdout, answer_text(o, "failureCode"), INT32_MAX);
}

static void print_refund(const cJSON *payment, const cJSON *o)
{
    char text[64];

    payments_money(answer_number(o, "amount"), answer_words(payment, "currency"), text);
    cells_column(stdout, payments_print_seconds(o, "createdAt"), TIME_SECONDS);
    cells_column(stdout, answer_text(o, "id"), ID);
    cells_column(stdout, answer_text(o, "status"), STATUS);
    payments_print_right(str_of(text), MONEY);
    cells_put(stdout, answer_text(o, "reason"), INT32_MAX);
}

static void print_dispute(const cJSON *payment, const cJSON *o)
{
    (void)payment;
    cells_column(stdout, answer_text(o, "id"), 30);
    cells_column(stdout, answer_text(o, "status"), 24);
    cells_put(stdout, answer_text(o, "reason"), INT32_MAX);
}

/* "capture up to 1,200 JPY, void" */
static void print_can(const cJSON *payment)
{
    const cJSON *can = cJSON_GetObjectItemCaseSensitive(payment, "can");
    static const struct {
        const char *verb, *most;
    } verbs[] = { { "capture", "captureMax" }, { "refund", "refundMax" }, { "void", NULL } };
    bool any = false;

    printf("%-*s", NAME, "can");
    for (size_t i = 0; i < COUNT(verbs); i++) {
        char text[64];

        if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(can, verbs[i].verb)))
            continue;
        printf("%s%s", any ? ", " : "", verbs[i].verb);
        any = true;
        if (!verbs[i].most)
            continue;
        payments_money(answer_number(can, verbs[i].most), answer_words(payment, "currency"), text);
        printf(" up to %s", text);
    }
    puts(any ? "" : "-");
}

static void print_open(const cJSON *payment)
{
    const cJSON *open = cJSON_GetObjectItemCaseSensitive(payment, "openOperation");
    char text[64];

    if (!cJSON_IsObject(open))
        return;
    snprintf(text, sizeof(text), "%.20s (%.20s)", answer_words(open, "kind"),
             answer_words(open, "phase"));
    payments_print_line("under way", str_of(text));
}

void payments_print(const cJSON *p)
{
    char text[64];

    payments_print_line("payment", answer_text(p, "id"));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(p, "voided")))
        payments_print_line("status", S("REFUNDED (voided: nothing was taken)"));
    else
        payments_print_line("status", answer_text(p, "status"));
    payments_print_line("amount", money_of(p, "amount", text));
    payments_print_line("captured", money_of(p, "capturedAmount", text));
    payments_print_line("refunded", money_of(p, "refundedAmount", text));
    payments_print_line(answer_words(p, "context"), subject_of(p));
    payments_print_line("user", answer_text(p, "userId"));
    payments_print_line("gateway", answer_text(p, "gateway"));
    payments_print_line("gateway id", answer_text(p, "gatewayTransactionId"));
    payments_print_line("description", answer_text(p, "description"));
    payments_print_line("failure", answer_text(p, "failureReason"));
    payments_print_line("key", answer_text(p, "idempotencyKey"));
    payments_print_line("created", answer_text(p, "createdAt"));
    payments_print_line("updated", answer_text(p, "updatedAt"));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(p, "disputed")))
        payments_print_line("disputed", S("yes: its bank decides about the money"));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(p, "givenUp")))
        payments_print_line("given up", S("yes: money that lands on it goes back"));
    print_open(p);
    print_can(p);
    print_rows(p, "operations", print_operation);
    print_rows(p, "transactions", print_transaction);
    print_rows(p, "refunds", print_refund);
    print_rows(p, "disputes", print_dispute);
}
