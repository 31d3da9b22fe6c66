/* Events to the remote, and its dead letters back (Q5). The remote is played: the test answers each
 * call itself, when it likes. */
#include "event/apply_event.h"
#include "unit/queue/rig.h"
#include "webhook/event_state.h"
#include "webhook/receive.h"
#include "webhook/remote/publish.h"
#include "webhook/remote/remote_watch.h"
#include "webhook/remote/requeue_local.h"

enum { CALLS = 16 };

static struct {
    struct rig *rig;
    struct payments payments;
    struct apply_event apply;
    struct publisher publisher;
    struct job_kind kinds[4];
    struct call *calls[CALLS];
    int count, sent, alerts;
} w;

/* --- the remote, played --- */

void client_call(struct client *c, struct call *call)
{
    (void)c;
    assert_true(w.count < CALLS);
    w.calls[w.count++] = call;
    w.sent++;
}

/* What is away waits for an answer of ours, or for a unit that comes back. */
static void settle(void)
{
    rig_settle(w.rig);
    while (w.rig->queue[0]->away > (size_t)w.count) {
        desk_next(&w.rig->den.desk);
        rig_settle(w.rig);
    }
}

static void pass(int64_t ms)
{
    atomic_fetch_add(&rig_now_ms, ms);
    settle();
}

static void answer(enum call_result result, int status, const char *text)
{
    struct call *c = w.calls[0];

    assert_true(w.count > 0);
    w.count--;
    memmove(w.calls, w.calls + 1, (size_t)w.count * sizeof(void *));
    c->result = result;
    c->status = status;
    c->answer = arena_str(c->arena, str_of(text));
    snprintf(c->why, sizeof(c->why), "%s", status ? "" : "nobody there");
    c->done(c);
    settle();
}

static void alert(void *ctx, const struct message *m, const char *why)
{
    (void)ctx, (void)m, (void)why;
    w.alerts++;
}

/* --- the world --- */

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.apply.payments = &w.payments;
    w.kinds[0] = apply_event_kind(&w.apply, 3, 1000);
    w.kinds[1] = publish_kind(&w.publisher);
    w.kinds[2] = mirror_kind(&w.publisher);
    w.kinds[3] = watch_kind(&w.publisher);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = w.kinds, .kind_count = COUNT(w.kinds) });
    w.payments = (struct payments){ .notifier.runtime = &w.payments.runtime,
                                    .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .runtime.queue = w.rig->queue[0],
                                    .runtime.executor = &w.rig->den.desk.executor };
    w.publisher = (struct publisher){ .payments = &w.payments,
                                      .apply = &w.kinds[0],
                                      .remote = true,
                                      .base = S("https://queue.example/pre"),
                                      .token = S("the-token"),
                                      .worker_url = S("https://pay.example/api/workers/w"),
                                      .alert = alert };
    queue_start(w.rig->queue[0]);
    settle();
}

#define EVENT(id)                                                                                  \
    "{\"id\":\"" id "\",\"type\":\"charge.failed\",\"livemode\":false,\"data\":{\"object\":{"      \
    "\"id\":\"ch_1\",\"object\":\"charge\",\"payment_intent\":\"pi_1\"}}}"

#define REFERENCE(id) "{\"object\":\"ichido.event\",\"id\":\"" id "\",\"type\":\"charge.failed\"}"

struct received {
    struct receive v;
    struct arena arena;
    bool back;
};

static void received(struct unit *u)
{
    struct received *r = CONTAINER_OF(u, struct received, v.unit);

    r->back = true;
}

/* As Stripe's door would store it. */
static void receive(const char *body)
{
    struct env *env = &w.rig->env[0];
    struct received *r = calloc(1, sizeof(*r));

    arena_init(&r->arena, 1 << 20);
    r->v.unit = (struct unit){ .kind = &receive_kind,
                               .executor = &w.rig->den.desk.executor,
                               .done = received };
    r->v.queue = w.rig->queue[0];
    r->v.body = str_of(body);
    r->v.request_id = S("req-1");
    strcpy(r->v.trace, "00-1-1-01");
    r->v.received_ms = env_now_ms(env);
    r->v.new_id = env_uuid(env);
    r->v.publish = true;
    r->v.publish_id = env_uuid(env);
    assert_int_equal(stripe_event_read(&r->arena, r->v.body, &r->v.event), OK);
    store_post(w.rig->store[0], &r->v.unit);
    while (!r->back)
        desk_next(&w.rig->den.desk);
    assert_int_equal(r->v.unit.err, OK);
    arena_release(&r->arena);
    free(r);
    settle();
}

static int64_t count_of(const char *rows)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", rows);
    return sql_int(w.rig, sql);
}

static int64_t published(const char *result)
{
    return metrics_read(w.rig->env[0].metrics, COUNT_PUBLISH, str_of(result));
}

static bool has_header(const struct call *c, const char *name, const char *value)
{
    for (size_t i = 0; i < c->header_count; i++)
        if (str_eq(c->headers[i].name, str_of(name)))
            return str_eq(c->headers[i].value, str_of(value));
    return false;
}

/* --- publishing --- */

static void q5_the_publish_says_all_that_the_remote_needs(void **state)
{
    const struct call *c;

    begin(state);
    receive(EVENT("evt_1"));
    c = w.calls[0];
    assert_true(str_eq(
        c->url, S("https://queue.example/pre/v2/publish/https://pay.example/api/workers/w")));
    assert_true(str_eq(c->body, S(REFERENCE("evt_1"))));
    assert_true(has_header(c, "Authorization", "Bearer the-token"));
    assert_true(has_header(c, "Upstash-Deduplication-Id", "evt_1"));
    assert_true(has_header(c, "Upstash-Retries", "3"));
    assert_true(has_header(c, "Upstash-Retry-Delay", "1000 * pow(2, retried)"));
    assert_true(has_header(c, "Upstash-Method", "POST"));
    assert_true(has_header(c, "Content-Type", "application/json"));
    assert_true(has_header(c, "Upstash-Forward-traceparent", "00-1-1-01"));
    answer(CALL_ANSWERED, 202, "{\"deduplicated\":true}");
    assert_int_equal(count_of("message"), 1);
    assert_int_equal(count_of("message WHERE kind = 'webhook.watch' AND ref = 'evt_1'"), 1);
    assert_int_equal(count_of("webhook_outcomes"), 0);
    assert_int_equal(published("sent"), 1);
    assert_int_equal(w.publisher.under_way, 0);
    assert_int_equal(w.publisher.bytes_under_way, 0);
}

static void q5_the_status_counts_where_the_rest_of_the_answer_was_lost(void **state)
{
    begin(state);
    receive(EVENT("evt_1"));
    answer(CALL_UNCERTAIN, 200, "");
    assert_int_equal(count_of("message WHERE kind = 'webhook.publish'"), 0);
    assert_int_equal(published("sent"), 1);
}

static void q5_after_the_third_failure_the_builtin_queue_has_it(void **state)
{
    begin(state);
    receive(EVENT("evt_1"));
    answer(CALL_ANSWERED, 500, "");
    assert_int_equal(w.count, 0);
    pass(249);
    assert_int_equal(w.count, 0);
    pass(1);
    answer(CALL_UNCERTAIN, 0, "");
    pass(999);
    assert_int_equal(w.count, 0);
    pass(1);
    assert_int_equal(count_of("webhook_outcomes"), 0);
    answer(CALL_NOT_SENT, 0, "");
    assert_int_equal(count_of("webhook_outcomes WHERE outcome = 'ignored'"), 1);
    assert_int_equal(count_of("webhook_events e JOIN webhook_outcomes o USING (message_id)"), 1);
    assert_int_equal(count_of("message"), 0);
    assert_int_equal(w.sent, 3);
    assert_int_equal(published("failed"), 3);
    assert_int_equal(published("fallback"), 1);
}

/* The remote got a reference; the builtin queue gets all that the event says. */
static void q5_what_is_taken_back_is_the_event_and_not_its_reference(void **state)
{
    begin(state);
    receive(EVENT("evt_1"));
    assert_true(faults_parse(&w.rig->store_env[0].faults, S("apply:charge.failed=retry")));
    for (int i = 0; i < 3; i++) {
        assert_true(str_eq(w.calls[0]->body, S(REFERENCE("evt_1"))));
        answer(CALL_ANSWERED, 500, "");
        if (i < 2)
            pass(1000);
    }
    assert_int_equal(count_of("message WHERE kind = 'stripe.event' AND lane IS NOT NULL"
                              " AND body LIKE '%charge.failed%ch_1%pi_1%'"),
                     1);
}

static enum err find(struct tx *tx, void *row)
{
    struct arena a;
    enum err e;

    arena_init(&a, 1 << 20);
    e = requeue_local_find(tx, &a, S("evt_1"), row);
    if (!e)
        assert_true(str_eq(((struct requeue_local_row *)row)->body, S(EVENT("evt_1"))));
    arena_release(&a);
    return e;
}

static void w8_what_paypay_sent_is_never_read_as_an_event_of_stripe(void **state)
{
    struct requeue_local_row row;

    begin(state);
    receive(EVENT("evt_1"));
    assert_int_equal(rig_do(w.rig, 0, find, &row), OK);
    sql_int(w.rig, "UPDATE webhook_events SET provider = 'paypay'");
    assert_int_equal(rig_do(w.rig, 0, find, &row), ERR_NOT_FOUND);
    answer(CALL_ANSWERED, 200, "");
}

/* Or nobody would see how long it took (O2): the time of an event begins where it was received. */
static void q5_what_is_taken_back_is_as_old_as_its_event(void **state)
{
    int64_t received_ms;

    begin(state);
    received_ms = atomic_load(&rig_now_ms);
    receive(EVENT("evt_1"));
    answer(CALL_ANSWERED, 500, "");
    pass(250);
    answer(CALL_ANSWERED, 500, "");
    pass(1000);
    assert_true(faults_parse(&w.rig->store_env[0].faults, S("apply:charge.failed=retry")));
    answer(CALL_ANSWERED, 500, "");
    assert_int_equal(count_of("message WHERE kind = 'stripe.event'"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT added_at FROM message WHERE kind = 'stripe.event'"),
                     received_ms);
}

static void q5_what_waits_beyond_the_limits_is_not_published(void **state)
{
    begin(state);
    w.publisher.under_way = LIMIT_PUBLISHES;
    receive(EVENT("evt_1"));
    assert_int_equal(w.sent, 0);
    assert_int_equal(count_of("webhook_outcomes"), 1);
    w.publisher.under_way = 0;
    w.publisher.bytes_under_way = LIMIT_PUBLISH_BYTES;
    receive(EVENT("evt_2"));
    assert_int_equal(w.sent, 0);
    assert_int_equal(count_of("webhook_outcomes"), 2);
    assert_int_equal(w.publisher.bytes_under_way, LIMIT_PUBLISH_BYTES);
    assert_int_equal(published("fallback"), 2);
}

static void q5_switched_back_it_is_taken_back_without_an_alert(void **state)
{
    begin(state);
    w.publisher.remote = false;
    receive(EVENT("evt_1"));
    assert_int_equal(w.sent, 0);
    assert_int_equal(count_of("webhook_outcomes"), 1);
    assert_int_equal(published("fallback"), 0);
}

static void q5_an_event_that_is_gone_is_a_dead_letter_and_no_loop(void **state)
{
    begin(state);
    receive(EVENT("evt_1"));
    answer(CALL_ANSWERED, 500, "");
    sql_int(w.rig, "DELETE FROM webhook_events");
    pass(250);
    assert_int_equal(count_of("dead_letters WHERE kind = 'webhook.publish'"), 1);
    assert_int_equal(count_of("message"), 0);
}

/* --- what the remote has taken --- */

static void publish_one(void)
{
    receive(EVENT("evt_1"));
    answer(CALL_ANSWERED, 200, "");
    assert_int_equal(count_of("message WHERE kind = 'webhook.watch'"), 1);
}

static void q5_what_does_not_come_back_is_taken_back_when_its_time_is_over(void **state)
{
    begin(state);
    publish_one();
    for (int64_t ms = 0; ms + LIMIT_WATCH_STEP_MS < LIMIT_WATCH_MS; ms += LIMIT_WATCH_STEP_MS) {
        pass(LIMIT_WATCH_STEP_MS);
        assert_int_equal(count_of("message WHERE kind = 'webhook.watch'"), 1);
    }
    pass(LIMIT_WATCH_STEP_MS - 1);
    assert_int_equal(count_of("webhook_outcomes"), 0);
    pass(1);
    assert_int_equal(count_of("webhook_outcomes WHERE outcome = 'ignored'"), 1);
    assert_int_equal(count_of("webhook_events e JOIN webhook_outcomes o USING (message_id)"), 1);
    assert_int_equal(count_of("message"), 0);
    assert_int_equal(w.sent, 1);
    assert_int_equal(published("fallback"), 1);
}

static void q5_after_a_long_sleep_it_is_taken_back_at_the_first_look(void **state)
{
    begin(state);
    publish_one();
    pass(48 * LIMIT_WATCH_MS);
    assert_int_equal(count_of("webhook_outcomes"), 1);
    assert_int_equal(count_of("message"), 0);
}

static void q5_switched_back_what_the_remote_has_is_taken_back_at_the_next_look(void **state)
{
    begin(state);
    publish_one();
    w.publisher.remote = false;
    pass(LIMIT_WATCH_STEP_MS - 1);
    assert_int_equal(count_of("webhook_outcomes"), 0);
    pass(1);
    assert_int_equal(count_of("webhook_outcomes"), 1);
    assert_int_equal(count_of("message"), 0);
    assert_int_equal(published("fallback"), 0);
}

static enum err decide(struct tx *tx, void *outcome)
{
    struct event_state s;
    enum err e = event_state_read(tx, S("evt_1"), &s);
    struct val v[] = {
        V_BLOB(uuid_bytes(&s.message)), V_TEXT(str_of(outcome)), V_NULL, V_INT(1), V_NULL, V_NULL
    };

    return e ? e : tx_bulk(tx, STMT_webhook_outcome_add, v, 1, COUNT(v), NULL, NULL);
}

/* Applied by others, or dead or given up: whatever became of it. */
static void q5_what_was_decided_meanwhile_ends_without_a_word(void **state)
{
    begin(state);
    publish_one();
    assert_int_equal(rig_do(w.rig, 0, decide, "dead"), OK);
    pass(LIMIT_WATCH_STEP_MS);
    assert_int_equal(count_of("message"), 0);
    assert_int_equal(count_of("webhook_outcomes WHERE outcome = 'dead'"), 1);
    assert_int_equal(published("fallback"), 0);
}

static void q5_what_came_back_before_the_answer_is_not_watched(void **state)
{
    begin(state);
    receive(EVENT("evt_1"));
    assert_int_equal(rig_do(w.rig, 0, decide, "applied"), OK);
    answer(CALL_ANSWERED, 200, "");
    assert_int_equal(count_of("message"), 0);
    assert_int_equal(published("sent"), 1);
}

static enum err end_watch(struct tx *tx, void *ctx)
{
    struct event_state s;
    enum err e = event_state_read(tx, S("evt_1"), &s);

    (void)ctx;
    return e ? e : remote_watch_end(tx, w.rig->queue[0], s.message, env_now_ms(&w.rig->env[0]));
}

static void q5_a_watch_ends_with_the_outcome_and_may_be_ended_twice(void **state)
{
    begin(state);
    publish_one();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_do(w.rig, 0, end_watch, NULL), OK);
        assert_int_equal(count_of("message"), 0);
    }
}

static void q5_a_watched_event_that_is_gone_is_a_dead_letter_and_no_loop(void **state)
{
    begin(state);
    publish_one();
    sql_int(w.rig, "DELETE FROM webhook_events");
    pass(LIMIT_WATCH_STEP_MS);
    assert_int_equal(count_of("dead_letters WHERE kind = 'webhook.watch'"), 1);
    assert_int_equal(count_of("message"), 0);
}

/* --- the mirror --- */

static enum err do_start(struct tx *tx, void *ctx)
{
    (void)ctx;
    return mirror_start(tx, &w.publisher, env_now_ms(&w.rig->env[0]));
}

static void look(void)
{
    rig_do(w.rig, 0, do_start, NULL); /* CONFLICT: it is there */
    pass(LIMIT_MIRROR_MS);
}

#define LETTER(id)                                                                                 \
    "{\"dlqId\":\"d-" id "\",\"responseStatus\":503,\"maxRetries\":3,\"body\":"                    \
    "\"{\\\"id\\\":\\\"" id "\\\",\\\"type\\\":\\\"charge.failed\\\",\\\"data\\\":{\\\"object\\\"" \
    ":{\\\"id\\\":\\\"ch_1\\\",\\\"object\\\":\\\"charge\\\"}}}\"}"

#define NAMING(id)                                                                                 \
    "{\"dlqId\":\"n-" id "\",\"responseStatus\":503,\"maxRetries\":4,\"body\":"                    \
    "\"{\\\"object\\\":\\\"ichido.event\\\",\\\"id\\\":\\\"" id                                    \
    "\\\",\\\"type\\\":\\\"charge.failed\\\"}\"}"

static bool asks(const char *url)
{
    bool same = w.count == 1 && str_eq(w.calls[0]->url, str_of(url));

    if (!same && w.count)
        print_message(STR_FMT "\n", STR_ARG(w.calls[0]->url));
    return same;
}

#define DLQ(count)                                                                                 \
    "https://queue.example/pre/v2/dlq?count=" count                                                \
    "&url=https%3A%2F%2Fpay.example%2Fapi%2Fworkers%2Fw"

static void q5_the_remotes_letters_come_page_by_page_each_once(void **state)
{
    begin(state);
    for (int i = 0; i < 2; i++) {
        look();
        assert_true(asks(DLQ("20")));
        answer(CALL_ANSWERED, 200, "{\"messages\":[" LETTER("evt_1") "],\"cursor\":\"a b&\"}");
        assert_true(asks(DLQ("20") "&cursor=a%20b%26"));
        answer(CALL_ANSWERED, 200, "{\"messages\":[" LETTER("evt_2") ",{},7]}");
        assert_int_equal(w.count, 0);
        assert_int_equal(count_of("dead_letters WHERE kind = 'stripe.event'"), 2);
        assert_int_equal(count_of("webhook_outcomes WHERE outcome = 'dead'"), 2);
        assert_int_equal(w.alerts, 2);
    }
    assert_int_equal(count_of("message WHERE kind = 'webhook.mirror'"), 1);
}

static void q5_a_letter_that_is_a_reference_buries_what_is_stored_and_open(void **state)
{
    static const char page[] = "{\"messages\":[" NAMING("evt_9") "," NAMING("evt_1") "," NAMING(
        "evt_2") "," NAMING("evt_3") "," LETTER("evt_4") "]}";

    begin(state);
    for (const char *const *e =
             (const char *const[]){ EVENT("evt_1"), EVENT("evt_2"), EVENT("evt_3"), NULL };
         *e; e++) {
        receive(*e);
        answer(CALL_ANSWERED, 200, "");
    }
    sql_int(w.rig, "INSERT INTO webhook_outcomes (message_id, outcome, at)"
                   " SELECT message_id, 'ignored', 1 FROM webhook_events"
                   " WHERE stripe_event_id = 'evt_2'");
    sql_int(w.rig,
            "UPDATE webhook_events SET body = substr(body, 1, 1) WHERE stripe_event_id = 'evt_3'");
    for (int i = 0; i < 2; i++) {
        look();
        answer(CALL_ANSWERED, 200, page);
        assert_int_equal(w.count, 0);
        assert_int_equal(w.publisher.dlq_unmatched, 2); /* evt_9 is unknown, evt_3 cannot be read */
        assert_int_equal(count_of("dead_letters"), 2);
        assert_int_equal(count_of("dead_letters WHERE ref = 'evt_1' AND kind = 'stripe.event'"
                                  " AND attempts = 5 AND lane IS NOT NULL AND reason LIKE"
                                  " '%n-evt_1%' AND body LIKE '%charge.failed%ch_1%pi_1%'"),
                         1);
        assert_int_equal(count_of("dead_letters WHERE ref = 'evt_4'"), 1);
        assert_int_equal(count_of("webhook_events"), 4);
        assert_int_equal(count_of("webhook_outcomes WHERE outcome = 'ignored'"), 1);
        assert_int_equal(w.alerts, 2);
    }
}

static void q5_a_page_that_is_too_large_is_asked_for_letter_by_letter(void **state)
{
    begin(state);
    look();
    answer(CALL_UNCERTAIN, 200, "");
    assert_true(asks(DLQ("1")));
    answer(CALL_ANSWERED, 200, "{\"messages\":[" LETTER("evt_1") "],\"cursor\":\"1\"}");
    assert_true(asks(DLQ("1") "&cursor=1"));
    answer(CALL_UNCERTAIN, 200, "");
    assert_int_equal(w.count, 0); /* even one is too large: in a minute again */
    assert_int_equal(count_of("dead_letters"), 1);
    look();
    assert_true(asks(DLQ("20")));
    answer(CALL_ANSWERED, 200, "{\"messages\":[]}");
}

static void q5_what_is_no_list_changes_nothing_and_is_asked_again(void **state)
{
    static const struct {
        enum call_result result;
        int status;
        const char *text;
    } rows[] = {
        { CALL_ANSWERED, 401, "{\"error\":\"no\"}" },
        { CALL_ANSWERED, 200, "" },
        { CALL_ANSWERED, 200, "[]" },
        { CALL_ANSWERED, 200, "{\"messages\":{}}" },
        { CALL_ANSWERED, 200, "{\"messages\":[]" },
        { CALL_NOT_SENT, 0, "" },
        { CALL_ANSWERED, 200, "{\"messages\":[{\"body\":\"{}\"},{\"body\":7},null],\"cursor\":9}" },
    };

    begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        look();
        assert_true(asks(DLQ("20")));
        answer(rows[i].result, rows[i].status, rows[i].text);
        assert_int_equal(w.count, 0);
    }
    assert_int_equal(count_of("dead_letters"), 0);
    assert_int_equal(count_of("webhook_events"), 0);
    assert_int_equal(count_of("message"), 1);
}

static void q5_without_a_remote_the_mirror_ends(void **state)
{
    begin(state);
    rig_do(w.rig, 0, do_start, NULL);
    w.publisher.remote = false;
    pass(LIMIT_MIRROR_MS);
    assert_int_equal(w.sent, 0);
    assert_int_equal(count_of("message"), 0);
}

#define ALL(ON)                                                                                    \
    ON(q5_the_publish_says_all_that_the_remote_needs),                                             \
        ON(q5_the_status_counts_where_the_rest_of_the_answer_was_lost),                            \
        ON(q5_after_the_third_failure_the_builtin_queue_has_it),                                   \
        ON(q5_what_is_taken_back_is_the_event_and_not_its_reference),                              \
        ON(w8_what_paypay_sent_is_never_read_as_an_event_of_stripe),                               \
        ON(q5_what_is_taken_back_is_as_old_as_its_event),                                          \
        ON(q5_what_waits_beyond_the_limits_is_not_published),                                      \
        ON(q5_switched_back_it_is_taken_back_without_an_alert),                                    \
        ON(q5_an_event_that_is_gone_is_a_dead_letter_and_no_loop),                                 \
        ON(q5_what_does_not_come_back_is_taken_back_when_its_time_is_over),                        \
        ON(q5_after_a_long_sleep_it_is_taken_back_at_the_first_look),                              \
        ON(q5_switched_back_what_the_remote_has_is_taken_back_at_the_next_look),                   \
        ON(q5_what_was_decided_meanwhile_ends_without_a_word),                                     \
        ON(q5_what_came_back_before_the_answer_is_not_watched),                                    \
        ON(q5_a_watch_ends_with_the_outcome_and_may_be_ended_twice),                               \
        ON(q5_a_watched_event_that_is_gone_is_a_dead_letter_and_no_loop),                          \
        ON(q5_the_remotes_letters_come_page_by_page_each_once),                                    \
        ON(q5_a_letter_that_is_a_reference_buries_what_is_stored_and_open),                        \
        ON(q5_a_page_that_is_too_large_is_asked_for_letter_by_letter),                             \
        ON(q5_what_is_no_list_changes_nothing_and_is_asked_again),                                 \
        ON(q5_without_a_remote_the_mirror_ends)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
