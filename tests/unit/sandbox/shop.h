/* shop.h - a whole sandbox on a free port with a file of its own, and a client that calls it as a
 * shop would. Answers live until shop_close(). */
#pragma once

#include "base/json/json.h"
#include "base/limits.h"
#include "base/why.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "sandbox/sandbox.h"
#include "unit/cm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SHOP_PATIENCE_S = 30, SHOP_TRIES = 1500, ANSWER_MAX = 4 * 1024 * 1024 };
#define API_KEY "sk_test_1234567890"

struct shop {
    struct env env;
    struct sandbox *s;
    struct arena arena;
    char dir[64];
    int log_fd;
    size_t marked; /* events that were there before */
};

struct reply {
    int status;    /* 0: the connection was closed without an answer */
    char *headers; /* with the status line */
    char *body;
};

static inline void shop_start(struct shop *shop)
{
    struct sandbox_options o = { .env = &shop->env, .listen = S("127.0.0.1:0") };
    char db[128];
    struct why why = { 0 };

    snprintf(db, sizeof(db), "sqlite:%s/sandbox.db", shop->dir);
    o.db = str_of(db);
    if (sandbox_open(&o, &shop->s, &why))
        fail_msg("%s", why.text);
    sandbox_start(shop->s);
}

static inline struct shop *shop_open(void)
{
    struct shop *shop = calloc(1, sizeof(*shop));

    arena_init(&shop->arena, 512 * 1024 * 1024);
    snprintf(shop->dir, sizeof(shop->dir), "%s/ichido-shop-XXXXXX", getenv("TMPDIR") ?: "/tmp");
    assert_non_null(mkdtemp(shop->dir));
    clock_init(&shop->env.clock);
    rng_init_kernel(&shop->env.rng);
    shop->log_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    shop->env.log = log_new(&shop->env.clock, shop->log_fd, LOG_ERROR, false);
    shop->env.metrics = metrics_new();
    shop_start(shop);
    return shop;
}

static inline void shop_close(struct shop *shop)
{
    char command[128];

    sandbox_free(shop->s);
    log_free(shop->env.log);
    metrics_free(shop->env.metrics);
    close(shop->log_fd);
    arena_release(&shop->arena);
    snprintf(command, sizeof(command), "rm -rf %s", shop->dir);
    assert_int_equal(system(command), 0);
    free(shop);
}

/* --- calls --- */

static inline int shop_connect(struct shop *shop)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)sandbox_port(shop->s)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval patience = { .tv_sec = SHOP_PATIENCE_S };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* headers: further lines, each with its CRLF. Returns the socket: the answer is read later. */
static inline int shop_send(struct shop *shop, const char *method, const char *path,
                            const char *headers, const char *body)
{
    size_t size = strlen(path) + strlen(headers) + strlen(body) + 256;
    char *text = malloc(size);
    int fd = shop_connect(shop);
    int n = snprintf(text, size,
                     "%s %s HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n%s"
                     "Content-Length: %zu\r\n\r\n%s",
                     method, path, headers, strlen(body), body);

    assert_int_equal(write(fd, text, (size_t)n), n);
    free(text);
    return fd;
}

static inline struct reply shop_hear(struct shop *shop, int fd)
{
    char *text = malloc(ANSWER_MAX), *end;
    struct reply r = { 0 };
    size_t n = 0;
    ssize_t got;

    while ((got = recv(fd, text + n, ANSWER_MAX - 1 - n, 0)) > 0)
        n += (size_t)got;
    assert_int_equal(got, 0);
    close(fd);
    text[n] = '\0';
    end = strstr(text, "\r\n\r\n");
    if (n) {
        assert_non_null(end);
        r.status = atoi(text + 9);
        r.headers = arena_cstr(&shop->arena, (struct str){ text, (size_t)(end - text) });
        r.body = arena_cstr(&shop->arena, str_of(end + 4));
    }
    free(text);
    return r;
}

static inline struct reply shop_call(struct shop *shop, const char *method, const char *path,
                                     const char *body, const char *key)
{
    char headers[512];

    snprintf(headers, sizeof(headers), "Authorization: Bearer " API_KEY "\r\n%s%s%s",
             key ? "Idempotency-Key: " : "", key ? key : "", key ? "\r\n" : "");
    return shop_hear(shop, shop_send(shop, method, path, headers, body));
}

static inline struct reply shop_post(struct shop *shop, const char *path, const char *body)
{
    return shop_call(shop, "POST", path, body, NULL);
}

static inline struct reply shop_get(struct shop *shop, const char *path)
{
    return shop_call(shop, "GET", path, "", NULL);
}

static inline const char *shop_path(struct shop *shop, const char *before, const char *id,
                                    const char *after)
{
    size_t size = strlen(before) + strlen(id) + strlen(after) + 1;
    char *path = arena_alloc(&shop->arena, size, 1);

    snprintf(path, size, "%s%s%s", before, id, after);
    return path;
}

/* --- what an answer says --- */

/* The value at a path, texts without their quotes; "" where there is none, "null" where that is. */
static inline const char *at(struct shop *shop, struct reply r, const char *path)
{
    struct json_value v;

    if (json_pick(str_of(r.body), &path, 1, &v, NULL))
        fail_msg("no JSON: %s", r.body);
    return v.type == JSON_ABSENT ? "" : arena_cstr(&shop->arena, v.raw);
}

static inline void expect(struct shop *shop, struct reply r, const char *path, const char *value)
{
    const char *have = at(shop, r, path);

    if (strcmp(have, value) != 0)
        fail_msg("%s is %s and not %s: %d %s", path, have, value, r.status, r.body);
}

static inline void expect_status(struct reply r, int status)
{
    if (r.status != status)
        fail_msg("not %d: %d %s", status, r.status, r.body ? r.body : "");
}

static inline bool says(struct reply r, const char *header)
{
    return strcasestr(r.headers, header) != NULL;
}

/* --- events --- */

static inline cJSON *shop_event_list(struct shop *shop)
{
    struct reply r = shop_get(shop, "/_sandbox/events?limit=100");
    cJSON *tree = NULL;

    expect_status(r, 200);
    assert_int_equal(json_parse(str_of(r.body), &tree, NULL), OK);
    return tree;
}

static inline void shop_mark(struct shop *shop)
{
    CLEANUP(json_freep) cJSON *tree = shop_event_list(shop);

    shop->marked = (size_t)cJSON_GetArraySize(cJSON_GetObjectItem(tree, "data"));
}

/* Their types since the mark, oldest first, with a blank between them. */
static inline const char *shop_events(struct shop *shop)
{
    CLEANUP(json_freep) cJSON *tree = shop_event_list(shop);
    const cJSON *data = cJSON_GetObjectItem(tree, "data");
    int n = cJSON_GetArraySize(data) - (int)shop->marked;
    struct buf b;
    char *text;

    buf_init(&b, ANSWER_MAX);
    for (int i = n - 1; i >= 0; i--) {
        buf_add(&b, b.n ? S(" ") : S(""));
        buf_add(&b, str_of(cJSON_GetObjectItem(cJSON_GetArrayItem(data, i), "type")->valuestring));
    }
    text = arena_cstr(&shop->arena, buf_str(&b));
    buf_release(&b);
    return text;
}

static inline void pause_a_little(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20 * 1000 * 1000 }, NULL);
}

static inline void expect_events(struct shop *shop, const char *types)
{
    const char *have = "";

    for (int i = 0; i < SHOP_TRIES; i++) {
        have = shop_events(shop);
        if (strcmp(have, types) == 0)
            return;
        if (strncmp(have, types, strlen(have)) != 0)
            break;
        pause_a_little();
    }
    fail_msg("not\n%s\nbut\n%s", types, have);
}

/* --- time --- */

static inline void shop_moved(void *ctx)
{
    atomic_store((atomic_bool *)ctx, true);
}

static inline void shop_wait_ms(struct shop *shop, int64_t ms)
{
    atomic_bool moved = false;

    sandbox_clock_moved(shop->s, ms, shop_moved, &moved);
    while (!atomic_load(&moved))
        pause_a_little();
}

/* --- the common steps --- */

#define PAY "amount=1000&currency=jpy&confirm=true&payment_method="

static inline struct reply shop_pay(struct shop *shop, const char *method, const char *more)
{
    return shop_post(shop, "/v1/payment_intents", shop_path(shop, PAY, method, more));
}

static inline struct reply shop_intent(struct shop *shop, const char *id)
{
    return shop_get(shop, shop_path(shop, "/v1/payment_intents/", id, "?expand[]=latest_charge"));
}

static inline int shop_setup(void **state)
{
    *state = shop_open();
    return 0;
}

static inline int shop_teardown(void **state)
{
    shop_close(*state);
    return 0;
}
#define SHOP_TEST(f) cmocka_unit_test_setup_teardown(f, shop_setup, shop_teardown)
