/* loadgen.c - a sender of unique, rightly signed Stripe events that costs little itself, because it
 * shares two cores with the server it measures.
 *
 *   loadgen PORT --secret S [--connections 64] [--seconds 5] [--rate R] [--max-events N]
 *
 * Every request has the same length: a template with one 24-character token at a few places and one
 * digest. Tokens and digests are made before the clock starts, so that sending is a patch of some
 * hundred bytes and a write(). Two ways to send:
 *   closed loop (no --rate): each connection sends its next event when the last one was answered;
 *   open loop (--rate R): the k-th event is due at k/R seconds, and its latency counts from then,
 *   not from when a connection was free, so that a stall is paid by all that waited (no
 *   coordinated omission).
 * Prints one line of JSON. */
#include "base/buf.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    TOKEN = 24,
    DIGEST = 64,
    PLACES = 16,
    ANSWER_MAX = 4096,
    EVENTS_AT_ONCE = 256,
    REQUEST_MAX = 65536,
    /* latencies: 64 steps in each power of two microseconds, up to 2^32 us */
    STEPS = 64,
    BUCKETS = 33 * STEPS,
};

#define TOKEN_MARK "@@@@@@@@@@@@@@@@@@@@@@@@"
#define DIGEST_MARK "################################################################"

struct options {
    int port, connections, expect;
    double seconds, rate;
    size_t max_events;
    const char *secret;
};

struct prepared {
    char token[TOKEN], digest[DIGEST];
};

struct template
{
    char *bytes;
    size_t size, head; /* head: where the body begins */
    size_t token_at[PLACES], tokens, digest_at;
};

struct connection {
    int fd;
    bool busy, waits_to_write;
    char *out;
    size_t sent;
    int64_t due_ns; /* of the request under way */
    char in[ANSWER_MAX];
    size_t got;
};

struct load {
    struct options o;
    struct template t;
    struct prepared *events;
    struct connection *c;
    struct connection **idle;
    size_t idle_count;
    size_t next, answered, good, bad;
    uint64_t buckets[BUCKETS];
    int64_t worst_us, began_ns, end_ns, last_ns;
    int epoll;
};

static void die(const char *what)
{
    fprintf(stderr, "loadgen: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* --- the event --- */

/* A payment_intent.succeeded as Stripe prints it: two spaces, about 2.9 KB. */
static void print_body(struct buf *b)
{
    static const char *const nulls[] = {
        "application",
        "application_fee_amount",
        "automatic_payment_methods",
        "canceled_at",
        "cancellation_reason",
        "customer_account",
        "last_payment_error",
        "next_action",
        "on_behalf_of",
        "payment_method_configuration_details",
        "payment_record",
        "processing",
        "receipt_email",
        "review",
        "setup_future_usage",
        "shipping",
        "source",
        "statement_descriptor",
        "statement_descriptor_suffix",
        "transfer_data",
        "transfer_group",
    };

    buf_fmt(b,
            "{\n  \"id\": \"evt_" TOKEN_MARK "\",\n  \"object\": \"event\",\n"
            "  \"api_version\": \"2026-10-28.endive\",\n  \"created\": %lld,\n"
            "  \"data\": {\n    \"object\": {\n      \"id\": \"pi_" TOKEN_MARK "\",\n"
            "      \"object\": \"payment_intent\",\n      \"amount\": 12000,\n"
            "      \"amount_capturable\": 0,\n      \"amount_details\": {\n        \"tip\": {}\n"
            "      },\n      \"amount_received\": 12000,\n",
            (long long)time(NULL));
    for (size_t i = 0; i < COUNT(nulls); i++)
        buf_fmt(b, "      \"%s\": null,\n", nulls[i]);
    buf_fmt(b, "      \"capture_method\": \"automatic_async\",\n"
               "      \"client_secret\": \"pi_" TOKEN_MARK "_secret_Yr7Xv2mQ0aTnLwE5cHdKp9sUg\",\n"
               "      \"confirmation_method\": \"automatic\",\n      \"created\": 1760000000,\n"
               "      \"currency\": \"jpy\",\n      \"customer\": \"cus_SbVq0T2n4pXwYd\",\n"
               "      \"description\": \"Order of the load generator\",\n"
               "      \"latest_charge\": \"ch_" TOKEN_MARK "\",\n      \"livemode\": false,\n"
               "      \"metadata\": {\n");
    for (int i = 1; i <= 11; i++)
        buf_fmt(b, "        \"order_reference_%d\": \"%d%048d\"%s\n", i, i, i, i < 11 ? "," : "");
    buf_fmt(b,
            "      },\n      \"payment_method\": \"pm_" TOKEN_MARK "\",\n"
            "      \"payment_method_options\": {\n        \"card\": {\n"
            "          \"installments\": null,\n          \"mandate_options\": null,\n"
            "          \"network\": null,\n          \"request_three_d_secure\": \"automatic\"\n"
            "        }\n      },\n      \"payment_method_types\": [\n        \"card\"\n      ],\n"
            "      \"status\": \"succeeded\"\n    }\n  },\n  \"livemode\": false,\n"
            "  \"pending_webhooks\": 1,\n  \"request\": {\n    \"id\": \"req_Ab12Cd34Ef56Gh\",\n"
            "    \"idempotency_key\": \"6f1c1a5e-6c0b-4c89-9d39-1f0d5a7f2b10\"\n  },\n"
            "  \"type\": \"payment_intent.succeeded\"\n}");
}

static void find_places(struct template *t)
{
    char *p = t->bytes;

    t->digest_at = (size_t)(strstr(t->bytes, DIGEST_MARK) - t->bytes);
    while ((p = strstr(p, TOKEN_MARK))) {
        t->token_at[t->tokens++] = (size_t)(p - t->bytes);
        p += TOKEN;
    }
}

static void make_template(struct load *l, int64_t stamp)
{
    struct buf body, all;

    buf_init(&body, REQUEST_MAX);
    buf_init(&all, REQUEST_MAX);
    print_body(&body);
    buf_fmt(&all,
            "POST /api/v1/webhooks/stripe HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
            "User-Agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)\r\n"
            "Accept: */*; q=0.5, application/xml\r\nCache-Control: no-cache\r\n"
            "Content-Type: application/json; charset=utf-8\r\nContent-Length: %zu\r\n"
            "Stripe-Signature: t=%lld,v1=" DIGEST_MARK "\r\n\r\n",
            l->o.port, body.n, (long long)stamp);
    l->t.head = all.n;
    buf_add(&all, buf_str(&body));
    buf_add(&all, (struct str){ "", 1 });
    l->t.bytes = all.p;
    l->t.size = all.n - 1;
    find_places(&l->t);
    buf_release(&body);
}

static void patch(const struct template *t, char *out, const struct prepared *e)
{
    for (size_t i = 0; i < t->tokens; i++)
        memcpy(out + t->token_at[i], e->token, TOKEN);
    memcpy(out + t->digest_at, e->digest, DIGEST);
}

/* --- before the clock starts --- */

static void make_token(char token[TOKEN], uint64_t run, size_t number)
{
    char text[40]; /* longer than needed: the compiler knows no bounds of its arguments */

    snprintf(text, sizeof(text), "3%013llx%010zu", (unsigned long long)(run >> 12), number);
    memcpy(token, text, TOKEN);
}

static void hex(char out[DIGEST], const unsigned char mac[32])
{
    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[mac[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[mac[i] & 15];
    }
}

static void prepare(struct load *l, int64_t stamp)
{
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", (char[]){ "SHA256" }, 0),
                            OSSL_PARAM_construct_end() };
    char *out = strdup(l->t.bytes), prefix[32];
    size_t prefix_size = (size_t)snprintf(prefix, sizeof(prefix), "%lld.", (long long)stamp);
    uint64_t run;

    if (getrandom(&run, sizeof(run), 0) != sizeof(run))
        die("getrandom");
    l->events = calloc(l->o.max_events, sizeof(*l->events));
    if (!l->events || !out)
        die("memory");
    EVP_MAC_init(ctx, (const unsigned char *)l->o.secret, strlen(l->o.secret), params);
    for (size_t i = 0; i < l->o.max_events; i++) {
        unsigned char mac[32];

        make_token(l->events[i].token, run, i);
        patch(&l->t, out, &l->events[i]);
        EVP_MAC_init(ctx, NULL, 0, NULL);
        EVP_MAC_update(ctx, (unsigned char *)prefix, prefix_size);
        EVP_MAC_update(ctx, (unsigned char *)out + l->t.head, l->t.size - l->t.head);
        EVP_MAC_final(ctx, mac, NULL, sizeof(mac));
        hex(l->events[i].digest, mac);
    }
    free(out);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(hmac);
}

static void open_connection(struct load *l, struct connection *c)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)l->o.port) };
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
    int yes = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)))
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->out = strdup(l->t.bytes);
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e))
        die("epoll_ctl");
    l->idle[l->idle_count++] = c;
}

static void open_all(struct load *l)
{
    size_t n = (size_t)l->o.connections;

    l->epoll = epoll_create1(0);
    l->c = calloc(n, sizeof(*l->c));
    l->idle = calloc(n, sizeof(struct connection *));
    if (l->epoll < 0 || !l->c || !l->idle)
        die("start");
    for (size_t i = 0; i < n; i++)
        open_connection(l, &l->c[i]);
}

/* --- latencies --- */

static size_t bucket_of(int64_t us)
{
    unsigned power = us < STEPS ? 0 : (unsigned)(63 - __builtin_clzll((uint64_t)us)) - 5;
    size_t b = power * STEPS / 2 + (size_t)(us >> power);

    return b < BUCKETS ? b : BUCKETS - 1;
}

static int64_t bucket_top(size_t b)
{
    size_t power = b < STEPS ? 0 : (b - STEPS / 2) / (STEPS / 2);

    return (int64_t)((b - power * STEPS / 2 + 1) << power) - 1;
}

static void note(struct load *l, int64_t us)
{
    l->buckets[bucket_of(us < 0 ? 0 : us)]++;
    if (us > l->worst_us)
        l->worst_us = us;
}

static int64_t percentile(const struct load *l, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)l->answered + 0.5), seen = 0;

    for (size_t b = 0; b < BUCKETS; b++) {
        seen += l->buckets[b];
        if (seen && seen >= wanted)
            return bucket_top(b) < l->worst_us ? bucket_top(b) : l->worst_us;
    }
    return l->worst_us;
}

/* --- sending and receiving --- */

static void watch_writing(struct load *l, struct connection *c, bool on)
{
    struct epoll_event e = { .events = EPOLLIN | (on ? EPOLLOUT : 0), .data.ptr = c };

    if (c->waits_to_write == on)
        return;
    c->waits_to_write = on;
    epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void go_on_sending(struct load *l, struct connection *c)
{
    while (c->sent < l->t.size) {
        ssize_t n = write(c->fd, c->out + c->sent, l->t.size - c->sent);

        if (n < 0 && errno == EAGAIN) {
            watch_writing(l, c, true);
            return;
        }
        if (n < 0)
            die("write");
        c->sent += (size_t)n;
    }
    watch_writing(l, c, false);
}

static void send_next(struct load *l, struct connection *c, int64_t due_ns)
{
    patch(&l->t, c->out, &l->events[l->next++]);
    c->sent = c->got = 0;
    c->busy = true;
    c->due_ns = due_ns;
    go_on_sending(l, c);
}

/* The whole answer is there: its length, or 0. */
static size_t answer_length(const struct connection *c)
{
    const char *end = memmem(c->in, c->got, "\r\n\r\n", 4);
    const char *length;
    size_t head;

    if (!end)
        return 0;
    head = (size_t)(end - c->in) + 4;
    length = memmem(c->in, head, "Content-Length: ", 16);
    if (!length)
        length = memmem(c->in, head, "content-length: ", 16);
    if (length)
        head += strtoul(length + 16, NULL, 10);
    return c->got >= head ? head : 0;
}

static void take_answer(struct load *l, struct connection *c)
{
    int status = c->got > 12 ? (int)strtol(c->in + 9, NULL, 10) : 0;

    l->last_ns = now_ns();
    note(l, (l->last_ns - c->due_ns) / 1000);
    l->answered++;
    if (status / 100 == 2)
        l->good++;
    else
        l->bad++;
    c->busy = false;
    l->idle[l->idle_count++] = c;
}

static void receive(struct load *l, struct connection *c)
{
    ssize_t n = read(c->fd, c->in + c->got, sizeof(c->in) - c->got);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        die("the server hung up");
    c->got += (size_t)n;
    if (c->busy && answer_length(c))
        take_answer(l, c);
}

/* When the k-th event is due. */
static int64_t due_ns(const struct load *l, size_t k)
{
    return l->o.rate > 0 ? l->began_ns + (int64_t)((double)k * 1e9 / l->o.rate) : now_ns();
}

static bool more_to_send(const struct load *l)
{
    if (l->next == l->o.max_events)
        return false;
    return (l->o.rate > 0 ? due_ns(l, l->next) : now_ns()) < l->end_ns;
}

static void send_what_is_due(struct load *l)
{
    while (l->idle_count && more_to_send(l)) {
        int64_t due = due_ns(l, l->next);

        if (l->o.rate > 0 && due > now_ns())
            return;
        send_next(l, l->idle[--l->idle_count], due);
    }
}

static void wait_for_something(struct load *l)
{
    struct epoll_event e[EVENTS_AT_ONCE];
    int64_t wait = 1000000000;
    struct timespec ts;
    int n;

    if (l->o.rate > 0 && l->idle_count && more_to_send(l)) {
        wait = due_ns(l, l->next) - now_ns();
        wait = wait < 0 ? 0 : wait;
    }
    ts = (struct timespec){ wait / 1000000000, wait % 1000000000 };
    n = epoll_pwait2(l->epoll, e, EVENTS_AT_ONCE, &ts, NULL);
    for (int i = 0; i < n; i++) {
        struct connection *c = e[i].data.ptr;

        if (e[i].events & EPOLLOUT)
            go_on_sending(l, c);
        if (e[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            receive(l, c);
    }
}

static void run(struct load *l)
{
    l->began_ns = l->last_ns = now_ns();
    l->end_ns = l->began_ns + (int64_t)(l->o.seconds * 1e9);
    do {
        send_what_is_due(l);
        if (l->answered < l->next || more_to_send(l))
            wait_for_something(l);
    } while (more_to_send(l) || l->answered < l->next);
}

static void report(const struct load *l)
{
    double seconds = (double)(l->last_ns - l->began_ns) / 1e9;

    printf("{\"connections\":%d,\"offered\":%.0f,\"seconds\":%.3f,\"answered\":%zu,\"ok\":%zu,"
           "\"failed\":%zu,\"rate\":%.0f,\"bytes\":%zu,\"p50_us\":%lld,\"p90_us\":%lld,"
           "\"p99_us\":%lld,\"p999_us\":%lld,\"max_us\":%lld}\n",
           l->o.connections, l->o.rate, seconds, l->answered, l->good, l->bad,
           seconds > 0 ? (double)l->good / seconds : 0, l->t.size - l->t.head,
           (long long)percentile(l, 0.5), (long long)percentile(l, 0.9),
           (long long)percentile(l, 0.99), (long long)percentile(l, 0.999), (long long)l->worst_us);
}

static void read_options(struct options *o, int argc, char **argv)
{
    static const struct option names[] = {
        { "secret", required_argument, 0, 's' },     { "connections", required_argument, 0, 'c' },
        { "seconds", required_argument, 0, 't' },    { "rate", required_argument, 0, 'r' },
        { "max-events", required_argument, 0, 'n' }, { 0, 0, 0, 0 },
    };
    int c;

    *o = (struct options){ .connections = 64, .seconds = 5, .max_events = 400000 };
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 's')
            o->secret = optarg;
        else if (c == 'c')
            o->connections = (int)strtol(optarg, NULL, 10);
        else if (c == 't')
            o->seconds = strtod(optarg, NULL);
        else if (c == 'r')
            o->rate = strtod(optarg, NULL);
        else if (c == 'n')
            o->max_events = strtoul(optarg, NULL, 10);
        else
            exit(2);
    }
    o->port = optind < argc ? (int)strtol(argv[optind], NULL, 10) : 0;
    if (!o->port || !o->secret || o->connections < 1 || !o->max_events) {
        fprintf(stderr, "loadgen PORT --secret S [--connections N] [--seconds S] [--rate R]"
                        " [--max-events N]\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct load l;
    int64_t stamp = time(NULL);

    read_options(&l.o, argc, argv);
    make_template(&l, stamp);
    prepare(&l, stamp);
    open_all(&l);
    run(&l);
    report(&l);
    return l.bad ? 1 : 0;
}
