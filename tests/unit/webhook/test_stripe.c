/* The door with its store and queue; HTTP is played by the test: it makes the requests and keeps
 * the replies. */
#include "event/apply_event.h"
#include "unit/queue/rig.h"
#include "webhook/allow.h"
#include "webhook/stripe.h"

#include <arpa/inet.h>
#include <openssl/hmac.h>

#define SECRET "whsec_test_secret_of_the_door"
#define OLD_SECRET "whsec_test_secret_before_that"

struct visit {
    struct request r;
    struct header headers[4];
    char signature[256], ip[64];
    int status;
    enum err problem;
    char detail[200], event_id[300], message_id[64], body[64];
};

/* --- HTTP, played --- */

static struct visit *visit_of(const struct request *r)
{
    return CONTAINER_OF(r, struct visit, r);
}

struct str request_header(const struct request *r, struct str name, size_t *ret_count)
{
    struct str value = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < r->header_count; i++)
        if (str_eq_nocase(r->headers[i].name, name) && !count++)
            value = r->headers[i].value;
    if (ret_count)
        *ret_count = count;
    return value;
}

void reply_header(struct request *r, struct str name, struct str value)
{
    struct visit *v = visit_of(r);

    if (str_eq(name, S("X-Event-Id")))
        snprintf(v->event_id, sizeof(v->event_id), STR_FMT, STR_ARG(value));
    if (str_eq(name, S("X-Message-Id")))
        snprintf(v->message_id, sizeof(v->message_id), STR_FMT, STR_ARG(value));
}

void reply_send(struct request *r, int status, struct str content_type, struct str body)
{
    struct visit *v = visit_of(r);

    (void)content_type;
    assert_int_equal(v->status, 0); /* one reply a request */
    v->status = status;
    snprintf(v->body, sizeof(v->body), STR_FMT, STR_ARG(body));
    arena_release(&r->arena); /* a real request would be gone, too */
}

void reply_problem(struct request *r, enum err e, const char *detail)
{
    struct visit *v = visit_of(r);

    assert_int_equal(v->status, 0);
    v->problem = e;
    v->status = err_status(e);
    snprintf(v->detail, sizeof(v->detail), "%s", detail ? detail : "");
    arena_release(&r->arena);
}

/* --- requests --- */

static struct apply_event apply;
static struct job_kind kind;
static struct stripe_door *door;
static int alerts;

static void alert(void *ctx, const struct message *m, const char *why)
{
    (void)ctx, (void)m, (void)why;
    alerts++;
}

static void sign(char header[256], const char *secret, int64_t t, struct str body)
{
    unsigned char mac[32];
    char *signed_bytes = malloc(body.n + 32);
    int n = sprintf(signed_bytes, "%lld.", (long long)t);

    memcpy(signed_bytes + n, body.p, body.n);
    HMAC(EVP_sha256(), secret, (int)strlen(secret), (unsigned char *)signed_bytes,
         (size_t)n + body.n, mac, NULL);
    free(signed_bytes);
    n = sprintf(header, "t=%lld,v1=", (long long)t);
    for (size_t i = 0; i < sizeof(mac); i++)
        n += sprintf(header + n, "%02x", mac[i]);
}

static void visit_init(struct visit *v, struct rig *r, struct str body)
{
    memset(v, 0, sizeof(*v));
    arena_init(&v->r.arena, LIMIT_REQUEST_ARENA);
    sign(v->signature, SECRET, atomic_load(&rig_now_ms) / 1000, body);
    v->headers[0] = (struct header){ S("Stripe-Signature"), str_of(v->signature) };
    v->r.executor = &r->den.desk.executor;
    v->r.env = &r->env[0];
    v->r.headers = v->headers;
    v->r.header_count = 1;
    v->r.body = body;
    v->r.id = S("req-1");
    v->r.trace = trace_new(&r->env[0].rng);
    v->r.began_us = clock_mono_us(&r->env[0].clock);
    v->r.peer.ss_family = AF_INET;
    inet_pton(AF_INET, "203.0.113.9", &((struct sockaddr_in *)&v->r.peer)->sin_addr);
    v->r.peer_ip = S("203.0.113.9");
}

static void knock(struct rig *r, struct visit *v)
{
    stripe_door_handle(&v->r, door);
    while (!v->status)
        desk_next(&r->den.desk);
}

static struct visit deliver(struct rig *r, const char *body)
{
    struct visit v;

    visit_init(&v, r, str_of(body));
    knock(r, &v);
    return v;
}

static struct rig *begin_with(void **state, struct stripe_door_options o)
{
    static const struct str secrets[] = { { SECRET, sizeof(SECRET) - 1 },
                                          { OLD_SECRET, sizeof(OLD_SECRET) - 1 } };
    struct rig *r = *state;
    struct why why;

    alerts = 0;
    apply = (struct apply_event){ .expect_livemode = false };
    kind = apply_event_kind(&apply, 3, 1000);
    rig_queue(r, 0, (struct queue_options){ .kinds = &kind, .kind_count = 1 });
    o.env = &r->env[0];
    o.store = r->store[0];
    o.queue = r->queue[0];
    o.executor = &r->den.desk.executor;
    o.secrets = secrets;
    o.secret_count = COUNT(secrets);
    o.alert = alert;
    door = stripe_door_new(&o, &why);
    assert_non_null(door);
    return r;
}

static struct rig *begin(void **state)
{
    struct rig *r = begin_with(state, (struct stripe_door_options){ .ack = 204 });

    queue_start(r->queue[0]);
    rig_settle(r);
    return r;
}

static void end(struct rig *r)
{
    bool stopped = false;

    rig_settle(r);
    stripe_door_stop(door, rig_note_stopped, &stopped);
    while (!stopped)
        desk_next(&r->den.desk);
    stripe_door_free(door);
}

static int64_t count_of(struct rig *r, const char *table)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    return sql_int(r, sql);
}

#define EVENT(id)                                                                                  \
    "{\"id\":\"" id "\",\"type\":\"payment_intent.succeeded\",\"livemode\":false,"                 \
    "\"created\":1760000000,\"data\":{\"object\":{\"id\":\"pi_1\","                                \
    "\"object\":\"payment_intent\"}}}"

/* --- */

static void w2_a_signed_event_is_stored_and_acknowledged(void **state)
{
    struct rig *r = begin(state);
    struct visit v = deliver(r, EVENT("evt_1"));
    char text[400];

    assert_int_equal(v.status, 204);
    assert_string_equal(v.body, "");
    assert_string_equal(v.event_id, "evt_1");
    assert_int_equal(strlen(v.message_id), UUID_TEXT);
    sql_text(r,
             "SELECT stripe_event_id || '/' || type || '/' || livemode || '/' || created_at || "
             "'/' || request_id FROM webhook_events",
             text, sizeof(text));
    assert_string_equal(text, "evt_1/payment_intent.succeeded/0/1760000000000/req-1");
    rig_settle(r);
    assert_int_equal(count_of(r, "webhook_outcomes WHERE outcome = 'processed'"), 1);
    assert_int_equal(count_of(r, "message"), 0);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_WEBHOOK_RECEIVED, S("")), 1);
    end(r);
}

static void w2_the_answer_of_003_is_a_setting(void **state)
{
    struct rig *r = begin_with(state, (struct stripe_door_options){ .ack = 200 });
    struct visit v = deliver(r, EVENT("evt_1"));

    assert_int_equal(v.status, 200);
    assert_string_equal(v.body, "{\"received\":true}");
    end(r);
}

static void w4_a_repeated_event_id_changes_nothing(void **state)
{
    struct rig *r = begin(state);
    struct visit first = deliver(r, EVENT("evt_1")), again;

    rig_settle(r);
    rig_pass(r, INT64_C(30) * 24 * 3600 * 1000);
    for (int i = 0; i < 3; i++) {
        again = deliver(r, EVENT("evt_1"));
        assert_int_equal(again.status, 204);
        assert_string_equal(again.event_id, "evt_1");
        assert_string_equal(again.message_id, first.message_id);
    }
    rig_settle(r);
    assert_int_equal(count_of(r, "webhook_events"), 1);
    assert_int_equal(count_of(r, "webhook_outcomes"), 1);
    assert_int_equal(count_of(r, "message"), 0);
    assert_int_equal(sql_int(r, "SELECT times FROM webhook_duplicates"), 3);
    assert_int_equal(sql_int(r, "SELECT last_at FROM webhook_duplicates"),
                     atomic_load(&rig_now_ms));
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_WEBHOOK_DUPLICATE, S("")), 3);
    end(r);
}

static void w4_the_same_event_many_times_at_once_is_one_message(void **state)
{
    struct rig *r = begin(state);
    static struct visit v[60];

    for (size_t i = 0; i < COUNT(v); i++) {
        visit_init(&v[i], r, i % 3 ? str_of(EVENT("evt_same")) : str_of(EVENT("evt_other")));
        stripe_door_handle(&v[i].r, door);
    }
    for (size_t i = 0; i < COUNT(v); i++)
        while (!v[i].status)
            desk_next(&r->den.desk);
    for (size_t i = 0; i < COUNT(v); i++) {
        assert_int_equal(v[i].status, 204);
        assert_string_equal(v[i].message_id, v[i % 3 ? 1 : 0].message_id);
    }
    rig_settle(r);
    assert_int_equal(count_of(r, "webhook_events"), 2);
    assert_int_equal(count_of(r, "webhook_outcomes"), 2);
    assert_int_equal(sql_int(r, "SELECT sum(times) FROM webhook_duplicates"), 58);
    end(r);
}

static void q8_events_of_one_intent_keep_the_order_in_which_they_came(void **state)
{
    struct rig *r = begin_with(state, (struct stripe_door_options){ .ack = 204 });
    static struct visit v[40];
    static char bodies[40][256];
    char text[2000], want[2000] = "";

    for (size_t i = 0; i < COUNT(v); i++) { /* ids that sort the other way round */
        snprintf(bodies[i], sizeof(bodies[i]),
                 "{\"id\":\"evt_%02zu\",\"type\":\"t\",\"data\":{\"object\":{\"id\":\"pi\","
                 "\"object\":\"payment_intent\"}}}",
                 99 - i);
        visit_init(&v[i], r, str_of(bodies[i]));
        stripe_door_handle(&v[i].r, door);
        snprintf(want + strlen(want), sizeof(want) - strlen(want), "%sevt_%02zu", i ? "," : "",
                 99 - i);
    }
    for (size_t i = 0; i < COUNT(v); i++)
        while (!v[i].status)
            desk_next(&r->den.desk);
    if (!r->postgres) { /* its connections run side by side: only one batch is in order */
        sql_text(r, "SELECT group_concat(ref) FROM (SELECT ref FROM message ORDER BY seq)", text,
                 sizeof(text));
        assert_string_equal(text, want);
    }
    assert_int_equal(count_of(r, "message WHERE ready = 1"), 1);
    queue_start(r->queue[0]);
    rig_settle(r);
    assert_int_equal(count_of(r, "message"), 0);
    assert_int_equal(count_of(r, "webhook_outcomes"), 40);
    end(r);
}

static void w6_what_cannot_be_read_is_acknowledged_and_dead(void **state)
{
    struct rig *r = begin(state);
    struct visit v = deliver(r, "{\"id\":\"evt_1\""), again = deliver(r, "{\"id\":\"evt_1\"");
    char text[300];

    assert_int_equal(v.status, 204);
    assert_int_equal(again.status, 204);
    assert_int_equal(strncmp(v.event_id, "sha256:", 7), 0);
    assert_string_equal(again.message_id, v.message_id);
    assert_int_equal(count_of(r, "message"), 0);
    assert_int_equal(count_of(r, "dead_letters"), 1);
    assert_int_equal(count_of(r, "webhook_outcomes WHERE outcome = 'dead'"), 1);
    assert_int_equal(count_of(r, "audit WHERE operation = 'DEAD_LETTER'"), 1);
    sql_text(r, "SELECT ref FROM dead_letters", text, sizeof(text));
    assert_string_equal(text, v.event_id);
    assert_int_equal(alerts, 1);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_EVENT_OUTCOME, S("dead")), 1);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_PROCESSING, S("dead")), 1);
    end(r);
}

static void w6_an_unknown_type_is_kept_and_ignored(void **state)
{
    struct rig *r = begin(state);

    assert_int_equal(
        deliver(r, "{\"id\":\"evt_1\",\"type\":\"nobody.knows\",\"data\":{\"object\":{}}}").status,
        204);
    rig_settle(r);
    assert_int_equal(count_of(r, "webhook_outcomes WHERE outcome = 'ignored'"), 1);
    assert_int_equal(count_of(r, "dead_letters"), 0);
    end(r);
}

static void w1_a_bad_signature_is_400_and_stores_nothing(void **state)
{
    struct rig *r = begin(state);
    struct visit v;

    visit_init(&v, r, S(EVENT("evt_1")));
    v.signature[strlen(v.signature) - 1] ^= 1;
    knock(r, &v);
    assert_int_equal(v.status, 400);
    assert_int_equal(v.problem, ERR_SIGNATURE);
    assert_non_null(strstr(v.detail, "(mismatch)"));

    visit_init(&v, r, S(EVENT("evt_1")));
    v.headers[1] = v.headers[0];
    v.r.header_count = 2;
    knock(r, &v);
    assert_non_null(strstr(v.detail, "(malformed)"));

    visit_init(&v, r, S(EVENT("evt_1")));
    v.r.header_count = 0;
    knock(r, &v);
    assert_non_null(strstr(v.detail, "(no_header)"));

    visit_init(&v, r, S(EVENT("evt_1")));
    sign(v.signature, OLD_SECRET, atomic_load(&rig_now_ms) / 1000 + 301, v.r.body);
    v.headers[0].value = str_of(v.signature);
    knock(r, &v);
    assert_non_null(strstr(v.detail, "(future)"));
    assert_int_equal(count_of(r, "webhook_events"), 0);
    end(r);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_WEBHOOK_REJECTED, S("mismatch")), 1);
}

static void w1_an_old_secret_is_still_good(void **state)
{
    struct rig *r = begin(state);
    struct visit v;

    visit_init(&v, r, S(EVENT("evt_1")));
    sign(v.signature, OLD_SECRET, atomic_load(&rig_now_ms) / 1000, v.r.body);
    v.headers[0].value = str_of(v.signature);
    knock(r, &v);
    assert_int_equal(v.status, 204);
    end(r);
}

static void refuse(struct rig *r, int times)
{
    for (int i = 0; i < times; i++) {
        struct visit v;

        visit_init(&v, r, S(EVENT("evt_1")));
        v.r.header_count = 0;
        knock(r, &v);
        assert_int_equal(v.status, 400);
    }
}

static int lines_with(struct rig *r, const char *word)
{
    static char text[1 << 20];
    ssize_t n = pread(r->log_fd, text, sizeof(text) - 1, 0);
    int count = 0;

    assert_true(n >= 0);
    text[n] = '\0';
    for (const char *p = text; (p = strstr(p, word)); p++)
        count++;
    return count;
}

static void w1_refusals_make_one_line_a_second_and_one_audit_row_a_minute(void **state)
{
    struct rig *r = begin(state);

    refuse(r, 50);
    assert_int_equal(lines_with(r, "Webhook signature verification failed"), 1);
    rig_pass(r, 1000);
    refuse(r, 20);
    assert_int_equal(lines_with(r, "Webhook signature verification failed"), 2);
    assert_int_equal(lines_with(r, "whsec_"), 0);
    assert_int_equal(count_of(r, "audit"), 0);
    rig_pass(r, 60000);
    while (!count_of(r, "audit"))
        desk_next(&r->den.desk);
    assert_int_equal(count_of(r, "audit"), 1);
    assert_int_equal(sql_int(r, "SELECT times FROM audit WHERE operation = 'WEBHOOK_REJECTED' AND "
                                "detail = 'no_header'"),
                     70);
    if (!r->postgres)
        assert_true(den_next_timer(&r->den) == CLOCK_NEVER); /* no counts, no timer */
    refuse(r, 5);
    end(r); /* what is not yet written is written at the end */
    assert_int_equal(sql_int(r, "SELECT sum(times) FROM audit"), 75);
    assert_int_equal(count_of(r, "audit"), 2);
}

static int64_t answers_timed(const struct rig *r)
{
    int64_t bucket[METRICS_BUCKETS + 1], n = 0;

    metrics_buckets(r->env[0].metrics, TIME_ACK, METRICS_ALL, bucket);
    for (size_t i = 0; i < COUNT(bucket); i++)
        n += bucket[i];
    return n;
}

static void w3_a_full_house_is_503_before_anything_is_stored(void **state)
{
    struct rig *r =
        begin_with(state, (struct stripe_door_options){ .ack = 204, .backlog_limit = 2 });
    struct visit v;

    assert_int_equal(deliver(r, EVENT("evt_1")).status, 204);
    assert_int_equal(deliver(r, EVENT("evt_2")).status, 204);
    v = deliver(r, EVENT("evt_3"));
    assert_int_equal(v.status, 503);
    assert_int_equal(v.problem, ERR_BACKLOG);
    assert_int_equal(count_of(r, "webhook_events"), 2);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_WEBHOOK_UNSTORED, S("")), 1);
    queue_start(r->queue[0]); /* once the queue has worked, the door is open again */
    rig_settle(r);
    assert_int_equal(deliver(r, EVENT("evt_3")).status, 204);
    end(r);
}

static void w3_what_cannot_be_stored_is_503_and_may_come_again(void **state)
{
    struct rig *r = begin(state);
    struct visit v;

    sql_int(r, "ALTER TABLE webhook_events RENAME TO gone");
    v = deliver(r, EVENT("evt_1"));
    assert_int_equal(v.status, 503);
    assert_int_equal(answers_timed(r), 1); /* who waited for the store waited */
    sql_int(r, "ALTER TABLE gone RENAME TO webhook_events");
    assert_int_equal(count_of(r, "webhook_events"), 0);
    assert_int_equal(count_of(r, "message"), 0);
    v = deliver(r, EVENT("evt_1"));
    assert_int_equal(v.status, 204);
    end(r);
}

static void w7_only_listed_addresses_may_knock(void **state)
{
    static struct allow_list trusted;
    struct rig *r;
    struct visit v;
    struct why why;

    assert_true(allow_parse(&trusted, S("203.0.113.9"), &why));
    r = begin_with(state, (struct stripe_door_options){
                              .ack = 204, .allow = S("198.51.100.0/24"), .trusted = &trusted });
    v = deliver(r, EVENT("evt_1"));
    assert_int_equal(v.status, 403);
    visit_init(&v, r, S(EVENT("evt_1")));
    v.headers[1] = (struct header){ S("X-Forwarded-For"), S("198.51.100.7") };
    v.r.header_count = 2;
    knock(r, &v);
    assert_int_equal(v.status, 204);
    visit_init(&v, r, S(EVENT("evt_1")));
    v.headers[1] = (struct header){ S("X-Forwarded-For"), S("198.51.100.7, 192.0.2.1") };
    v.r.header_count = 2;
    knock(r, &v);
    assert_int_equal(v.status, 403);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_WEBHOOK_REJECTED, S("address")), 2);
    end(r);
}

static void a_door_without_a_secret_does_not_open(void **state)
{
    struct stripe_door_options o = { .ack = 204 };
    struct str secret = S("s");
    struct why why;

    (void)state;
    assert_null(stripe_door_new(&o, &why));
    assert_non_null(strstr(why.text, "STRIPE_WEBHOOK_SECRET"));
    o.secrets = &secret;
    o.secret_count = 1;
    o.allow = S("10.0.0.0/8,nonsense");
    assert_null(stripe_door_new(&o, &why));
    assert_non_null(strstr(why.text, "ICHIDO_WEBHOOK_ALLOW: \"nonsense\""));
}

#define ALL(ON)                                                                                    \
    ON(w2_a_signed_event_is_stored_and_acknowledged), ON(w2_the_answer_of_003_is_a_setting),       \
        ON(w4_a_repeated_event_id_changes_nothing),                                                \
        ON(w4_the_same_event_many_times_at_once_is_one_message),                                   \
        ON(q8_events_of_one_intent_keep_the_order_in_which_they_came),                             \
        ON(w6_what_cannot_be_read_is_acknowledged_and_dead),                                       \
        ON(w6_an_unknown_type_is_kept_and_ignored),                                                \
        ON(w1_a_bad_signature_is_400_and_stores_nothing), ON(w1_an_old_secret_is_still_good),      \
        ON(w1_refusals_make_one_line_a_second_and_one_audit_row_a_minute),                         \
        ON(w3_a_full_house_is_503_before_anything_is_stored),                                      \
        ON(w3_what_cannot_be_stored_is_503_and_may_come_again),                                    \
        ON(w7_only_listed_addresses_may_knock)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        ALL(ON_SQLITE),
        TEST(a_door_without_a_secret_does_not_open),
    };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
