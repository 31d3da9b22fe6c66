/* Push against a real loopback server: the token, the call, every way in which both can fail. */
#include "base/limits.h"
#include "unit/notify/push_account.h"
#include "unit/notify/push_peer.h"

#define TOKEN(text)                                                                                \
    REPLY("200 OK", "",                                                                            \
          "{\"access_token\":\"" text "\",\"expires_in\":3599,\"token_type\":\"Bearer\"}")
#define TAKEN REPLY("200 OK", "", "{\"name\":\"projects/shop-1/messages/1\"}")
#define PLAIN_401                                                                                  \
    REPLY("401 Unauthorized", "", "{\"error\":{\"code\":401,\"status\":\"UNAUTHENTICATED\"}}")
#define FCM_ERROR(http, code)                                                                      \
    REPLY(http, "",                                                                                \
          "{\"error\":{\"message\":\"The registration token is bad\",\"details\":[{\"@type\":"     \
          "\"type.googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"" code          \
          "\"}]}}")

enum { MINUTE = 60 * 1000 };

struct fixture {
    struct stage stage;
    struct peer *google, *fcm; /* the token's, and the pushes' */
    struct account_text account;
    struct transport *push;
};

static int open_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char uri[64], base[64];
    struct why why = { 0 };

    stage_init(&f->stage);
    f->google = peer_new();
    f->fcm = peer_new();
    peer_says(f->google, TOKEN("token-a"), TOKEN("token-b"));
    peer_says(f->fcm, TAKEN, NULL);
    snprintf(uri, sizeof(uri), "http://127.0.0.1:%d/token", f->google->port);
    snprintf(base, sizeof(base), "http://127.0.0.1:%d", f->fcm->port);
    account_make(&f->account, uri);
    f->push = push_new(&(struct push_options){ .env = &f->stage.env,
                                               .client = f->stage.client,
                                               .credentials = str_of(f->account.json),
                                               .base = str_of(base) },
                       &why);
    if (!f->push)
        fail_msg("%s", why.text);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    const char *log = stage_logged(&f->stage);

    assert_null(strstr(log, "token-a")); /* neither ours nor the device's */
    assert_null(strstr(log, "device-token"));
    stage_stop(&f->stage);
    f->push->free(f->push);
    peer_free(f->google);
    peer_free(f->fcm);
    EVP_PKEY_free(f->account.key);
    stage_release(&f->stage);
    free(f);
    return 0;
}

static struct sent *begin(struct fixture *f)
{
    struct sent *one = sent_new(&f->stage);

    f->push->send(f->push, &one->p);
    assert_int_equal(one->times, 0); /* never from within send() */
    return one;
}

static struct sent *push_one(struct fixture *f)
{
    struct sent *one = begin(f);

    sent_end(&f->stage, one);
    assert_null(strstr(one->p.why.text, "token-"));
    return one;
}

static void bearer_is(struct fixture *f, int i, const char *token)
{
    char value[4096], expected[64];

    snprintf(expected, sizeof(expected), "Bearer %s", token);
    assert_string_equal(header_of(peer_got(f->fcm, i), "Authorization", value), expected);
}

static void starts(const char *text, const char *with)
{
    if (!str_starts(str_of(text), str_of(with)))
        fail_msg("%s does not start with %s", text, with);
}

/* --- sending --- */

static void a_push_goes_to_the_projects_address(void **state)
{
    struct fixture *f = *state;
    struct sent *one = push_one(f);

    assert_int_equal(one->p.told, TOLD_SENT);
    starts(peer_got(f->fcm, 0), "POST /v1/projects/shop-1/messages:send HTTP/1.1\r\n");
    bearer_is(f, 0, "token-a");
    starts(body_of(peer_got(f->fcm, 0)), "{\"message\":{\"token\":\"device-token-1\"");
    starts(peer_got(f->google, 0), "POST /token HTTP/1.1\r\n");
    assert_non_null(
        strcasestr(peer_got(f->google, 0), "content-type: application/x-www-form-urlencoded\r\n"));
}

static void what_fcm_says_decides(void **state)
{
    static const struct {
        const char *reply;
        enum told told;
        int64_t wait_ms;
        bool alarm;
    } rows[] = {
        { FCM_ERROR("404 Not Found", "UNREGISTERED"), TOLD_GONE, -1, false },
        { FCM_ERROR("400 Bad Request", "INVALID_ARGUMENT"), TOLD_GONE, -1, false },
        { REPLY("400 Bad Request", "", "{}"), TOLD_NEVER, -1, false },
        { FCM_ERROR("403 Forbidden", "SENDER_ID_MISMATCH"), TOLD_LATER, -1, true },
        { FCM_ERROR("401 Unauthorized", "THIRD_PARTY_AUTH_ERROR"), TOLD_LATER, -1, true },
        { REPLY("403 Forbidden", "", "<html>no</html>"), TOLD_LATER, -1, true },
        { FCM_ERROR("429 Too Many", "QUOTA_EXCEEDED"), TOLD_LATER, 60000, false },
        { REPLY("429 Too Many", "Retry-After: 5\r\n", ""), TOLD_LATER, 5000, false },
        { FCM_ERROR("503 Busy", "UNAVAILABLE"), TOLD_LATER, -1, false },
        { REPLY("503 Busy", "Retry-After: 90\r\n", "busy"), TOLD_LATER, 90000, false },
        { FCM_ERROR("500 Oops", "INTERNAL"), TOLD_LATER, 10000, false },
        { HANGS_UP, TOLD_UNKNOWN, -1, false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", TOLD_SENT, -1, false },
        { "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\n{", TOLD_LATER, -1, false },
        { "nonsense\r\n\r\n", TOLD_UNKNOWN, -1, false },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sent *one;
        int asked = peer_asked(f->fcm);

        peer_says(f->fcm, rows[i].reply, NULL);
        one = push_one(f);
        if (one->p.told != rows[i].told || one->p.retry_after_ms != rows[i].wait_ms)
            fail_msg("row %zu: told %d, wait %lld, %s", i, one->p.told,
                     (long long)one->p.retry_after_ms, one->p.why);
        assert_int_equal(peer_asked(f->fcm), asked + 1); /* once, whatever it is */
        if (rows[i].alarm != (strstr(stage_logged(&f->stage), "FCM refuses our pushes") != NULL))
            fail_msg("row %zu: %s", i, rows[i].alarm ? "no alarm" : "an alarm");
    }
    assert_int_equal(peer_asked(f->google), 1);
}

static void who_is_not_reached_is_tried_later(void **state)
{
    struct fixture *f = *state;
    struct sent *one;

    push_one(f); /* the token is there */
    shutdown(f->fcm->listener, SHUT_RDWR);
    one = push_one(f);
    assert_int_equal(one->p.told, TOLD_LATER);
    assert_int_equal(one->p.retry_after_ms, -1);
}

static void what_cannot_be_a_push_is_never_sent(void **state)
{
    struct fixture *f = *state;
    struct sent *one = sent_new(&f->stage);

    one->p.data = S("[1]");
    f->push->send(f->push, &one->p);
    assert_int_equal(one->times, 0);
    assert_int_equal(sent_end(&f->stage, one), TOLD_NEVER);
    assert_non_null(strstr(one->p.why.text, "JSON object"));
    assert_int_equal(peer_asked(f->google), 0);
}

static void an_alarm_is_told_once_a_minute_however_many_pushes_fail(void **state)
{
    struct fixture *f = *state;

    peer_says(f->fcm, REPLY("403 No", "", ""), NULL);
    push_one(f);
    assert_non_null(strstr(stage_logged(&f->stage), "\"error\""));
    for (int i = 0; i < 5; i++)
        assert_int_equal(push_one(f)->p.told, TOLD_LATER);
    assert_null(strstr(stage_logged(&f->stage), "\"error\""));
    clock_advance(&f->stage.env.clock, MINUTE);
    push_one(f);
    assert_non_null(strstr(stage_logged(&f->stage), "PERMISSION_DENIED"));
}

/* --- the token --- */

static void one_token_is_asked_for_however_many_need_it(void **state)
{
    enum { MANY = 50 };
    struct fixture *f = *state;
    struct sent *all[MANY];

    peer_hold(f->google, true);
    for (int i = 0; i < MANY; i++)
        all[i] = begin(f);
    peer_await(f->google, 1);
    assert_true(desk_is_empty(&f->stage.desk)); /* all of them wait */
    peer_hold(f->google, false);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(sent_end(&f->stage, all[i]), TOLD_SENT);
    assert_int_equal(peer_asked(f->google), 1);
    assert_int_equal(peer_asked(f->fcm), MANY);
}

static void a_token_is_renewed_five_minutes_before_its_end(void **state)
{
    struct fixture *f = *state;

    push_one(f);
    clock_advance(&f->stage.env.clock, 54 * MINUTE);
    push_one(f);
    assert_int_equal(peer_asked(f->google), 1);
    clock_advance(&f->stage.env.clock, MINUTE);
    push_one(f);
    assert_int_equal(peer_asked(f->google), 2);
    bearer_is(f, 1, "token-a");
    bearer_is(f, 2, "token-b");
}

static void a_token_that_fcm_refuses_is_replaced_once(void **state)
{
    struct fixture *f = *state;

    peer_says(f->fcm, PLAIN_401, TAKEN);
    assert_int_equal(push_one(f)->p.told, TOLD_SENT);
    assert_int_equal(peer_asked(f->google), 2);
    bearer_is(f, 0, "token-a");
    bearer_is(f, 1, "token-b");
    assert_null(strstr(stage_logged(&f->stage), "\"error\""));

    peer_says(f->fcm, PLAIN_401, NULL);
    assert_int_equal(push_one(f)->p.told, TOLD_LATER);
    assert_int_equal(peer_asked(f->google), 3);
    assert_int_equal(peer_asked(f->fcm), 4);
    assert_non_null(strstr(stage_logged(&f->stage), "UNAUTHENTICATED"));
}

/* All of them got their 401 for one token: the second token is asked for once. */
static void many_401s_of_one_token_drop_it_once(void **state)
{
    enum { MANY = 6 };
    struct fixture *f = *state;
    struct sent *all[MANY];

    push_one(f);
    pthread_mutex_lock(&f->fcm->lock);
    for (int i = 0; i < MANY; i++)
        f->fcm->replies[i] = PLAIN_401;
    f->fcm->replies[MANY] = TAKEN;
    f->fcm->reply = 0;
    pthread_mutex_unlock(&f->fcm->lock);
    peer_hold(f->google, true);
    for (int i = 0; i < MANY; i++)
        all[i] = begin(f);
    for (int i = 0; i < 2 * MANY; i++) /* each: its token, its 401 */
        desk_next(&f->stage.desk);
    peer_hold(f->google, false);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(sent_end(&f->stage, all[i]), TOLD_SENT);
    assert_int_equal(peer_asked(f->google), 2);
}

static void an_account_that_google_refuses_is_an_alarm_and_tried_again(void **state)
{
    struct fixture *f = *state;
    const char *log;

    peer_says(
        f->google,
        REPLY("400 Bad Request", "",
              "{\"error\":\"invalid_grant\",\"error_description\":\"Invalid JWT Signature.\"}"),
        TOKEN("token-b"));
    assert_int_equal(push_one(f)->p.told, TOLD_LATER);
    log = stage_logged(&f->stage);
    assert_non_null(strstr(log, "\"error\""));
    assert_non_null(strstr(log, "invalid_grant"));
    assert_null(strstr(log, "Invalid JWT"));
    assert_int_equal(push_one(f)->p.told, TOLD_LATER); /* Google is left alone for a while */
    assert_int_equal(peer_asked(f->google), 1);
    assert_int_equal(peer_asked(f->fcm), 0);
    clock_advance(&f->stage.env.clock, MINUTE);
    assert_int_equal(push_one(f)->p.told, TOLD_SENT);
}

static void a_token_that_does_not_come_is_asked_for_again_with_growing_pauses(void **state)
{
    static const char *const failures[] = {
        REPLY("503 Busy", "", "busy"),
        REPLY("429 Slow", "", ""),
        HANGS_UP,
        REPLY("200 OK", "", "not JSON"),
        REPLY("200 OK", "", "{\"access_token\":\"a b\",\"expires_in\":3599}"),
        REPLY("200 OK", "", "{\"access_token\":\"token-x\",\"expires_in\":\"3599\"}"),
        REPLY("302 Found", "Location: /token\r\n", ""),
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(failures); i++) {
        int64_t pause = i < 6 ? INT64_C(1000) << i : MINUTE;
        struct sent *one;

        peer_says(f->google, failures[i], NULL);
        one = push_one(f);
        assert_int_equal(one->p.told, TOLD_LATER);
        assert_true(one->p.retry_after_ms > pause - 1000 && one->p.retry_after_ms <= pause);
        assert_int_equal(push_one(f)->p.told, TOLD_LATER);
        assert_int_equal(peer_asked(f->google), (int)i + 1); /* within the pause nobody asks */
        clock_advance(&f->stage.env.clock, pause);
    }
    peer_says(f->google, TOKEN("token\\u002d\\u003d\\/b"), NULL); /* as some encoders have it */
    assert_int_equal(push_one(f)->p.told, TOLD_SENT);
    assert_int_equal(peer_asked(f->fcm), 1);
    bearer_is(f, 0, "token-=/b");
}

static void stopping_while_a_token_is_awaited_ends_in_order(void **state)
{
    struct fixture *f = *state;
    struct sent *one;

    peer_hold(f->google, true);
    one = begin(f);
    peer_await(f->google, 1);
    stage_stop(&f->stage);
    assert_int_equal(sent_end(&f->stage, one), TOLD_LATER);
}

/* More than any job queue has under way: who finds the line full is told so at once. */
static void the_line_for_a_token_has_an_end(void **state)
{
    struct fixture *f = *state;
    struct sent **all = calloc(LIMIT_FCM_WAITING, sizeof(*all)), *late;

    peer_hold(f->google, true);
    for (int i = 0; i < LIMIT_FCM_WAITING; i++)
        all[i] = begin(f);
    peer_await(f->google, 1);
    late = push_one(f);
    assert_int_equal(late->p.told, TOLD_LATER);
    stage_stop(&f->stage);
    for (int i = 0; i < LIMIT_FCM_WAITING; i++)
        assert_int_equal(sent_end(&f->stage, all[i]), TOLD_LATER);
    free(all);
}

/* --- its settings --- */

static void settings_that_are_wrong_are_said(void **state)
{
    struct fixture *f = *state;
    struct why why = { 0 };

    assert_null(
        push_new(&(struct push_options){ .env = &f->stage.env,
                                         .client = f->stage.client,
                                         .credentials = S("{\"private_key\":\"token-a\"}") },
                 &why));
    assert_string_equal(why.text,
                        "ICHIDO_FCM_CREDENTIALS: client_email is missing or cannot be one");
}

#define AT(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT(a_push_goes_to_the_projects_address),
        AT(what_fcm_says_decides),
        AT(who_is_not_reached_is_tried_later),
        AT(what_cannot_be_a_push_is_never_sent),
        AT(an_alarm_is_told_once_a_minute_however_many_pushes_fail),
        AT(one_token_is_asked_for_however_many_need_it),
        AT(a_token_is_renewed_five_minutes_before_its_end),
        AT(a_token_that_fcm_refuses_is_replaced_once),
        AT(many_401s_of_one_token_drop_it_once),
        AT(an_account_that_google_refuses_is_an_alarm_and_tried_again),
        AT(a_token_that_does_not_come_is_asked_for_again_with_growing_pauses),
        AT(stopping_while_a_token_is_awaited_ends_in_order),
        AT(the_line_for_a_token_has_an_end),
        AT(settings_that_are_wrong_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
