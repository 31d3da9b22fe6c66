/* The channel webhook against a real loopback server. */
#include "auth/standard_webhooks.h"
#include "base/limits.h"
#include "notify/webhook_channel.h"
#include "unit/notify/push_peer.h"

#define SECRET "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define OKAY REPLY("204 No Content", "", "")

struct fixture {
    struct stage stage;
    struct peer *peer;
    char url[64];
    struct transport *hook;
};

static struct transport *hook_with(struct fixture *f, struct str secret)
{
    struct why why = { 0 };
    struct transport *t = hook_new(&(struct hook_options){ .env = &f->stage.env,
                                                           .client = f->stage.client,
                                                           .url = str_of(f->url),
                                                           .secret = secret },
                                   &why);

    if (!t)
        fail_msg("%s", why.text);
    return t;
}

static int open_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    stage_init(&f->stage);
    f->peer = peer_new();
    peer_says(f->peer, OKAY, NULL);
    snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d/told?x=1", f->peer->port);
    f->hook = hook_with(f, S(SECRET));
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;

    stage_stop(&f->stage);
    f->hook->free(f->hook);
    peer_free(f->peer);
    stage_release(&f->stage);
    free(f);
    return 0;
}

static struct sent *tell(struct fixture *f, struct sent *one)
{
    f->hook->send(f->hook, &one->p);
    assert_int_equal(one->times, 0); /* never from within send() */
    sent_end(&f->stage, one);
    return one;
}

static bool is_signed(struct fixture *f, const char *request)
{
    char id[4096], at[4096], signature[4096];

    assert_non_null(header_of(request, "webhook-id", id));
    assert_non_null(header_of(request, "webhook-timestamp", at));
    assert_non_null(header_of(request, "webhook-signature", signature));
    return signing_verify(S(SECRET), str_of(id), str_of(at), str_of(signature),
                          str_of(body_of(request)), clock_wall_ms(&f->stage.env.clock) / 1000);
}

static void a_notification_is_posted_signed_with_its_trace(void **state)
{
    struct fixture *f = *state;
    struct sent *one = sent_new(&f->stage);
    char value[4096];
    const char *got;

    one->p.created_ms = 1760000000000;
    strcpy(one->p.trace, TRACE);
    assert_int_equal(tell(f, one)->p.told, TOLD_SENT);
    got = peer_got(f->peer, 0);
    assert_memory_equal(got, "POST /told?x=1 HTTP/1.1\r\n", 25);
    assert_string_equal(header_of(got, "Content-Type", value), "application/json");
    assert_string_equal(header_of(got, "traceparent", value), TRACE);
    assert_string_equal(header_of(got, "webhook-id", value),
                        "0190d5c2-7e1a-7b3c-8d4e-5f0000000001");
    assert_true(is_signed(f, got));
    assert_string_equal(
        body_of(got),
        "{\"id\":\"0190d5c2-7e1a-7b3c-8d4e-5f0000000002\",\"type\":\"purchase_confirmed\","
        "\"title\":\"購入が完了しました\",\"body\":\"ポジションの購入が確定しました。\","
        "\"data\":{\"purchaseId\":\"p-1\",\"rank\":3,\"won\":true},"
        "\"userId\":\"09090900-0000-0000-0000-000000000000\",\"participantId\":null,"
        "\"language\":\"ja\",\"createdAt\":\"2025-10-09T08:53:20.000Z\"}");
}

static void a_participant_has_no_user_and_a_bad_trace_is_left_out(void **state)
{
    struct fixture *f = *state;
    struct sent *one = sent_new(&f->stage);
    struct uuid participant = uuid_of(7);
    char value[4096];

    one->p.user = NULL;
    one->p.participant = &participant;
    one->p.is_japanese = false;
    one->p.data = S("");
    strcpy(one->p.trace, "nonsense");
    tell(f, one);
    assert_null(header_of(peer_got(f->peer, 0), "traceparent", value));
    assert_non_null(strstr(body_of(peer_got(f->peer, 0)),
                           "\"data\":{},\"userId\":null,\"participantId\":"
                           "\"0190d5c2-7e1a-7b3c-8d4e-5f0000000007\",\"language\":\"en\""));
}

static void what_the_receiver_says_decides(void **state)
{
    static const struct {
        const char *reply;
        enum told told;
        int64_t wait_ms;
    } rows[] = {
        { REPLY("200 OK", "", "thanks"), TOLD_SENT, -1 },
        { REPLY("299 Fine", "", ""), TOLD_SENT, -1 },
        { REPLY("302 Found", "Location: /\r\n", ""), TOLD_LATER, -1 },
        { REPLY("400 No", "", ""), TOLD_LATER, -1 },
        { REPLY("404 No", "", ""), TOLD_LATER, -1 },
        { REPLY("410 Gone", "", ""), TOLD_NEVER, -1 },
        { REPLY("429 Slow", "Retry-After: 9\r\n", ""), TOLD_LATER, 9000 },
        { REPLY("503 Busy", "Retry-After: 9999999\r\n", ""), TOLD_LATER, LIMIT_RETRY_AFTER_MS },
        { REPLY("500 Oops", "Retry-After: soon\r\n", ""), TOLD_LATER, -1 },
        { HANGS_UP, TOLD_LATER, -1 },
        { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", TOLD_SENT, -1 },
    };
    struct fixture *f = *state;
    char first[4096], value[4096];

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sent *one = sent_new(&f->stage);

        peer_says(f->peer, rows[i].reply, NULL);
        tell(f, one);
        if (one->p.told != rows[i].told || one->p.retry_after_ms != rows[i].wait_ms)
            fail_msg("row %zu: told %d, wait %lld, %s", i, one->p.told,
                     (long long)one->p.retry_after_ms, one->p.why);
        assert_true(is_signed(f, peer_got(f->peer, (int)i)));
    }
    assert_non_null(header_of(peer_got(f->peer, 0), "webhook-id", first));
    assert_string_equal(header_of(peer_got(f->peer, 9), "webhook-id", value), first);
}

static void an_answer_without_end_is_cut(void **state)
{
    struct fixture *f = *state;
    char *reply = calloc(1, 1 << 20);

    strcpy(reply, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    memset(reply + strlen(reply), 'x', 1000000);
    peer_says(f->peer, reply, NULL);
    assert_int_equal(tell(f, sent_new(&f->stage))->p.told, TOLD_SENT);
    peer_says(f->peer, OKAY, NULL);
    free(reply);
}

static void who_is_not_reached_is_told_later(void **state)
{
    struct fixture *f = *state;

    shutdown(f->peer->listener, SHUT_RDWR);
    assert_int_equal(tell(f, sent_new(&f->stage))->p.told, TOLD_LATER);
}

static void without_memory_it_is_told_later(void **state)
{
    struct fixture *f = *state;
    struct sent *one = sent_new(&f->stage);
    struct arena small;

    arena_init(&small, 64);
    one->p.arena = &small;
    assert_int_equal(tell(f, one)->p.told, TOLD_LATER);
    assert_int_equal(peer_asked(f->peer), 0);
    arena_release(&small);
}

/* --- anything else that is posted --- */

struct posted {
    struct hook_post post;
    int times;
};

static void post_done(struct hook_post *p)
{
    CONTAINER_OF(p, struct posted, post)->times++;
}

static void any_json_can_be_posted_and_without_a_secret_it_is_not_signed(void **state)
{
    struct fixture *f = *state;
    struct transport *plain = hook_with(f, S(""));
    struct posted one = { .post = { .id = S("alert-1"),
                                    .body = S("{\"alert\":\"dlq\"}"),
                                    .arena = &f->stage.arena,
                                    .executor = &f->stage.desk.executor,
                                    .done = post_done } };
    char value[4096];

    hook_send(plain, &one.post);
    assert_int_equal(one.times, 0);
    while (!one.times)
        desk_next(&f->stage.desk);
    assert_int_equal(one.post.told, TOLD_SENT);
    assert_int_equal(one.post.status, 204);
    assert_string_equal(body_of(peer_got(f->peer, 0)), "{\"alert\":\"dlq\"}");
    assert_string_equal(header_of(peer_got(f->peer, 0), "webhook-id", value), "alert-1");
    assert_null(header_of(peer_got(f->peer, 0), "webhook-signature", value));
    plain->free(plain);
}

static void a_secret_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = { "whsec_", "whsec_c2hvcnQ=", "plain text of some length here",
                                       "whsec_????????????????????????????????" };
    struct fixture *f = *state;
    struct why why;

    for (size_t i = 0; i < COUNT(bad); i++) {
        why.text[0] = '\0';
        assert_null(hook_new(&(struct hook_options){ .env = &f->stage.env,
                                                     .client = f->stage.client,
                                                     .url = str_of(f->url),
                                                     .secret = str_of(bad[i]) },
                             &why));
        assert_non_null(strstr(why.text, "whsec_ and the base64"));
    }
}

#define AT(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT(a_notification_is_posted_signed_with_its_trace),
        AT(a_participant_has_no_user_and_a_bad_trace_is_left_out),
        AT(what_the_receiver_says_decides),
        AT(an_answer_without_end_is_cut),
        AT(who_is_not_reached_is_told_later),
        AT(without_memory_it_is_told_later),
        AT(any_json_can_be_posted_and_without_a_secret_it_is_not_signed),
        AT(a_secret_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
