/* Money that came by a bank: taken once, by reference and amount, or left for a person; on both
 * databases. */
#include "base/time/zone.h"
#include "booking/booking.h"
#include "domain/reference.h"
#include "gateway/manual.h"
#include "payment/operate.h"
#include "payment/rows.h"
#include "payment/waiting.h"
#include "server/payables.h"
#include "transfer/find.h"
#include "transfer/import.h"
#include "transfer/transfer.h"
#include "unit/queue/rig.h"

#define ADMIN "99999999-9999-4999-8999-999999999999"

enum { AMOUNT = 1200, ARENA = 1 << 22 };

static struct {
    struct rig *rig;
    struct payments payments;
    struct gateways gateways;
    struct arena arena;
    struct uuid payment;
    char reference[16], answer[4096];
} w;

static struct uuid id_of(const char *text)
{
    struct uuid id;

    assert_true(uuid_parse(str_of(text), &id));
    return id;
}

static void begin(void **state)
{
    static struct job_kind kinds[2];
    struct manual_options o = { .account = S("普通 1234567"), .days = 7 };

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    o.env = &w.rig->env[0];
    o.store = w.rig->store[0];
    assert_int_equal(zone_load(S("Asia/Tokyo"), &o.zone), OK);
    w.gateways.all[w.gateways.count++] = manual_gateway_new(&o);
    w.payments = (struct payments){ .notifier.runtime = &w.payments.runtime,
                                    .payables = &server_payables,
                                    .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .runtime.executor = &w.rig->den.desk.executor,
                                    .gateways = &w.gateways,
                                    .waiting = waiting_new() };
    kinds[0] = operation_kind(&w.payments);
    kinds[1] = booking_confirm_kind(&w.payments);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.payments.runtime.queue = w.rig->queue[0];
    queue_start(w.rig->queue[0]);
    /* the store's clock is the real one: what it plans is due */
    rig_at(w.rig, env_now_ms(&w.rig->store_env[0]) + 3600 * 1000);
    arena_init(&w.arena, ARENA);
}

static void finish(void)
{
    rig_settle(w.rig);
    rig_kill(w.rig, 0);
    gateways_free(&w.gateways);
    waiting_free(w.payments.waiting);
    arena_release(&w.arena);
}

/* --- a payment that waits --- */

static enum err do_owe(struct tx *tx, void *ctx)
{
    struct payment p = { .id = w.payment,
                         .context = CONTEXT_BOOKING,
                         .subject_id = env_uuid(&w.rig->env[0]),
                         .user_id = env_uuid(&w.rig->env[0]),
                         .gateway = S("manual"),
                         .idempotency_key = env_uuid(&w.rig->env[0]),
                         .claim_id = env_uuid(&w.rig->env[0]),
                         .created_ms = 1 };
    struct row row;
    enum err e;

    (void)ctx;
    assert_true(money_make(AMOUNT, S("JPY"), &p.money));
    e = payment_add(tx, &p);
    if (!e)
        e = TX_ROW(tx, STMT_transfer_add, &row, v_uuid(&p.id), V_TEXT(str_of(w.reference)),
                   V_INT(AMOUNT), V_TEXT(S("JPY")), V_TEXT(S("普通")), V_INT(2), V_INT(1));
    return e;
}

static void owe(uint64_t number)
{
    w.payment = env_uuid(&w.rig->env[0]);
    snprintf(w.reference, sizeof(w.reference), "%s", reference_make(number).text);
    assert_int_equal(rig_do(w.rig, 0, do_owe, NULL), OK);
    sql_int(w.rig, "UPDATE payments SET open_op = NULL");
}

static void payment_is(const char *status)
{
    char text[32];

    sql_text(w.rig, "SELECT status FROM payments ORDER BY id DESC LIMIT 1", text, sizeof(text));
    assert_string_equal(text, status);
}

static int64_t count(const char *table, const char *where)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE %s", table, where);
    return sql_int(w.rig, sql);
}

/* A gateway's unit under way is no work of the queue that rig_settle() would see. */
static void operations_end(void)
{
    rig_settle(w.rig);
    while (count("operations", "phase <> 'done'"))
        desk_next(&w.rig->den.desk);
    rig_settle(w.rig);
}

/* --- acts --- */

struct acting {
    struct transfer_act act;
    struct transfer_word word;
    struct line_order order;
    struct return_word returned;
    enum err (*run)(struct tx *tx, struct acting *a, struct str *ret_json);
};

static enum err do_act(struct tx *tx, void *ctx)
{
    struct acting *a = ctx;
    struct str json = { 0 };
    enum err e;

    arena_release(&w.arena);
    a->act =
        (struct transfer_act){ .payments = &w.payments, .arena = &w.arena, .user = id_of(ADMIN) };
    e = a->run(tx, a, &json);
    snprintf(w.answer, sizeof(w.answer), STR_FMT, STR_ARG(json));
    return e;
}

static enum err run_confirm(struct tx *tx, struct acting *a, struct str *ret_json)
{
    return transfer_confirm(tx, &a->act, &a->word, ret_json);
}

static enum err run_assign(struct tx *tx, struct acting *a, struct str *ret_json)
{
    return line_assign(tx, &a->act, &a->order, ret_json);
}

static enum err run_set_aside(struct tx *tx, struct acting *a, struct str *ret_json)
{
    return line_set_aside(tx, &a->act, &a->order, ret_json);
}

static enum err run_paid(struct tx *tx, struct acting *a, struct str *ret_json)
{
    return return_paid(tx, &a->act, &a->returned, ret_json);
}

static enum err confirm(int64_t amount)
{
    struct acting a = { .run = run_confirm,
                        .word = { .payment = w.payment, .amount = amount, .days = 20000 } };

    return rig_do(w.rig, 0, do_act, &a);
}

static struct uuid only_line(const char *state)
{
    char sql[128], hex[64];
    struct uuid id;

    snprintf(sql, sizeof(sql), "SELECT %s FROM bank_lines WHERE state = '%s'",
             w.rig->postgres ? "encode(id, 'hex')" : "hex(id)", state);
    sql_text(w.rig, sql, hex, sizeof(hex));
    assert_int_equal(strlen(hex), 32);
    for (int i = 0; i < 16; i++) {
        unsigned v;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
        id.b[i] = (unsigned char)v;
    }
    return id;
}

static enum err assign(struct uuid line)
{
    struct acting a = { .run = run_assign,
                        .order = { .line = line, .has_payment = true, .payment = w.payment } };

    return rig_do(w.rig, 0, do_act, &a);
}

static enum err set_aside(struct uuid line, bool to_return)
{
    struct acting a = { .run = run_set_aside,
                        .order = { .line = line, .note = S("why"), .to_return = to_return } };

    return rig_do(w.rig, 0, do_act, &a);
}

static enum err paid(struct uuid id)
{
    struct acting a = { .run = run_paid, .returned = { .id = id, .days = 20001 } };

    return rig_do(w.rig, 0, do_act, &a);
}

/* --- files --- */

static struct transfer_import im;

static enum err do_read(struct tx *tx, void *ctx)
{
    (void)ctx;
    return transfer_import_read(tx, &im);
}

static enum err do_step(struct tx *tx, void *ctx)
{
    (void)ctx;
    return transfer_import_step(tx, &im);
}

/* "new known matched open"; "problems" where the file is wrong. */
static const char *import(const char *lines, bool dry_run)
{
    static char text[64];
    char csv[4096];

    snprintf(csv, sizeof(csv), "date,amount,text\n%s", lines);
    memset(&im, 0, sizeof(im));
    im = (struct transfer_import){ .payments = &w.payments,
                                   .user = id_of(ADMIN),
                                   .csv = str_of(csv),
                                   .name = S("test.csv"),
                                   .how = { .currency = "JPY" },
                                   .dry_run = dry_run };
    transfer_import_begin(&im);
    assert_int_equal(rig_do(w.rig, 0, do_read, NULL), OK);
    while (transfer_import_next(&im)) {
        assert_int_equal(rig_do(w.rig, 0, do_step, NULL), OK);
        transfer_import_took(&im);
    }
    snprintf(text, sizeof(text), "problems");
    if (!im.problems.count) {
        assert_non_null(transfer_import_json(&im, &im.arena).p);
        snprintf(text, sizeof(text), "%d %d %d %d", (int)im.sums.added, (int)im.sums.known,
                 (int)im.sums.matched, (int)im.sums.left);
    }
    transfer_import_end(&im);
    return text;
}

static const char *line_of(int amount)
{
    static char text[128];

    snprintf(text, sizeof(text), "2026-11-16,%d,%s ヤマダ\n", amount, w.reference);
    return text;
}

/* --- tests --- */

static void a_line_captures_its_payment_once(void **state)
{
    begin(state);
    owe(1);
    assert_string_equal(import(line_of(AMOUNT), true), "1 0 1 0");
    payment_is("PENDING");
    assert_string_equal(import(line_of(AMOUNT), false), "1 0 1 0");
    payment_is("CAPTURED");
    assert_string_equal(import(line_of(AMOUNT), false), "0 1 0 0");
    assert_int_equal(count("audit", "operation = 'TRANSFER'"), 1);
    assert_int_equal(count("bank_imports", "finished_at IS NOT NULL"), 1);
    assert_int_equal(count("bank_transfers", "state = 'received' AND line_id IS NOT NULL"), 1);
    rig_settle(w.rig);
    assert_int_equal(count("message", "kind = 'booking.confirm'"), 0); /* it ran */
    finish();
}

static void two_lines_for_one_payment_in_one_file_are_one_payment(void **state)
{
    char lines[256];

    begin(state);
    owe(1);
    snprintf(lines, sizeof(lines), "%s2026-11-17,1200,%s again\n", line_of(AMOUNT), w.reference);
    assert_string_equal(import(lines, true), "2 0 1 1");
    assert_string_equal(import(lines, false), "2 0 1 1");
    assert_int_equal(count("bank_lines", "state = 'open' AND reason = 'already_paid'"), 1);
    payment_is("CAPTURED");
    finish();
}

static void another_amount_is_left(void **state)
{
    begin(state);
    owe(1);
    assert_string_equal(import(line_of(AMOUNT - 1), false), "1 0 0 1");
    assert_int_equal(count("bank_lines", "reason = 'too_little'"), 1);
    payment_is("PENDING");
    assert_int_equal(assign(only_line("open")), ERR_UNPROCESSABLE);
    assert_int_equal(set_aside(only_line("open"), false), OK);
    assert_int_equal(set_aside(only_line("set_aside"), false), OK); /* twice says what is */
    assert_int_equal(set_aside(only_line("set_aside"), true), OK);  /* and it may go back later */
    assert_int_equal(count("bank_returns", "kind = 'line' AND state = 'due'"), 1);
    assert_int_equal(paid(only_line("to_return")), OK);
    assert_int_equal(paid(only_line("returned")), OK);
    assert_int_equal(count("bank_returns", "state = 'paid'"), 1);
    assert_int_equal(count("audit", "operation = 'LINE_RETURNED'"), 1);
    finish();
}

static void an_operator_confirms_the_exact_amount_once(void **state)
{
    begin(state);
    owe(1);
    assert_int_equal(confirm(AMOUNT + 1), ERR_UNPROCESSABLE);
    payment_is("PENDING");
    assert_int_equal(confirm(AMOUNT), OK);
    assert_non_null(strstr(w.answer, "\"state\":\"received\""));
    assert_int_equal(confirm(AMOUNT), OK);
    assert_int_equal(count("audit", "operation = 'TRANSFER'"), 1);
    payment_is("CAPTURED");
    assert_string_equal(import(line_of(AMOUNT), false), "1 0 1 0"); /* the bank's word of it */
    assert_int_equal(count("bank_lines", "reason = 'confirmed_by_hand'"), 1);
    assert_int_equal(count("bank_transfers", "line_id IS NOT NULL"), 1);
    w.payment = env_uuid(&w.rig->env[0]);
    assert_int_equal(confirm(AMOUNT), ERR_NOT_FOUND);
    finish();
}

static void money_of_a_payment_that_ended_goes_back(void **state)
{
    begin(state);
    owe(1);
    sql_int(w.rig,
            "UPDATE payments SET status = 'FAILED', given_up = 1, failure_reason = 'abandoned'");
    sql_int(w.rig, "UPDATE bank_transfers SET state = 'canceled', cancel_reason = 'abandoned'");
    assert_string_equal(import(line_of(AMOUNT), false), "1 0 0 1");
    assert_int_equal(count("bank_lines", "reason = 'payment_ended'"), 1);
    assert_int_equal(assign(only_line("open")), OK);
    assert_non_null(strstr(w.answer, "\"reason\":\"too_late\""));
    operations_end();
    payment_is("FAILED");
    assert_int_equal(count("bank_transfers", "state = 'returning'"), 1);
    assert_int_equal(count("refunds", "automatic = 1 AND status = 'pending'"), 1);
    assert_int_equal(count("bank_returns", "kind = 'refund' AND state = 'due'"), 1);
    assert_int_equal(assign(only_line("assigned")), OK); /* nothing twice */
    rig_settle(w.rig);
    assert_int_equal(count("bank_returns", "1 = 1"), 1);
    finish();
}

static void a_payment_that_is_being_cancelled_is_tried_again_later(void **state)
{
    begin(state);
    owe(1);
    sql_int(w.rig, "UPDATE bank_transfers SET state = 'canceled', cancel_reason = 'x'");
    assert_int_equal(confirm(AMOUNT), ERR_UNCERTAIN);
    payment_is("PENDING");
    assert_int_equal(count("audit", "1 = 1"), 0);
    finish();
}

static void the_same_money_twice_goes_back(void **state)
{
    begin(state);
    owe(1);
    import(line_of(AMOUNT), false);
    assert_string_equal(import("2026-11-17,1200,ヤマダ\n", false), "1 0 0 1");
    assert_int_equal(assign(only_line("open")), OK);
    assert_non_null(strstr(w.answer, "\"reason\":\"paid_twice\""));
    assert_int_equal(count("bank_returns", "state = 'due' AND amount = 1200"), 1);
    assert_int_equal(paid(only_line("assigned")), OK); /* the refund has the line's id */
    assert_int_equal(count("refunds", "automatic = 1 AND status = 'succeeded'"), 1);
    payment_is("CAPTURED");
    finish();
}

static void a_step_that_fails_leaves_nothing(void **state)
{
    begin(state);
    owe(1);
    for (int i = 0; i < 2; i++) {
        const char *points[] = { "transfer.take=fail@1", "transfer.step=fail@1" };
        char csv[256];

        assert_true(faults_parse(&w.rig->store_env[0].faults, str_of(points[i])));
        snprintf(csv, sizeof(csv), "date,amount,text\n%s", line_of(AMOUNT));
        im = (struct transfer_import){ .payments = &w.payments,
                                       .user = id_of(ADMIN),
                                       .csv = str_of(csv),
                                       .name = S("test.csv"),
                                       .how = { .currency = "JPY" } };
        transfer_import_begin(&im);
        assert_int_equal(rig_do(w.rig, 0, do_read, NULL), OK);
        assert_true(transfer_import_next(&im));
        assert_int_not_equal(rig_do(w.rig, 0, do_step, NULL), OK);
        transfer_import_end(&im);
        payment_is("PENDING");
        assert_int_equal(count("bank_lines", "1 = 1"), 0);
        assert_int_equal(count("bank_imports", "1 = 1"), 0);
    }
    assert_string_equal(import(line_of(AMOUNT), false), "1 0 1 0");
    finish();
}

static void a_file_that_is_wrong_changes_nothing(void **state)
{
    begin(state);
    owe(1);
    assert_string_equal(import("2026-11-16,1200,x\nnever,1,y\n", false), "problems");
    assert_int_equal(count("bank_lines", "1 = 1"), 0);
    assert_int_equal(count("bank_imports", "1 = 1"), 0);
    assert_string_equal(import("2026-11-16,-5,out\n", false), "0 0 0 0"); /* nothing came in */
    assert_int_equal(count("bank_imports", "ignored = 1 AND deposits = 0"), 1);
    finish();
}

static enum err do_lines(struct tx *tx, void *ctx)
{
    struct transfer_page p = { .state = S("open"), .limit = 10 };
    enum err e;

    (void)ctx;
    arena_release(&w.arena);
    e = lines_page(tx, &w.arena, &p);
    snprintf(w.answer, sizeof(w.answer), STR_FMT, STR_ARG(p.data));
    return e;
}

static void an_open_line_shows_whom_it_may_have_meant(void **state)
{
    char lines[256], wrong[16];

    begin(state);
    owe(1);
    import(line_of(AMOUNT), false); /* "ヤマダ" has paid for that user */
    owe(2);
    sql_int(w.rig,
            "UPDATE payments SET user_id = (SELECT user_id FROM payments ORDER BY id LIMIT 1)");
    snprintf(wrong, sizeof(wrong), "%s", w.reference);
    wrong[4] = wrong[4] == '9' ? '0' : (char)(wrong[4] + 1);
    snprintf(lines, sizeof(lines), "2026-11-16,7,%s\n2026-11-16,8,ヤマダ\n2026-11-16,1200,スズキ\n",
             wrong);
    assert_string_equal(import(lines, false), "3 0 0 3");
    assert_int_equal(rig_do(w.rig, 0, do_lines, NULL), OK);
    assert_non_null(strstr(w.answer, "\"because\":\"reference_near\""));
    assert_non_null(strstr(w.answer, "\"because\":\"payer\""));
    assert_non_null(strstr(w.answer, "\"because\":\"amount\""));
    finish();
}

#define ALL(X)                                                                                     \
    X(a_line_captures_its_payment_once), X(two_lines_for_one_payment_in_one_file_are_one_payment), \
        X(another_amount_is_left), X(an_operator_confirms_the_exact_amount_once),                  \
        X(money_of_a_payment_that_ended_goes_back),                                                \
        X(a_payment_that_is_being_cancelled_is_tried_again_later),                                 \
        X(the_same_money_twice_goes_back), X(a_step_that_fails_leaves_nothing),                    \
        X(a_file_that_is_wrong_changes_nothing), X(an_open_line_shows_whom_it_may_have_meant)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
