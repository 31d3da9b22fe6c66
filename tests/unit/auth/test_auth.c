/* auth_check as a handler sees it, with and without a JWKS. */
#include "auth/auth.h"
#include "auth/jwks.h"
#include "http/client/client.h"
#include "http/exchange.h"
#include "observe/log.h"
#include "unit/auth/forge.h"
#include "unit/auth/keys_server.h"
#include "unit/desk.h"

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };
#define ADMIN "admin-token-0123456789"

struct fixture {
    struct forge forge;
    struct arena arena;
    struct env env;
    struct keys_server *server;
    struct client *client;
    struct desk desk;
    int log[2];
};

static int64_t fixed_wall_ms(const struct clock *c)
{
    (void)c;
    return NOW_MS;
}

static int open_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct why why;

    forge_init(&f->forge);
    arena_init(&f->arena, 64 << 20);
    clock_init(&f->env.clock);
    f->env.clock.wall_ms = fixed_wall_ms;
    assert_int_equal(pipe(f->log), 0);
    f->env.log = log_new(&f->env.clock, f->log[1], LOG_DEBUG, false);
    desk_init(&f->desk);
    f->server = keys_server_new();
    assert_int_equal(client_open(&(struct client_options){ .env = &f->env, .allow_private = true },
                                 &f->client, &why),
                     OK);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;

    keys_server_free(f->server);
    client_free(f->client);
    log_free(f->env.log);
    close(f->log[0]);
    close(f->log[1]);
    forge_release(&f->forge);
    arena_release(&f->arena);
    free(f);
    return 0;
}

/* What was logged since the last call. */
static const char *logged(struct fixture *f)
{
    char *text = arena_alloc(&f->arena, 64 * 1024, 1);
    ssize_t n;

    assert_int_equal(write(f->log[1], "", 1), 1);
    n = read(f->log[0], text, 64 * 1024 - 1);
    assert_true(n > 0);
    return text;
}

/* --- a request --- */

struct asked {
    struct exchange x;
    struct header headers[2];
    int times;
    enum err err;
    struct principal who;
};

static void answered(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    struct asked *q = ctx;

    assert_ptr_equal(r, &q->x.request);
    assert_true((e == OK) == (p != NULL));
    q->times++;
    q->err = e;
    if (p)
        q->who = *p;
}

static struct asked *ask_with(struct fixture *f, struct auth *a, struct str authorization)
{
    struct asked *q = arena_alloc(&f->arena, 1, sizeof(*q));
    struct request *r = &q->x.request;

    q->headers[0] = (struct header){ S("authorization"), authorization };
    r->headers = q->headers;
    r->header_count = authorization.n ? 1 : 0;
    r->env = &f->env;
    r->executor = &f->desk.executor;
    r->id = S("req-1");
    arena_init(&r->arena, LIMIT_REQUEST_ARENA);
    buf_init(&q->x.headers, LIMIT_REPLY_HEADERS);
    auth_check(a, r, answered, q);
    return q;
}

static struct asked *ask(struct fixture *f, struct auth *a, struct str token)
{
    char *text = arena_alloc(&f->arena, token.n + 16, 1);

    snprintf(text, token.n + 16, "Bearer " STR_FMT, STR_ARG(token));
    return ask_with(f, a, str_of(text));
}

/* How it ended. Waits for it. */
static enum err outcome(struct fixture *f, struct asked *q)
{
    static const char refusal[] = "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n";
    struct str headers;

    while (!q->times)
        desk_next(&f->desk);
    assert_int_equal(q->times, 1);
    headers = buf_str(&q->x.headers);
    assert_true(str_eq(headers, q->err == ERR_UNAUTHORIZED ? str_of(refusal) : S("")));
    buf_release(&q->x.headers);
    arena_release(&q->x.request.arena);
    return q->err;
}

static enum err check(struct fixture *f, struct auth *a, struct str token)
{
    return outcome(f, ask(f, a, token));
}

static struct auth *auth_with(struct fixture *f, struct auth_options o)
{
    struct why why;
    struct auth *a;

    o.env = &f->env;
    a = auth_new(&o, &why);
    if (!a)
        fail_msg("%s", why.text);
    return a;
}

/* --- without a JWKS --- */

#define CLAIMS "{\"sub\":\"" USER "\",\"exp\":" LATER "}"

static struct str hs256(struct fixture *f)
{
    return forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\"}"), S(CLAIMS), BY_SECRET);
}

static void a1_the_header_is_one_bearer_token(void **state)
{
    struct fixture *f = *state;
    struct auth *a = auth_with(f, (struct auth_options){ .secret = S(SECRET) });
    struct str t = hs256(f);
    struct {
        const char *format;
        enum err e;
    } rows[] = {
        { "Bearer %s", OK },
        { "bearer %s", OK },
        { "BEARER   %s  ", OK },
        { "%s", ERR_UNAUTHORIZED },
        { "Basic %s", ERR_UNAUTHORIZED },
        { "Bearer", ERR_UNAUTHORIZED },
        { "Bearer ", ERR_UNAUTHORIZED },
        { "Bearer\t%s", ERR_UNAUTHORIZED },
        { "Bearer %s, Bearer x", ERR_UNAUTHORIZED },
        { "Bearer \"%s\"", ERR_UNAUTHORIZED },
        { "", ERR_UNAUTHORIZED },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[1024];

        snprintf(text, sizeof(text), rows[i].format, t.p);
        if (outcome(f, ask_with(f, a, str_of(text))) != rows[i].e)
            fail_msg("row %zu: %s", i, rows[i].format);
    }
    auth_free(a);
}

static void a1_two_authorization_headers_are_none(void **state)
{
    struct fixture *f = *state;
    struct auth *a = auth_with(f, (struct auth_options){ .admin_token = S(ADMIN) });
    struct asked q = { .headers = { { S("Authorization"), S("Bearer " ADMIN) },
                                    { S("Authorization"), S("Bearer " ADMIN) } } };

    q.x.request = (struct request){
        .headers = q.headers, .header_count = 2, .env = &f->env, .executor = &f->desk.executor
    };
    buf_init(&q.x.headers, LIMIT_REPLY_HEADERS);
    auth_check(a, &q.x.request, answered, &q);
    assert_int_equal(outcome(f, &q), ERR_UNAUTHORIZED);
    auth_free(a);
}

static void a2_the_admin_token_is_service_and_admin(void **state)
{
    struct fixture *f = *state;
    struct auth *a = auth_with(f, (struct auth_options){ .admin_token = S(ADMIN) });
    struct auth *none = auth_with(f, (struct auth_options){ .secret = S(SECRET) });
    struct asked *q = ask(f, a, S(ADMIN));

    assert_int_equal(outcome(f, q), OK);
    assert_true(q->who.service && q->who.admin);
    assert_true(uuid_eq(q->who.user, (struct uuid){ 0 }));
    assert_int_equal(check(f, a, S(ADMIN "x")), ERR_UNAUTHORIZED);
    assert_int_equal(check(f, a, S("admin-token-012345678")), ERR_UNAUTHORIZED);
    assert_int_equal(check(f, none, S(ADMIN)), ERR_UNAUTHORIZED);
    auth_free(a);
    auth_free(none);
}

static void a1_a_token_lives_until_its_exp_remembered_or_not(void **state)
{
    struct fixture *f = *state;
    struct auth *a = auth_with(f, (struct auth_options){ .secret = S(SECRET) });
    struct str t = hs256(f);
    struct uuid user;
    struct asked *q;

    uuid_parse(S(USER), &user);
    for (int i = 0; i < 3; i++) {
        q = ask(f, a, t);
        assert_int_equal(outcome(f, q), OK);
        assert_true(uuid_eq(q->who.user, user) && !q->who.service && !q->who.admin);
    }
    clock_advance(&f->env.clock, 59999);
    assert_int_equal(check(f, a, t), OK);
    clock_advance(&f->env.clock, 1);
    assert_int_equal(check(f, a, t), ERR_UNAUTHORIZED);
    assert_int_equal(check(f, a, t), ERR_UNAUTHORIZED);
    auth_free(a);
}

static void a4_the_log_says_why_and_never_the_token(void **state)
{
    struct fixture *f = *state;
    struct auth *a =
        auth_with(f, (struct auth_options){ .secret = S(SECRET), .issuer = S("https://id") });
    struct str t = hs256(f);
    const char *text;

    assert_int_equal(check(f, a, t), ERR_UNAUTHORIZED);
    text = logged(f);
    assert_non_null(strstr(text, "iss is not ours"));
    assert_non_null(strstr(text, "req-1"));
    assert_null(strstr(text, "eyJ"));
    auth_free(a);
}

static void a_wrong_key_stops_the_start_with_a_line(void **state)
{
    struct fixture *f = *state;
    const struct auth_options rows[] = {
        { .env = &f->env, .secret = S("short") },
        { .env = &f->env, .public_key = S("-----BEGIN PUBLIC KEY-----\nx\n") },
        { .env = &f->env, .jwks_url = S("http://127.0.0.1:1/") },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why = { 0 };

        assert_null(auth_new(&rows[i], &why));
        assert_true(strlen(why.text) > 10);
        assert_null(strstr(why.text, "short\""));
    }
}

static void a2_owners_may_what_the_words_say(void **state)
{
    (void)state;
    assert_true(auth_owner_may(S("create,read"), S("create")));
    assert_true(auth_owner_may(S("create, read"), S("read")));
    assert_false(auth_owner_may(S("create,read"), S("refund")));
    assert_false(auth_owner_may(S("create,read"), S("rea")));
    assert_false(auth_owner_may(S(""), S("read")));
}

static void a_long_token_is_refused_unread(void **state)
{
    struct fixture *f = *state;
    struct auth *a = auth_with(f, (struct auth_options){ .secret = S(SECRET) });
    char *text = arena_alloc(&f->arena, LIMIT_TOKEN + 2, 1);

    memset(text, 'a', LIMIT_TOKEN + 1);
    assert_int_equal(check(f, a, str_of(text)), ERR_UNAUTHORIZED);
    assert_non_null(strstr(logged(f), "too long"));
    auth_free(a);
}

/* --- with a JWKS --- */

static const char *set_of(struct fixture *f, EVP_PKEY *one, const char *kid, EVP_PKEY *two,
                          const char *kid_two)
{
    char *text = arena_alloc(&f->arena, 16 * 1024, 1), more[64], more_two[64];

    snprintf(more, sizeof(more), ",\"kid\":\"%s\"", kid);
    snprintf(more_two, sizeof(more_two), ",\"kid\":\"%s\"", kid_two ? kid_two : "");
    snprintf(text, 16 * 1024, "{\"keys\":[%s%s%s]}", jwk_of(&f->arena, one, more), two ? "," : "",
             two ? jwk_of(&f->arena, two, more_two) : "");
    return text;
}

/* For an hour of the clock as it stands. */
static struct str token_of(struct fixture *f, const char *alg, const char *kid, int64_t life_s)
{
    char header[128], claims[256];

    snprintf(header, sizeof(header), "{\"alg\":\"%s\",\"kid\":\"%s\"}", alg, kid);
    snprintf(claims, sizeof(claims), "{\"sub\":\"" USER "\",\"exp\":%lld}",
             (long long)(clock_wall_ms(&f->env.clock) / 1000 + life_s));
    return forge_token(&f->forge, &f->arena, str_of(header), str_of(claims),
                       strcmp(alg, "ES256") ? BY_RSA : BY_EC);
}

static struct auth *auth_with_jwks(struct fixture *f, struct auth_options o)
{
    char url[64];

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/keys", f->server->port);
    o.jwks_url = str_of(url);
    o.client = f->client;
    return auth_with(f, o);
}

static void a1_an_unknown_kid_waits_for_one_fetch(void **state)
{
    struct fixture *f = *state;
    struct asked *q[20];
    struct auth *a;
    struct str t;

    keys_server_set(f->server, HOLDS, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    t = token_of(f, "RS256", "r1", 3600);
    keys_server_await(f->server, 1);
    for (size_t i = 0; i < COUNT(q); i++) {
        q[i] = ask(f, a, t);
        assert_int_equal(q[i]->times, 0);
    }
    keys_server_set(f->server, SAYS_200, NULL);
    for (size_t i = 0; i < COUNT(q); i++)
        assert_int_equal(outcome(f, q[i]), OK);
    assert_int_equal(f->server->asked, 1);
    q[0] = ask(f, a, t);
    assert_int_equal(q[0]->times, 1); /* at once */
    assert_int_equal(outcome(f, q[0]), OK);
    auth_free(a);
}

static void a1_strangers_with_invented_kids_cause_one_fetch_in_30_s(void **state)
{
    struct fixture *f = *state;
    struct auth *a;
    struct asked *q;

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    assert_int_equal(check(f, a, token_of(f, "RS256", "r1", 3600)), OK);
    for (int i = 0; i < 5; i++) {
        q = ask(f, a, token_of(f, "RS256", "invented", 3600 + i));
        assert_int_equal(q->times, 1); /* refused at once: the last fetch is young */
        assert_int_equal(outcome(f, q), ERR_UNAUTHORIZED);
    }
    assert_int_equal(f->server->asked, 1);
    clock_advance(&f->env.clock, 29 * 1000);
    assert_int_equal(check(f, a, token_of(f, "RS256", "invented", 3600)), ERR_UNAUTHORIZED);
    assert_int_equal(f->server->asked, 1);
    clock_advance(&f->env.clock, 1000);
    assert_int_equal(check(f, a, token_of(f, "RS256", "invented", 3600)), ERR_UNAUTHORIZED);
    assert_int_equal(f->server->asked, 2);
    auth_free(a);
}

static void a1_keys_rotate(void **state)
{
    struct fixture *f = *state;
    struct str old, new, same;
    struct auth *a;

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    old = token_of(f, "RS256", "r1", 10 * 3600);
    same = token_of(f, "RS256", "r1", 11 * 3600);
    assert_int_equal(check(f, a, old), OK);
    assert_int_equal(check(f, a, same), OK);

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", f->forge.ec, "e2"));
    clock_advance(&f->env.clock, 31 * 1000);
    new = token_of(f, "ES256", "e2", 10 * 3600);
    assert_int_equal(check(f, a, new), OK); /* found by its unknown kid */
    assert_int_equal(check(f, a, old), OK);
    assert_int_equal(f->server->asked, 2);

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.ec, "e2", NULL, NULL));
    assert_int_equal(check(f, a, old), OK); /* nobody has told us */
    clock_advance(&f->env.clock, 10 * MINUTE_MS);
    assert_int_equal(check(f, a, old), ERR_UNAUTHORIZED); /* waited for the fetch, though known */
    assert_int_equal(f->server->asked, 3);
    assert_int_equal(check(f, a, same), ERR_UNAUTHORIZED);
    assert_int_equal(check(f, a, new), OK);
    auth_free(a);
}

static void a1_keys_are_fetched_again_before_their_time_ends(void **state)
{
    struct fixture *f = *state;
    struct auth *a;
    struct asked *q;

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    assert_int_equal(check(f, a, token_of(f, "RS256", "r1", 3600)), OK);
    clock_advance(&f->env.clock, 9 * MINUTE_MS - 1000);
    assert_int_equal(check(f, a, token_of(f, "RS256", "r1", 3600)), OK);
    assert_int_equal(f->server->asked, 1);

    keys_server_set(f->server, HOLDS, NULL);
    clock_advance(&f->env.clock, 1000);
    q = ask(f, a, token_of(f, "RS256", "r1", 3600));
    assert_int_equal(q->times, 1); /* in the background: nobody waits */
    assert_int_equal(outcome(f, q), OK);
    keys_server_await(f->server, 2);
    assert_int_equal(check(f, a, token_of(f, "RS256", "r1", 3601)), OK);
    keys_server_set(f->server, SAYS_200, NULL);
    assert_int_equal(f->server->asked, 2);
    auth_free(a);
}

/* Fetches go on behind the checks, and one begins when the one before has ended. */
static void check_until_asked(struct fixture *f, struct auth *a, struct str token, int times)
{
    do
        assert_int_equal(check(f, a, token), OK);
    while (f->server->asked < times);
}

static void a1_a_server_that_is_down_stops_nobody_for_a_day(void **state)
{
    static const enum manner manners[] = { SAYS_500, HANGS_UP, MOVED, SAYS_200 };
    struct fixture *f = *state;
    struct str day, first;
    struct auth *a;

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ .secret = S(SECRET) });
    day = token_of(f, "RS256", "r1", 100 * 3600);
    assert_int_equal(check(f, a, day), OK);
    for (size_t i = 0; i < COUNT(manners); i++) {
        keys_server_set(f->server, manners[i], manners[i] == SAYS_200 ? "<html>down</html>" : NULL);
        clock_advance(&f->env.clock, HOUR_MS);
        check_until_asked(f, a, day, 2 + (int)i);
        first = token_of(f, "RS256", "r1", 3600 + (int64_t)i);
        assert_int_equal(check(f, a, first), OK); /* not only what is remembered */
    }
    assert_non_null(strstr(logged(f), "could not be fetched"));
    clock_advance(&f->env.clock, 20 * (int64_t)HOUR_MS - 10 * 1000);
    check_until_asked(f, a, day, 6);
    clock_advance(&f->env.clock, 10 * 1000);
    assert_int_equal(check(f, a, day), ERR_UNAUTHORIZED);
    assert_non_null(strstr(logged(f), "for too long"));
    assert_int_equal(check(f, a, token_of(f, "RS256", "r1", 3600)), ERR_UNAUTHORIZED);

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    clock_advance(&f->env.clock, 3000);
    assert_int_equal(check(f, a, day), OK); /* as soon as it is back */
    auth_free(a);
}

static void while_one_fetch_hangs_known_tokens_do_not_wait_twice(void **state)
{
    struct fixture *f = *state;
    struct auth *a;
    struct str t;
    struct asked *q;

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    t = token_of(f, "RS256", "r1", 7200);
    assert_int_equal(check(f, a, t), OK);
    keys_server_set(f->server, HOLDS, NULL);
    clock_advance(&f->env.clock, 10 * MINUTE_MS);
    q = ask(f, a, t);
    assert_int_equal(q->times, 0); /* it may have been revoked: ask first */
    keys_server_set(f->server, HANGS_UP, NULL);
    assert_int_equal(outcome(f, q), OK);
    keys_server_set(f->server, HOLDS, NULL);
    clock_advance(&f->env.clock, MINUTE_MS);
    q = ask(f, a, t);
    assert_int_equal(q->times, 1); /* the last fetch failed: no more waiting */
    assert_int_equal(outcome(f, q), OK);
    keys_server_set(f->server, HANGS_UP, NULL);
    auth_free(a);
}

static void other_keys_do_not_wait_for_the_jwks(void **state)
{
    struct fixture *f = *state;
    struct auth *a;
    struct asked *q;

    keys_server_set(f->server, HOLDS, NULL);
    a = auth_with_jwks(f, (struct auth_options){ .secret = S(SECRET), .admin_token = S(ADMIN) });
    q = ask(f, a, hs256(f));
    assert_int_equal(q->times, 1);
    assert_int_equal(outcome(f, q), OK);
    q = ask(f, a, S(ADMIN));
    assert_int_equal(q->times, 1);
    assert_int_equal(outcome(f, q), OK);
    q = ask(f, a, S("no.token.x"));
    assert_int_equal(q->times, 1);
    assert_int_equal(outcome(f, q), ERR_UNAUTHORIZED);
    keys_server_set(f->server, HANGS_UP, NULL);
    auth_free(a);
}

static void without_any_key_the_next_try_comes_soon(void **state)
{
    struct fixture *f = *state;
    struct auth *a;
    struct str t = token_of(f, "RS256", "r1", 3600);

    keys_server_set(f->server, SAYS_500, NULL);
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    assert_int_equal(check(f, a, t), ERR_UNAUTHORIZED);
    assert_int_equal(check(f, a, t), ERR_UNAUTHORIZED);
    assert_int_equal(f->server->asked, 1);
    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    clock_advance(&f->env.clock, 2000);
    assert_int_equal(check(f, a, t), OK);
    auth_free(a);
}

static void only_so_many_wait(void **state)
{
    struct fixture *f = *state;
    struct asked **q = arena_alloc(&f->arena, LIMIT_JWKS_WAITERS + 1, sizeof(struct asked *));
    struct auth *a;
    struct str t = token_of(f, "RS256", "r1", 3600);

    keys_server_set(f->server, HOLDS, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    for (int i = 0; i <= LIMIT_JWKS_WAITERS; i++)
        q[i] = ask(f, a, t);
    assert_int_equal(q[LIMIT_JWKS_WAITERS]->times, 1);
    assert_int_equal(outcome(f, q[LIMIT_JWKS_WAITERS]), ERR_OVERLOADED);
    keys_server_set(f->server, SAYS_200, NULL);
    for (int i = 0; i < LIMIT_JWKS_WAITERS; i++)
        assert_int_equal(outcome(f, q[i]), OK);
    auth_free(a);
}

static void the_client_may_go_first(void **state)
{
    struct fixture *f = *state;
    struct auth *a;
    struct asked *q;
    struct why why;

    keys_server_set(f->server, HOLDS, NULL);
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    keys_server_await(f->server, 1);
    q = ask(f, a, token_of(f, "RS256", "r1", 3600));
    client_free(f->client);
    assert_int_equal(outcome(f, q), ERR_UNAUTHORIZED);
    auth_free(a);
    assert_int_equal(client_open(&(struct client_options){ .env = &f->env }, &f->client, &why), OK);
}

static void woken(struct task *t)
{
    (void)t;
}

/* The bug: a set that came between a verdict and the wait for it was not looked at. */
static void a_fetch_that_ended_meanwhile_is_looked_at(void **state)
{
    struct fixture *f = *state;
    struct jwks_waiter w = { .task = { .run = woken }, .executor = &f->desk.executor };
    struct cache *cache = cache_new();
    struct jwks *j;
    char url[64];
    uint64_t seen;

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/keys", f->server->port);
    keys_server_set(f->server, HOLDS, NULL);
    j = jwks_new(&(struct jwks_options){ &f->env, f->client, str_of(url), cache });
    seen = jwks_generation(j);
    assert_int_equal(jwks_await(j, seen, &w), JWKS_WAITS);
    keys_server_set(f->server, SAYS_200, NULL);
    desk_next(&f->desk);
    assert_int_equal(jwks_await(j, seen, &w), JWKS_NEWER);
    assert_int_equal(jwks_await(j, jwks_generation(j), &w), JWKS_NO_USE);
    jwks_free(j);
    cache_free(cache);
}

static void a1_the_clients_guard_against_private_targets_counts(void **state)
{
    struct fixture *f = *state;
    struct auth *a;
    struct why why;

    client_free(f->client);
    assert_int_equal(client_open(&(struct client_options){ .env = &f->env }, &f->client, &why), OK);
    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", NULL, NULL));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    assert_int_equal(check(f, a, token_of(f, "RS256", "r1", 3600)), ERR_UNAUTHORIZED);
    assert_int_equal(f->server->asked, 0);
    auth_free(a);
}

/* --- several loops --- */

struct loop_thread {
    struct fixture *f;
    struct auth *auth;
    struct str token;
    pthread_t thread;
    int refused;
};

static void counted(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    (void)r;
    (void)p;
    *(int *)ctx = e ? 2 : 1;
}

static void *many_checks(void *ctx)
{
    struct loop_thread *l = ctx;
    struct header h = { S("Authorization"), l->token };
    struct desk desk;

    desk_init(&desk);
    for (int i = 0; i < 2000; i++) {
        struct exchange x = { .request = { .headers = &h, .header_count = 1 } };
        int done = 0;

        x.request.env = &l->f->env;
        x.request.executor = &desk.executor;
        arena_init(&x.request.arena, LIMIT_REQUEST_ARENA);
        buf_init(&x.headers, LIMIT_REPLY_HEADERS);
        auth_check(l->auth, &x.request, counted, &done);
        while (!done)
            desk_next(&desk);
        l->refused += done == 2;
        arena_release(&x.request.arena);
        buf_release(&x.headers);
        if (i % 100 == 0)
            clock_advance(&l->f->env.clock, 5 * MINUTE_MS); /* so that sets come and go */
    }
    return NULL;
}

static void loops_share_one_auth(void **state)
{
    struct fixture *f = *state;
    struct loop_thread loops[4];
    struct auth *a;
    char *text;
    struct str t;

    keys_server_set(f->server, SAYS_200, set_of(f, f->forge.rsa, "r1", f->forge.ec, "e1"));
    a = auth_with_jwks(f, (struct auth_options){ 0 });
    for (size_t i = 0; i < COUNT(loops); i++) {
        t = token_of(f, i % 2 ? "ES256" : "RS256", i % 2 ? "e1" : "r1", 1000000 + (int64_t)i);
        text = arena_alloc(&f->arena, t.n + 16, 1);
        snprintf(text, t.n + 16, "Bearer " STR_FMT, STR_ARG(t));
        loops[i] = (struct loop_thread){ .f = f, .auth = a, .token = str_of(text) };
    }
    for (size_t i = 0; i < COUNT(loops); i++)
        assert_int_equal(pthread_create(&loops[i].thread, NULL, many_checks, &loops[i]), 0);
    for (size_t i = 0; i < COUNT(loops); i++) {
        pthread_join(loops[i].thread, NULL);
        assert_int_equal(loops[i].refused, 0);
    }
    auth_free(a);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(a1_the_header_is_one_bearer_token),
        WITH(a1_two_authorization_headers_are_none),
        WITH(a2_the_admin_token_is_service_and_admin),
        WITH(a1_a_token_lives_until_its_exp_remembered_or_not),
        WITH(a4_the_log_says_why_and_never_the_token),
        WITH(a_wrong_key_stops_the_start_with_a_line),
        TEST(a2_owners_may_what_the_words_say),
        WITH(a_long_token_is_refused_unread),
        WITH(a1_an_unknown_kid_waits_for_one_fetch),
        WITH(a1_strangers_with_invented_kids_cause_one_fetch_in_30_s),
        WITH(a1_keys_rotate),
        WITH(a1_keys_are_fetched_again_before_their_time_ends),
        WITH(a1_a_server_that_is_down_stops_nobody_for_a_day),
        WITH(while_one_fetch_hangs_known_tokens_do_not_wait_twice),
        WITH(other_keys_do_not_wait_for_the_jwks),
        WITH(without_any_key_the_next_try_comes_soon),
        WITH(only_so_many_wait),
        WITH(the_client_may_go_first),
        WITH(a_fetch_that_ended_meanwhile_is_looked_at),
        WITH(a1_the_clients_guard_against_private_targets_counts),
        WITH(loops_share_one_auth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
