/* Deliveries from the queue to the call and back. The wire is a stand-in: the test answers each
 * call itself, when it likes. */
#include "auth/upstash.h"
#include "base/limits.h"
#include "http/client/client.h"
#include "payment/rows.h"
#include "qstash/admin/keys.h"
#include "qstash/deliver/destinations.h"
#include "qstash/rows.h"
#include "unit/queue/rig.h"

enum { CALLS = 4096, LATER = 13 * 1000 };

static struct {
    struct rig *rig;
    struct qstash q;
    struct upstash_keys keys;
    struct call *calls[CALLS]; /* on their way, oldest first */
    int count, sent;
    _Atomic int followed;
} w;

static struct destinations *known, *other; /* of the test before: its queues are gone by now */

/* Instead of http/'s own. */
void client_call(struct client *c, struct call *call)
{
    (void)c;
    assert_true(w.count < CALLS);
    w.calls[w.count++] = call;
    w.sent++;
}

/* Instead of keys.c's, which is another test's matter. */
enum err keys_follow(struct qstash *q, struct tx *tx)
{
    (void)q, (void)tx;
    w.followed++;
    return OK;
}

static void start(void)
{
    static struct job_kind kinds[2];

    kinds[0] = qstash_deliver_kind(&w.q);
    kinds[1] = qstash_window_kind(&w.q);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.q.queue = w.rig->queue[0];
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
}

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    upstash_keys_init(&w.keys);
    upstash_keys_set(&w.keys, S("sig_0123456789abcdefghijklmnop"), S("sig_next"));
    destinations_free(known);
    known = destinations_new(&w.rig->env[0]);
    w.q.env = &w.rig->env[0];
    w.q.store = w.rig->store[0];
    w.q.executor = &w.rig->den.desk.executor;
    w.q.keys = &w.keys;
    w.q.destinations = known;
    start();
}

/* --- publishing --- */

struct wish {
    const char *url, *queue, *flow, *callbacks;
    struct flow_limits limits;
    int64_t retries, timeout_ms;
    int count;
    struct uuid first;
};

static enum err do_publish(struct tx *tx, void *ctx)
{
    struct wish *h = ctx;
    int64_t now_ms = env_now_ms(w.q.env);
    enum err e = OK;

    for (int i = 0; i < (h->count ? h->count : 1) && !e; i++) {
        struct parcel p = { .id = env_uuid(w.q.env),
                            .created_ms = now_ms,
                            .not_before_ms = now_ms,
                            .method = S("POST"),
                            .header = S("{\"Content-Type\":[\"text/plain\"]}"),
                            .retries = h->retries,
                            .timeout_ms = h->timeout_ms,
                            .body = S("secret-body"),
                            .callbacks = str_of(h->callbacks),
                            .queue = str_of(h->queue),
                            .flow_key = str_of(h->flow),
                            .flow = h->limits,
                            .caller_ip = S("127.0.0.1") };

        p.flow.period_s = p.flow.period_s ? p.flow.period_s : 1;
        assert_true(parcel_set_url(&p, str_of(h->url)));
        if (!i)
            h->first = p.id;
        e = parcel_post(&w.q, tx, &p);
    }
    return e;
}

static struct uuid publish(struct wish h)
{
    h.url = h.url ? h.url : "http://a.test/in?token=secret-query";
    assert_int_equal(rig_do(w.rig, 0, do_publish, &h), OK);
    return h.first;
}

static enum err do_cancel(struct tx *tx, void *ctx)
{
    int64_t count;

    return parcels_cancel(&w.q, tx, ctx, 1, &count);
}

static void cancel(struct uuid id)
{
    assert_int_equal(rig_do(w.rig, 0, do_cancel, &id), OK);
}

/* --- the wire --- */

/* Begin units are the deliveries' own: the queue's rest says nothing about them. */
static void until_calls(int n)
{
    rig_settle(w.rig);
    while (w.count < n)
        desk_next(&w.rig->den.desk);
    rig_settle(w.rig);
}

static struct call *take(int at)
{
    struct call *c;

    until_calls(at + 1);
    c = w.calls[at];
    w.count--;
    memmove(w.calls + at, w.calls + at + 1, (size_t)(w.count - at) * sizeof(w.calls[0]));
    return c;
}

static void answer_call(struct call *c, int status)
{
    c->status = status;
    c->result = status ? CALL_ANSWERED : CALL_UNCERTAIN;
    c->answer = S("said");
    if (!status)
        snprintf(c->why, sizeof(c->why), "Timeout was reached");
    c->done(c);
}

static void answer(int status) /* the oldest call; 0: nobody was reached */
{
    answer_call(take(0), status);
    rig_settle(w.rig);
}

static void fail_for_our_own_reasons(struct call *c)
{
    c->result = CALL_UNCERTAIN;
    c->ours = true;
    c->done(c);
}

static struct str sent_header(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->header_count; i++)
        if (str_eq_nocase(c->headers[i].name, str_of(name)))
            return c->headers[i].value;
    return (struct str){ 0 };
}

static struct str host_of(const struct call *c)
{
    struct parcel p = { 0 };

    assert_true(parcel_set_url(&p, c->url));
    return p.host;
}

/* A queue that stops waits for its calls, also for one that began in the last moment. */
static void end(void)
{
    bool stopped = false;

    rig_settle(w.rig);
    queue_stop(w.rig->queue[0], rig_note_stopped, &stopped);
    while (!stopped) {
        while (w.count)
            fail_for_our_own_reasons(take(0));
        if (!stopped)
            desk_next(&w.rig->den.desk);
    }
    assert_int_equal(atomic_load(&w.q.in_flight), 0);
    queue_free(w.rig->queue[0]);
    w.rig->queue[0] = NULL;
}

/* --- looking --- */

static int64_t ask(const char *sql)
{
    return sql_int(w.rig, sql);
}

static int64_t logged(enum qstash_state state)
{
    char sql[80];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM qstash_log WHERE state = %d", (int)state);
    return ask(sql);
}

static int64_t live(void)
{
    return ask("SELECT count(*) FROM qstash_live");
}

static int64_t counted(const char *result)
{
    return metrics_read(w.q.env->metrics, COUNT_DELIVERY, str_of(result));
}

static bool log_says(const char *text)
{
    static char all[4 << 20];
    ssize_t n = pread(w.rig->log_fd, all, sizeof(all) - 1, 0);

    all[n > 0 ? n : 0] = '\0';
    return strstr(all, text);
}

#define assert_str(s, text)                                                                        \
    do {                                                                                           \
        struct str got_ = (s);                                                                     \
        if (!str_eq(got_, str_of(text)))                                                           \
            fail_msg("got " STR_FMT ", wanted %s", STR_ARG(got_), text);                           \
    } while (0)

/* --- one attempt after the other --- */

static void q9_a_parcel_is_called_once_and_ends(void **state)
{
    struct call *c;

    begin(state);
    publish((struct wish){ .timeout_ms = 1500 });
    c = take(0);
    assert_str(c->method, "POST");
    assert_str(c->url, "http://a.test/in?token=secret-query");
    assert_str(c->body, "secret-body");
    assert_str(sent_header(c, "Content-Type"), "text/plain");
    assert_str(sent_header(c, "Upstash-Retried"), "0");
    assert_int_equal(c->timeout_ms, 1500);
    assert_int_equal(c->answer_max, LIMIT_QSTASH_ANSWER);
    assert_true(c->cut_answer);
    assert_int_equal(atomic_load(&w.q.in_flight), 1);
    assert_int_equal(logged(QSTASH_ACTIVE), 1);
    assert_true(w.followed > 0);
    answer_call(c, 204);
    rig_settle(w.rig);
    assert_int_equal(atomic_load(&w.q.in_flight), 0);
    assert_int_equal(live(), 0);
    assert_int_equal(ask("SELECT count(*) FROM message"), 0);
    assert_int_equal(logged(QSTASH_DELIVERED), 1);
    assert_int_equal(counted("delivered"), 1);
    end();
}

static void q3_a_failed_one_comes_again_with_its_count_and_the_same_id(void **state)
{
    char id[MESSAGE_ID_TEXT + 1];

    begin(state);
    message_id_text(publish((struct wish){ .retries = 3 }), id);
    for (int i = 0; i < 4; i++) {
        char count[16];
        struct call *c = take(0);

        snprintf(count, sizeof(count), "%d", i);
        assert_str(sent_header(c, "Upstash-Retried"), count);
        assert_str(sent_header(c, "Upstash-Message-Id"), id);
        assert_str(sent_header(c, "webhook-id"), id);
        assert_int_equal(c->timeout_ms, LIMIT_QSTASH_ATTEMPT_MS);
        answer_call(c, i == 3 ? 200 : 503);
        rig_settle(w.rig);
        if (i == 3)
            break;
        assert_int_equal(w.count, 0); /* not before its time */
        rig_pass(w.rig, 7 * 3600 * 1000);
    }
    assert_int_equal(logged(QSTASH_ERROR), 3);
    assert_int_equal(logged(QSTASH_RETRY), 3);
    assert_int_equal(logged(QSTASH_DELIVERED), 1);
    assert_int_equal(counted("retried"), 3);
    end();
}

static void q3_the_first_retry_waits_for_the_backoff(void **state)
{
    begin(state);
    publish((struct wish){ .retries = 1 });
    answer(500);
    rig_pass(w.rig, 12181);
    assert_int_equal(w.count, 0);
    rig_pass(w.rig, 2);
    until_calls(1);
    end();
}

static void q3_the_last_failure_is_a_dead_letter_and_tells_no_secrets(void **state)
{
    begin(state);
    publish((struct wish){ .retries = 0 });
    publish((struct wish){ .retries = 5 });
    answer(500);
    {
        struct header h = { S("Upstash-NonRetryable-Error"), S("true") };
        struct call *c = take(0);

        c->answer_headers = &h;
        c->answer_header_count = 1;
        answer_call(c, 489);
        rig_settle(w.rig);
    }
    assert_int_equal(live(), 0);
    assert_int_equal(logged(QSTASH_FAILED), 2);
    assert_int_equal(ask("SELECT count(*) FROM qstash_dead"), 2);
    assert_int_equal(ask("SELECT count(*) FROM dead_letters"), 2);
    assert_int_equal(counted("dead"), 2);
    assert_true(log_says("A message became a dead letter"));
    assert_true(log_says("\"host\":\"a.test\""));
    assert_false(log_says("secret-query"));
    assert_false(log_says("secret-body"));
    assert_true(log_says("\"status\":500"));
    assert_false(log_says("\"why\":\"\"")); /* a status says it all */
    publish((struct wish){ .retries = 0 });
    answer(0);
    assert_true(log_says("\"why\":\"Timeout was reached\""));
    end();
}

static void q9_callbacks_follow_every_attempt(void **state)
{
    begin(state);
    publish((struct wish){ .retries = 1,
                           .callbacks = "{\"callback\":{\"url\":\"http://back.test/c\"},"
                                        "\"failure\":{\"url\":\"http://back.test/f\"}}" });
    answer(500);
    until_calls(1);
    assert_str(w.calls[0]->url, "http://back.test/c");
    answer(200);
    rig_pass(w.rig, LATER);
    answer(500);
    until_calls(2);
    assert_str(w.calls[0]->url, "http://back.test/c");
    assert_str(w.calls[1]->url, "http://back.test/f");
    assert_str(sent_header(w.calls[1], "Content-Type"), "application/json");
    answer(200);
    answer(500); /* it has a retry of its own, as its source had */
    rig_pass(w.rig, LATER);
    answer(200);
    assert_int_equal(live(), 0);
    end();
}

/* --- cancelled --- */

static void one_that_is_cancelled_under_way_ends_with_its_attempt(void **state)
{
    struct uuid lost, kept;

    begin(state);
    lost = publish((struct wish){ .retries = 9 });
    kept = publish((struct wish){ .retries = 9 });
    until_calls(2);
    cancel(lost);
    cancel(kept);
    answer(500);
    answer(200); /* what was delivered was delivered */
    assert_int_equal(live(), 0);
    assert_int_equal(logged(QSTASH_CANCELED), 1);
    assert_int_equal(logged(QSTASH_DELIVERED), 1);
    assert_int_equal(w.sent, 2);
    end();
}

/* --- crashes and our own trouble --- */

/* Its timers never fire again: it renews nothing and fetches nothing. */
static void first_node_dies(void)
{
    memset(w.rig->den.timers, 0, sizeof(w.rig->den.timers));
}

static void second_node_starts(void)
{
    static struct job_kind kinds[1];
    static struct qstash q;

    destinations_free(other);
    other = destinations_new(&w.rig->env[1]);
    q = (struct qstash){ .env = &w.rig->env[1],
                         .store = w.rig->store[1],
                         .executor = w.q.executor,
                         .keys = &w.keys,
                         .destinations = other };
    kinds[0] = qstash_deliver_kind(&q);
    rig_queue(w.rig, 1, (struct queue_options){ .kinds = kinds, .kind_count = 1 });
    q.queue = w.rig->queue[1];
    queue_start(w.rig->queue[1]);
}

static void q7_killed_between_call_and_commit_the_same_attempt_is_made_again(void **state)
{
    char id[MESSAGE_ID_TEXT + 1];
    struct call *late, *c;

    begin(state);
    message_id_text(publish((struct wish){ .retries = 3, .queue = "q" }), id);
    publish((struct wish){ .retries = 3, .queue = "q" });
    late = take(0);
    first_node_dies();
    rig_pass(w.rig, LIMIT_LEASE_MS + 1);
    second_node_starts();
    c = take(0);
    assert_str(sent_header(c, "Upstash-Message-Id"), id);
    assert_str(sent_header(c, "Upstash-Retried"), "0");
    assert_int_equal(logged(QSTASH_ACTIVE), 2);
    answer_call(late, 500); /* it is not dead after all: its word does not count any more */
    rig_settle(w.rig);
    assert_int_equal(logged(QSTASH_ERROR), 0);
    answer_call(c, 200);
    until_calls(1);
    assert_int_equal(logged(QSTASH_DELIVERED), 1);
    answer(200);
    assert_int_equal(live(), 0);
    end();
}

static void what_is_our_own_fault_costs_no_retry(void **state)
{
    begin(state);
    publish((struct wish){ .retries = 0 });
    for (int i = 0; i < 10; i++) {
        fail_for_our_own_reasons(take(0));
        rig_settle(w.rig);
        assert_int_equal(live(), 1);
        rig_pass(w.rig, 1000);
    }
    answer(200);
    assert_int_equal(logged(QSTASH_DELIVERED), 1);
    assert_int_equal(logged(QSTASH_ERROR), 0);
    end();
}

static void without_a_key_nothing_leaves(void **state)
{
    begin(state);
    upstash_keys_set(&w.keys, S(""), S(""));
    publish((struct wish){ .retries = 0 });
    rig_settle(w.rig);
    while (!ask("SELECT count(*) FROM message WHERE last_error IS NOT NULL")) {
        desk_next(&w.rig->den.desk);
        rig_settle(w.rig);
    }
    assert_int_equal(w.sent, 0);
    upstash_keys_set(&w.keys, S("sig_0123456789abcdefghijklmnop"), S(""));
    rig_pass(w.rig, 1000);
    answer(200);
    assert_int_equal(live(), 0);
    end();
}

static enum err do_spoil(struct tx *tx, void *ctx)
{
    struct queue_new m = { .id = env_uuid(w.q.env),
                           .kind = QSTASH_DELIVER_KIND,
                           .body = S("nonsense"),
                           .due_ms = env_now_ms(w.q.env) };

    (void)ctx;
    return queue_add(w.q.queue, tx, m.due_ms, &m, 1);
}

static void q12_a_message_that_says_nothing_stops_nobody(void **state)
{
    begin(state);
    assert_int_equal(rig_do(w.rig, 0, do_spoil, NULL), OK);
    publish((struct wish){ 0 });
    answer(200);
    while (ask("SELECT count(*) FROM message")) {
        desk_next(&w.rig->den.desk);
        rig_settle(w.rig);
    }
    assert_int_equal(logged(QSTASH_DELIVERED), 1);
    assert_int_equal(ask("SELECT count(*) FROM dead_letters"), 1);
    end();
}

/* --- destinations --- */

static void a_silent_destination_is_left_alone_and_costs_nobody_a_retry(void **state)
{
    int sent;

    begin(state);
    for (int i = 0; i < LIMIT_QSTASH_SILENT; i++)
        publish((struct wish){ .retries = 0 });
    until_calls(LIMIT_QSTASH_SILENT);
    atomic_fetch_add(&rig_now_ms, 2000); /* each of them took two seconds */
    for (int i = 0; i < LIMIT_QSTASH_SILENT; i++)
        answer(0);
    assert_int_equal(logged(QSTASH_FAILED), LIMIT_QSTASH_SILENT);
    sent = w.sent;
    publish((struct wish){ .retries = 0, .count = 10 });
    publish((struct wish){ .retries = 0, .url = "http://b.test/" });
    until_calls(1);
    assert_str(host_of(w.calls[0]), "b.test"); /* the next one is another's */
    answer(200);
    assert_int_equal(w.sent, sent + 1);
    assert_int_equal(counted("put_off"), 10);
    assert_int_equal(logged(QSTASH_ACTIVE), LIMIT_QSTASH_SILENT + 1);
    assert_int_equal(live(), 10);
    rig_pass(w.rig, 2000);
    until_calls(1);
    assert_int_equal(w.count, 1); /* one is let through */
    answer(500);                  /* and is answered: the breaker closes */
    rig_pass(w.rig, 60 * 1000);
    until_calls(9);
    while (w.count)
        answer(200);
    assert_int_equal(live(), 0);
    assert_int_equal(logged(QSTASH_DELIVERED), 10); /* nine of them, and b.test's */
    end();
}

static void q9_a_dead_destination_does_not_keep_its_flow_keys_tokens(void **state)
{
    begin(state);
    for (int i = 0; i < LIMIT_QSTASH_SILENT; i++)
        publish((struct wish){ .url = "http://dead.test/" });
    until_calls(LIMIT_QSTASH_SILENT);
    atomic_fetch_add(&rig_now_ms, 30000);
    for (int i = 0; i < LIMIT_QSTASH_SILENT; i++)
        answer(0);
    publish((struct wish){ .url = "http://good.test/", .flow = "k", .limits = { 1, 0, 1 } });
    until_calls(1);
    publish((struct wish){ .url = "http://dead.test/", .flow = "k", .limits = { 1, 0, 1 } });
    publish((struct wish){ .url = "http://good.test/", .flow = "k", .limits = { 1, 0, 1 } });
    rig_settle(w.rig);
    answer(200); /* the token goes to dead.test's, which gives it on */
    until_calls(1);
    assert_str(host_of(w.calls[0]), "good.test");
    answer(200);
    assert_int_equal(ask("SELECT running FROM qstash_flows"), 0);
    assert_int_equal(live(), 1);
    end();
}

static void q9_a_queue_runs_in_order_through_the_worker(void **state)
{
    begin(state);
    publish((struct wish){ .queue = "q", .count = 20 });
    for (int i = 0; i < 20; i++) {
        until_calls(1);
        assert_int_equal(w.count, 1);
        answer(200);
    }
    rig_settle(w.rig);
    assert_int_equal(live(), 0);
    assert_int_equal(ask("SELECT lag + running FROM qstash_queues"), 0);
    end();
}

/* One receiver accepts and never answers. Another one's parcels, published behind its own, are
 * called while none of those has ended. */
static void q9_a_black_hole_holds_up_nobody(void **state)
{
    enum { HOLE = LIMIT_OUTSIDE + 500, GOOD = 500 };
    int good = 0;

    begin(state);
    for (int i = 0; i < HOLE; i += 500)
        publish((struct wish){ .url = "http://hole.test/", .count = 500 });
    for (int i = 0; i < GOOD; i += 500)
        publish((struct wish){ .url = "http://good.test/", .count = 500 });
    while (good < GOOD) {
        int at = -1;

        for (int i = 0; i < w.count && at < 0; i++)
            if (str_eq(host_of(w.calls[i]), S("good.test")))
                at = i;
        if (at < 0) {
            if (!den_fire(&w.rig->den))
                desk_next(&w.rig->den.desk);
            continue;
        }
        answer_call(w.calls[at], 200);
        w.calls[at] = w.calls[--w.count];
        good++;
    }
    assert_in_range(w.count, 1, LIMIT_QSTASH_PER_HOST);
    rig_settle(w.rig);
    assert_int_equal(logged(QSTASH_DELIVERED), GOOD);
    assert_int_equal(live(), HOLE);
    assert_in_range(counted("put_off"), 1, HOLE + 1000);
    end();
}

#define ALL(ON)                                                                                    \
    ON(q9_a_parcel_is_called_once_and_ends),                                                       \
        ON(q3_a_failed_one_comes_again_with_its_count_and_the_same_id),                            \
        ON(q3_the_first_retry_waits_for_the_backoff),                                              \
        ON(q3_the_last_failure_is_a_dead_letter_and_tells_no_secrets),                             \
        ON(q9_callbacks_follow_every_attempt),                                                     \
        ON(one_that_is_cancelled_under_way_ends_with_its_attempt),                                 \
        ON(q7_killed_between_call_and_commit_the_same_attempt_is_made_again),                      \
        ON(what_is_our_own_fault_costs_no_retry), ON(without_a_key_nothing_leaves),                \
        ON(q12_a_message_that_says_nothing_stops_nobody),                                          \
        ON(a_silent_destination_is_left_alone_and_costs_nobody_a_retry),                           \
        ON(q9_a_dead_destination_does_not_keep_its_flow_keys_tokens),                              \
        ON(q9_a_queue_runs_in_order_through_the_worker), ON(q9_a_black_hole_holds_up_nobody)

int main(void)
{
    const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };
    int failed;

    rig_patience = 10; /* hundreds of rows in one unit */
    failed = RUN_BOTH(sqlite, postgres);

    destinations_free(known);
    destinations_free(other);
    return failed;
}
