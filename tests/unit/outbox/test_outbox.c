/* Domain events from the change to the subscriber. The wire is a stand-in: the test answers each
 * call itself, when it likes. */
#include "auth/standard_webhooks.h"
#include "http/client/client.h"
#include "outbox/outbox.h"
#include "payment/rows.h"
#include "unit/queue/rig.h"

#define SECRET "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
enum { CALLS = 64, MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };

static struct {
    struct rig *rig;
    struct deliveries deliveries;
    struct call *calls[CALLS]; /* on their way, oldest first */
    int count, sent, alerts;
    struct uuid subscriber, payment;
    int64_t version;
} w;

/* Instead of http/'s own. */
void client_call(struct client *c, struct call *call)
{
    (void)c;
    assert_true(w.count < CALLS);
    w.calls[w.count++] = call;
    w.sent++;
}

static void alert(void *ctx, const struct message *m, const char *why)
{
    (void)ctx, (void)m;
    assert_true(*why);
    w.alerts++;
}

static void begin(void **state)
{
    static struct job_kind kinds[1];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.deliveries = (struct deliveries){ .env = &w.rig->env[0],
                                        .store = w.rig->store[0],
                                        .executor = &w.rig->den.desk.executor };
    kinds[0] = delivery_kind(&w.deliveries);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = 1, .alert = alert });
    w.payment = env_uuid(&w.rig->env[0]);
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
}

/* --- subscribers and events --- */

struct subscribe {
    struct uuid id;
    const char *types;
};

static enum err do_subscribe(struct tx *tx, void *ctx)
{
    const struct subscribe *s = ctx;

    return TX_DO(tx, STMT_subscriber_add, 1, v_uuid(&s->id), V_TEXT(S("https://example.test/in")),
                 V_TEXT(str_of(s->types)), V_TEXT(S(SECRET)), V_INT(1));
}

static void subscribe(const char *types)
{
    struct subscribe s = { env_uuid(&w.rig->env[0]), types };

    assert_int_equal(rig_do(w.rig, 0, do_subscribe, &s), OK);
    w.subscriber = s.id;
}

struct happen {
    const char *type, *dedupe;
    struct uuid payment;
};

static enum err do_happen(struct tx *tx, void *ctx)
{
    const struct happen *h = ctx;
    struct domain_event e = { .id = env_uuid(&w.rig->env[0]),
                              .type = str_of(h->type),
                              .aggregate = h->payment,
                              .version = ++w.version,
                              .dedupe = str_of(h->dedupe),
                              .payload = S("{\"amount\":1000}"),
                              .occurred_ms = env_now_ms(&w.rig->env[0]) };
    struct arena a;
    enum err err;

    arena_init(&a, 1 << 20);
    err = outbox_add(w.rig->queue[0], tx, &a, &e);
    arena_release(&a);
    return err;
}

static void happens(const char *type, const char *dedupe)
{
    struct happen h = { type, dedupe, w.payment };

    assert_int_equal(rig_do(w.rig, 0, do_happen, &h), OK);
}

static int64_t messages(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message");
}

/* --- the wire --- */

/* The queue's own work comes and goes; the delivery reads beside it. */
static void until_calls(int n)
{
    rig_settle(w.rig);
    while (w.count < n)
        desk_next(&w.rig->den.desk);
}

static void until_no_messages(void)
{
    rig_settle(w.rig);
    while (messages()) {
        desk_next(&w.rig->den.desk);
        rig_settle(w.rig);
    }
}

static struct str sent_header(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->header_count; i++)
        if (str_eq_nocase(c->headers[i].name, str_of(name)))
            return c->headers[i].value;
    return (struct str){ 0 };
}

/* Answers the oldest call. 0: nobody was reached. */
static void answer(int status, const char *retry_after)
{
    struct call *c = w.calls[0];
    struct header h = { S("Retry-After"), str_of(retry_after) };

    until_calls(1);
    c = w.calls[0];
    w.count--;
    memmove(w.calls, w.calls + 1, (size_t)w.count * sizeof(w.calls[0]));
    c->status = status;
    c->result = status ? CALL_ANSWERED : CALL_NOT_SENT;
    snprintf(c->why, sizeof(c->why), "no route");
    c->answer_headers = &h;
    c->answer_header_count = retry_after ? 1 : 0;
    c->done(c);
    rig_settle(w.rig);
}

/* --- adding --- */

static void b2_without_subscribers_there_is_an_event_and_no_message(void **state)
{
    char body[512], want[512], at[] = "2025-10-09T08:53:20.000Z";
    char id[UUID_TEXT + 1];

    begin(state);
    happens("PaymentCreated", "CREATED");
    assert_int_equal(messages(), 0);
    sql_text(w.rig, "SELECT body FROM domain_events", body, sizeof(body));
    uuid_text(w.payment, id);
    snprintf(want, sizeof(want),
             "\",\"type\":\"PaymentCreated\",\"aggregateId\":\"%s\",\"version\":1,"
             "\"occurredAt\":\"%s\",\"payload\":{\"amount\":1000}}",
             id, at);
    assert_memory_equal(body, "{\"eventId\":\"", 12);
    assert_string_equal(body + 12 + UUID_TEXT, want);
}

static void e10_one_change_is_told_once(void **state)
{
    begin(state);
    subscribe("*");
    happens("PaymentCaptured", "CAPTURED");
    happens("PaymentCaptured", "CAPTURED");
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM domain_events"), 1);
    assert_int_equal(messages(), 1);
    answer(200, NULL);
}

static void b2_each_is_told_what_it_asked_for(void **state)
{
    static const struct {
        const char *types, *type;
        bool told;
    } rows[] = {
        { "*", "PaymentFailed", true },
        { "PaymentFailed", "PaymentFailed", true },
        { "PaymentCreated,PaymentFailed", "PaymentFailed", true },
        { "PaymentCreated,*", "PaymentFailed", true },
        { "PaymentCreated", "PaymentFailed", false },
        { "PaymentFailedBadly", "PaymentFailed", false },
        { "Payment", "PaymentFailed", false },
        { "", "PaymentFailed", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (outbox_types_have(str_of(rows[i].types), str_of(rows[i].type)) != rows[i].told)
            fail_msg("%s: %s", rows[i].types, rows[i].type);
}

static void b2_every_subscriber_has_a_message_of_its_own(void **state)
{
    begin(state);
    for (int i = 0; i < 3; i++)
        subscribe(i == 1 ? "PaymentCreated" : "*");
    sql_int(w.rig, "UPDATE subscribers SET disabled_at = 5 WHERE id ="
                   " (SELECT id FROM subscribers WHERE types = '*' ORDER BY id LIMIT 1)");
    happens("PaymentCaptured", "CAPTURED");
    assert_int_equal(messages(), 1);
    happens("PaymentCreated", "CREATED");
    assert_int_equal(messages(), 3);
    answer(200, NULL);
    answer(200, NULL);
    answer(200, NULL);
    assert_int_equal(messages(), 0);
}

/* --- delivering --- */

static void b2_a_delivery_is_signed_and_its_id_never_changes(void **state)
{
    char first[160], body[512], at[32];
    const struct call *c;

    begin(state);
    subscribe("*");
    happens("PaymentCreated", "CREATED");
    until_calls(1);
    c = w.calls[0];
    assert_true(str_eq(c->method, S("POST")));
    assert_true(str_eq(c->url, S("https://example.test/in")));
    assert_true(str_eq(sent_header(c, "Content-Type"), S("application/json")));
    sql_text(w.rig, "SELECT body FROM domain_events", body, sizeof(body));
    assert_true(str_eq(c->body, str_of(body)));
    assert_true(signing_verify(S(SECRET), sent_header(c, "webhook-id"),
                               sent_header(c, "webhook-timestamp"),
                               sent_header(c, "webhook-signature"), c->body, 1760000000));
    snprintf(first, sizeof(first), STR_FMT, STR_ARG(sent_header(c, "webhook-id")));
    assert_null(strchr(first, '.'));
    answer(500, NULL);
    rig_pass(w.rig, 5000);
    until_calls(1);
    c = w.calls[0];
    assert_true(str_eq(sent_header(c, "webhook-id"), str_of(first)));
    snprintf(at, sizeof(at), STR_FMT, STR_ARG(sent_header(c, "webhook-timestamp")));
    assert_string_equal(at, "1760000005"); /* of this attempt */
    assert_true(signing_verify(S(SECRET), str_of(first), str_of(at),
                               sent_header(c, "webhook-signature"), c->body, 1760000005));
    answer(204, NULL);
    assert_int_equal(messages(), 0);
}

static bool tells(const struct call *c, struct str type)
{
    return memmem(c->body.p, c->body.n, type.p, type.n);
}

static void b2_events_of_one_payment_arrive_in_order(void **state)
{
    bool created_first;

    begin(state);
    subscribe("*");
    happens("PaymentCreated", "CREATED");
    happens("PaymentAuthorized", "AUTHORIZED");
    w.payment = env_uuid(&w.rig->env[0]);
    happens("PaymentFailed", "FAILED"); /* of another one: not behind them */
    until_calls(2);
    assert_int_equal(w.count, 2);
    created_first = tells(w.calls[0], S("PaymentCreated")); /* two payments: in either order */
    assert_true(tells(w.calls[created_first ? 0 : 1], S("PaymentCreated")));
    assert_true(tells(w.calls[created_first ? 1 : 0], S("PaymentFailed")));
    answer(created_first ? 503 : 200, NULL); /* created waits, and authorized behind it */
    answer(created_first ? 200 : 503, NULL);
    rig_settle(w.rig);
    assert_int_equal(w.count, 0);
    rig_pass(w.rig, 5000);
    answer(200, NULL);
    until_calls(1);
    assert_true(tells(w.calls[0], S("PaymentAuthorized")));
    answer(200, NULL);
    assert_int_equal(messages(), 0);
}

static void b2_it_is_tried_for_three_days_and_then_given_up(void **state)
{
    static const int64_t gaps[] = { 5000,         5 * MINUTE_MS, 30 * MINUTE_MS,
                                    2 * HOUR_MS,  5 * HOUR_MS,   10 * HOUR_MS,
                                    14 * HOUR_MS, 20 * HOUR_MS,  24 * HOUR_MS };

    begin(state);
    subscribe("*");
    happens("PaymentCreated", "CREATED");
    for (size_t i = 0; i < COUNT(gaps); i++) {
        answer(i % 2 ? 500 : 0, NULL);
        rig_pass(w.rig, gaps[i] - 1);
        assert_int_equal(w.sent, i + 1);
        rig_pass(w.rig, 1);
        until_calls(1);
        assert_int_equal(w.sent, i + 2);
    }
    answer(500, NULL);
    assert_int_equal(messages(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 1);
    assert_int_equal(w.alerts, 1);
}

static void b2_gone_disables_the_subscriber(void **state)
{
    begin(state);
    subscribe("*");
    happens("PaymentCreated", "CREATED");
    happens("PaymentAuthorized", "AUTHORIZED");
    answer(410, NULL);
    until_no_messages(); /* the second found nobody, and called nobody */
    assert_int_equal(w.sent, 1);
    assert_int_equal(
        sql_int(w.rig, "SELECT count(*) FROM subscribers WHERE disabled_at IS NOT NULL"), 1);
    assert_int_equal(
        sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'SUBSCRIBER_DISABLE'"), 1);
    happens("PaymentCaptured", "CAPTURED");
    assert_int_equal(messages(), 0);
}

static void b2_what_was_for_a_removed_subscriber_is_done(void **state)
{
    begin(state);
    subscribe("*");
    happens("PaymentCreated", "CREATED");
    until_calls(1);
    sql_int(w.rig, "DELETE FROM subscribers");
    answer(500, NULL);
    rig_pass(w.rig, 5000);
    until_no_messages();
    assert_int_equal(w.sent, 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
}

static void b2_retry_after_puts_off_and_never_hurries(void **state)
{
    static const struct {
        const char *why;
        int64_t attempt, asked, delay;
    } rows[] = {
        { "nothing asked", 1, -1, 5000 },
        { "later", 1, 90 * 1000, 90 * 1000 },
        { "now", 3, 0, 30 * MINUTE_MS },
        { "an hour at most", 1, INT64_MAX, HOUR_MS },
        { "the last gap", 9, -1, 24 * HOUR_MS },
        { "the schedule's end", 10, 5, -1 },
        { "beyond it", 12, -1, -1 },
        { "never before the first", 0, -1, -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (delivery_delay_ms(rows[i].attempt, rows[i].asked) != rows[i].delay)
            fail_msg("%s", rows[i].why);
}

static void retry_after_is_seconds_or_a_date(void **state)
{
    static const struct {
        const char *value;
        int64_t ms;
    } rows[] = {
        { "120", 120 * 1000 },
        { "0", 0 },
        { "99999999999999", HOUR_MS },
        { "-1", -1 },
        { "", -1 },
        { "soon", -1 },
        { "1.5", -1 },
        { "Thu, 09 Oct 2025 08:54:20 GMT", 60 * 1000 },
        { "Thu, 09 Oct 2025 08:52:20 GMT", 0 }, /* it is past */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (retry_after_ms(str_of(rows[i].value), 1760000000000) != rows[i].ms)
            fail_msg("%s", rows[i].value);
}

static void b2_a_subscriber_may_ask_for_time(void **state)
{
    begin(state);
    subscribe("*");
    happens("PaymentCreated", "CREATED");
    answer(429, "60");
    rig_pass(w.rig, 59999);
    assert_int_equal(w.sent, 1);
    rig_pass(w.rig, 1);
    answer(200, NULL);
    assert_int_equal(messages(), 0);
}

static void note_stopped(void *ctx)
{
    *(bool *)ctx = true;
}

static void a_stop_waits_for_what_is_on_its_way(void **state)
{
    bool stopped = false;

    begin(state);
    subscribe("*");
    happens("PaymentCreated", "CREATED");
    until_calls(1);
    queue_stop(w.rig->queue[0], note_stopped, &stopped);
    rig_settle(w.rig);
    assert_false(stopped);
    answer(200, NULL);
    while (!stopped)
        desk_next(&w.rig->den.desk);
    assert_int_equal(messages(), 0);
    queue_free(w.rig->queue[0]);
    w.rig->queue[0] = NULL;
}

#define ALL(X)                                                                                     \
    X(b2_without_subscribers_there_is_an_event_and_no_message), X(e10_one_change_is_told_once),    \
        X(b2_each_is_told_what_it_asked_for), X(b2_every_subscriber_has_a_message_of_its_own),     \
        X(b2_a_delivery_is_signed_and_its_id_never_changes),                                       \
        X(b2_events_of_one_payment_arrive_in_order),                                               \
        X(b2_it_is_tried_for_three_days_and_then_given_up), X(b2_gone_disables_the_subscriber),    \
        X(b2_what_was_for_a_removed_subscriber_is_done),                                           \
        X(b2_retry_after_puts_off_and_never_hurries), X(retry_after_is_seconds_or_a_date),         \
        X(b2_a_subscriber_may_ask_for_time), X(a_stop_waits_for_what_is_on_its_way)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
