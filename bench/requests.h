/* requests.h - what the load generator sends. All requests of a run have the same length: a
 * template with marks at a few places, and for each request the values that go there. The values
 * are made before the clock starts, so that making a request is a patch of some hundred bytes.
 *
 *   webhook    one event each, rightly signed, about 2.9 KB as Stripe prints them
 *   bookings   PUT /api/v1/bookings/{id}, owned by the users in turn
 *   create     POST /payments for those bookings, each under a key of its own: 201
 *   replay     the same bookings and keys again and again: 200 with Idempotent-Replayed
 *   story      what Stripe tells of a payment that is in the books: created, charge.succeeded,
 * succeeded, charge.updated; 64 payments at a time, step by step. Payment n has the id of 16 digits
 *   publish    POST /v2/publish/http://127.0.0.1:TARGET/hook, the same 2.9 KB; later with --delay
 *   call       GET of --path, or POST of --form to it: the same bytes each time, but for the key
 *
 * Ids of bookings and keys follow from the seed and the number, so that a later run knows them. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { TOKEN = 24, DIGEST = 64, UUID_SIZE = 36, PLACES = 32, USERS = 16, REQUEST_MAX = 65536 };

enum mode {
    MODE_WEBHOOK,
    MODE_BOOKINGS,
    MODE_CREATE,
    MODE_REPLAY,
    MODE_STORY,
    MODE_PUBLISH,
    MODE_CALL,
    MODES
};

enum field {
    EVENT_TOKEN,
    EVENT_DIGEST,
    BOOKING,
    KEY,
    USER,
    BEARER,
    PAYMENT,
    INTENT,
    STEP_TYPE,
    STEP_PREFIX,
    STEP_OBJECT,
    STEP_STATUS,
    STEP_BALANCE
};
/* A mark is its field's character, as often as the value is long; none of them stands elsewhere. */
static const char marks[] = { '\1',   '\2',   '\3',   '\4',   '\5',   '\6',  '\7',
                              '\x0b', '\x0c', '\x0e', '\x0f', '\x10', '\x11' };

#define TEN(m) m m m m m m m m m m
#define TOKEN_MARK TEN("\1") TEN("\1") "\1\1\1\1"
#define DIGEST_MARK TEN("\2") TEN("\2") TEN("\2") TEN("\2") TEN("\2") TEN("\2") "\2\2\2\2"
#define BOOKING_MARK TEN("\3") TEN("\3") TEN("\3") "\3\3\3\3\3\3"
#define KEY_MARK TEN("\4") TEN("\4") TEN("\4") "\4\4\4\4\4\4"
#define USER_MARK TEN("\5") TEN("\5") TEN("\5") "\5\5\5\5\5\5"

enum { STORY_STEPS = 4, STORY_BLOCK = 64 };

/* One body for all steps: what differs has one width, filled with blanks outside of its quotes. */
static const struct step {
    const char *type, *prefix, *object, *status, *balance;
} story[STORY_STEPS] = {
    { "\"payment_intent.created\"  ", "pi", "\"payment_intent\"", "\"requires_payment_method\"",
      "null                                                           " },
    { "\"charge.succeeded\"        ", "ch", "\"charge\"        ", "\"succeeded\"              ",
      "null                                                           " },
    { "\"payment_intent.succeeded\"", "pi", "\"payment_intent\"", "\"succeeded\"              ",
      "null                                                           " },
    { "\"charge.updated\"          ", "ch", "\"charge\"        ", "\"succeeded\"              ",
      "{\"id\": \"txn_3Story\", \"currency\": \"jpy\", \"fee\": 43, \"net\": 1157}" },
};

struct kind {
    const char *name;
    int status;         /* the answer that counts; 0: any 2xx */
    const char *header; /* and what must stand in its head; NULL: nothing */
    bool again;         /* behind the last request comes the first one */
};

static const struct kind kinds[MODES] = {
    [MODE_WEBHOOK] = { "webhook", 0, NULL, false },
    [MODE_BOOKINGS] = { "bookings", 0, NULL, false },
    [MODE_CREATE] = { "create", 201, NULL, false },
    [MODE_REPLAY] = { "replay", 200, "\r\nIdempotent-Replayed: true\r\n", true },
    [MODE_STORY] = { "story", 0, NULL, false },
    [MODE_PUBLISH] = { "publish", 200, NULL, true },
    [MODE_CALL] = { "call", 200, NULL, true },
};

struct plan { /* what the command line asks for */
    enum mode mode;
    int port;
    size_t count;       /* different requests */
    const char *secret; /* webhook */
    uint64_t seed;      /* of the others' ids, */
    size_t first;       /* from this number on */
    struct str bearer[USERS], user[USERS];
    size_t bearers, users;
    int target;              /* publish: whom to tell, */
    int delay;               /* so many seconds later */
    const char *path, *form; /* call; form NULL: a GET */
};

union record {
    struct {
        char token[TOKEN], digest[DIGEST];
        char intent[TOKEN], payment[UUID_SIZE]; /* story */
    } event;
    struct {
        char booking[UUID_SIZE], key[UUID_SIZE];
    } order;
};

struct place {
    enum field field;
    size_t at, size;
};

struct requests {
    const struct plan *plan;
    union record *records;
    char *template;
    size_t size, head; /* head: where the body begins */
    struct place places[PLACES];
    size_t place_count;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* --- the bodies --- */

/* A payment_intent.succeeded as Stripe prints it: two spaces, about 2.9 KB. */
static void print_event(struct buf *b)
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

static void print_mark(struct buf *b, enum field f, size_t n)
{
    while (n--)
        buf_char(b, marks[f]);
}

static void print_intent(struct buf *b, const char *name, const char *prefix)
{
    buf_fmt(b, "      \"%s\": \"%s_", name, prefix);
    print_mark(b, INTENT, TOKEN);
    buf_add(b, S("\",\n"));
}

static void print_step(struct buf *b, const char *name, enum field f, const char *example)
{
    buf_fmt(b, "      \"%s\": ", name);
    print_mark(b, f, strlen(example));
    buf_add(b, S(",\n"));
}

/* A charge has fields of an intent here, and an intent those of a charge: who reads one does not
 * look at the other's. */
static void print_story(struct buf *b)
{
    buf_fmt(b,
            "{\n  \"id\": \"evt_" TOKEN_MARK "\",\n  \"object\": \"event\",\n"
            "  \"api_version\": \"2025-09-30.clover\",\n  \"created\": %lld,\n"
            "  \"data\": {\n    \"object\": {\n      \"id\": \"",
            (long long)time(NULL));
    print_mark(b, STEP_PREFIX, 2);
    buf_char(b, '_');
    print_mark(b, INTENT, TOKEN);
    buf_add(b, S("\",\n"));
    print_step(b, "object", STEP_OBJECT, story[0].object);
    print_step(b, "status", STEP_STATUS, story[0].status);
    print_step(b, "balance_transaction", STEP_BALANCE, story[0].balance);
    print_intent(b, "payment_intent", "pi");
    print_intent(b, "latest_charge", "ch");
    buf_add(b, S("      \"amount\": 1200,\n      \"amount_received\": 1200,\n      "
                 "\"amount_captured\": 1200,\n"
                 "      \"captured\": true,\n      \"currency\": \"jpy\",\n      \"description\": "
                 "\"A story\",\n"
                 "      \"receipt_url\": \"https://pay.example.com/receipts/story\",\n      "
                 "\"metadata\": {\n"));
    for (int i = 1; i <= 20; i++)
        buf_fmt(b, "        \"order_reference_%02d\": \"%d%048d\",\n", i, i, i);
    buf_add(b, S("        \"payment_id\": \""));
    print_mark(b, PAYMENT, UUID_SIZE);
    buf_add(b, S("\"\n      }\n    }\n  },\n  \"livemode\": false,\n  \"pending_webhooks\": 1,\n  "
                 "\"type\": "));
    print_mark(b, STEP_TYPE, strlen(story[0].type));
    buf_add(b, S("\n}"));
}

static void print_body(struct buf *b, const struct plan *p)
{
    enum mode mode = p->mode;

    if (mode == MODE_CALL)
        buf_add(b, str_of(p->form));
    else if (mode == MODE_WEBHOOK || mode == MODE_PUBLISH)
        print_event(b);
    else if (mode == MODE_STORY)
        print_story(b);
    else if (mode == MODE_BOOKINGS)
        buf_add(b, S("{\"userId\":\"" USER_MARK "\",\"amount\":1200,\"currency\":\"JPY\","
                     "\"status\":\"PENDING\"}"));
    else
        buf_add(b, S("{\"bookingId\":\"" BOOKING_MARK "\",\"amount\":1200,\"currency\":\"JPY\"}"));
}

/* --- the heads --- */

static void print_bearer(struct buf *b, const struct plan *p)
{
    buf_add(b, S("Authorization: Bearer "));
    for (size_t i = 0; i < p->bearer[0].n; i++)
        buf_char(b, marks[BEARER]);
    buf_add(b, S("\r\n"));
}

static void print_line(struct buf *b, const struct plan *p, const char *line)
{
    if (p->mode == MODE_PUBLISH)
        buf_fmt(b, "POST /v2/publish/http://127.0.0.1:%d/hook", p->target);
    else if (p->mode == MODE_CALL)
        buf_fmt(b, "%s %s", p->form ? "POST" : "GET", p->path);
    else
        buf_add(b, str_of(line));
}

static void print_head(struct buf *b, const struct plan *p, size_t body, int64_t stamp)
{
    static const char *const lines[MODES] = {
        [MODE_WEBHOOK] = "POST /api/v1/webhooks/stripe",
        [MODE_BOOKINGS] = "PUT /api/v1/bookings/" BOOKING_MARK,
        [MODE_CREATE] = "POST /payments",
        [MODE_REPLAY] = "POST /payments",
        [MODE_STORY] = "POST /api/v1/webhooks/stripe",
    };

    print_line(b, p, lines[p->mode]);
    buf_fmt(b,
            " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: */*\r\n"
            "Content-Type: %s\r\nContent-Length: %zu\r\n",
            p->port,
            p->mode == MODE_CALL ? "application/x-www-form-urlencoded"
                                 : "application/json; charset=utf-8",
            body);
    if (p->mode == MODE_WEBHOOK || p->mode == MODE_STORY)
        buf_fmt(b,
                "User-Agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)\r\n"
                "Cache-Control: no-cache\r\nStripe-Signature: t=%lld,v1=" DIGEST_MARK "\r\n",
                (long long)stamp);
    else
        print_bearer(b, p);
    if (p->mode == MODE_CREATE || p->mode == MODE_REPLAY || p->form)
        buf_add(b, S("Idempotency-Key: " KEY_MARK "\r\n"));
    if (p->mode == MODE_PUBLISH)
        buf_add(b, S("Upstash-Method: POST\r\n"));
    if (p->delay)
        buf_fmt(b, "Upstash-Delay: %ds\r\n", p->delay);
    buf_add(b, S("\r\n"));
}

static void find_places(struct requests *r)
{
    for (size_t i = 0; i < r->size;) {
        const char *mark = memchr(marks, r->template[i], sizeof(marks));
        size_t end = i + 1;

        while (mark && end < r->size && r->template[end] == *mark)
            end++;
        if (mark && r->place_count < PLACES)
            r->places[r->place_count++] = (struct place){ (enum field)(mark - marks), i, end - i };
        i = end;
    }
}

static void make_template(struct requests *r, int64_t stamp)
{
    struct buf body, all;

    buf_init(&body, REQUEST_MAX);
    buf_init(&all, REQUEST_MAX);
    print_body(&body, r->plan);
    print_head(&all, r->plan, body.n, stamp);
    r->head = all.n;
    buf_add(&all, buf_str(&body));
    if (all.failed)
        die("template");
    r->template = all.p;
    r->size = all.n;
    find_places(r);
    buf_release(&body);
}

/* --- the values --- */

static size_t step_of(size_t i)
{
    return i % (STORY_STEPS * STORY_BLOCK) / STORY_BLOCK;
}

static const char *value_of(const struct requests *r, enum field f, size_t i)
{
    const struct plan *p = r->plan;
    const union record *record = &r->records[i];
    size_t number = p->first + i;

    switch (f) {
    case EVENT_TOKEN: return record->event.token;
    case EVENT_DIGEST: return record->event.digest;
    case BOOKING: return record->order.booking;
    case KEY: return record->order.key;
    case USER: return p->user[number % p->users].p;
    case BEARER: return p->bearer[number % p->bearers].p;
    case PAYMENT: return record->event.payment;
    case INTENT: return record->event.intent;
    case STEP_TYPE: return story[step_of(i)].type;
    case STEP_PREFIX: return story[step_of(i)].prefix;
    case STEP_OBJECT: return story[step_of(i)].object;
    case STEP_STATUS: return story[step_of(i)].status;
    case STEP_BALANCE: return story[step_of(i)].balance;
    }
    abort();
}

/* Writes the i-th request over another one, or over a copy of the template. */
static void requests_patch(const struct requests *r, char *out, size_t i)
{
    for (size_t k = 0; k < r->place_count; k++) {
        const struct place *p = &r->places[k];

        memcpy(out + p->at, value_of(r, p->field, i), p->size);
    }
}

static char *requests_copy(const struct requests *r)
{
    char *copy = malloc(r->size);

    if (!copy)
        die("memory");
    return memcpy(copy, r->template, r->size);
}

static void put_hex(char *out, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
}

/* The n-th random number of a seed (splitmix64). */
static uint64_t random_of(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void put_uuid_of(char out[UUID_SIZE], const unsigned char b[16])
{
    static const struct {
        size_t at, from, bytes;
    } groups[] = { { 0, 0, 4 }, { 9, 4, 2 }, { 14, 6, 2 }, { 19, 8, 2 }, { 24, 10, 6 } };

    memset(out, '-', UUID_SIZE);
    for (size_t i = 0; i < COUNT(groups); i++)
        put_hex(out + groups[i].at, b + groups[i].from, groups[i].bytes);
}

/* A random UUID (version 4), as most clients make them. */
static void put_uuid(char out[UUID_SIZE], uint64_t seed, uint64_t n)
{
    uint64_t halves[2] = { random_of(seed, 2 * n), random_of(seed, 2 * n + 1) };
    unsigned char b[16];

    memcpy(b, halves, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    put_uuid_of(out, b);
}

static void make_orders(struct requests *r)
{
    const struct plan *p = r->plan;

    for (size_t i = 0; i < p->count; i++) {
        put_uuid(r->records[i].order.booking, p->seed, 2 * (p->first + i));
        put_uuid(r->records[i].order.key, p->seed, 2 * (p->first + i) + 1);
    }
}

static void put_token(char token[TOKEN], uint64_t run, size_t number)
{
    char text[40]; /* longer than needed: the compiler knows no bounds of its arguments */

    snprintf(text, sizeof(text), "3%013llx%010zu", (unsigned long long)(run >> 12), number);
    memcpy(token, text, TOKEN);
}

/* The payment's number, and the same intent in all its steps. */
static void put_story(union record *record, size_t i, size_t first)
{
    size_t number = first + i / (STORY_STEPS * STORY_BLOCK) * STORY_BLOCK + i % STORY_BLOCK;
    char text[32];

    snprintf(text, sizeof(text), "%016zu", number);
    put_uuid_of(record->event.payment, (const unsigned char *)text);
    put_token(record->event.intent, 0, number);
}

static void make_events(struct requests *r, int64_t stamp)
{
    const struct plan *p = r->plan;
    const char *secret = p->secret ? p->secret : "nobody asks";
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", (char[]){ "SHA256" }, 0),
                            OSSL_PARAM_construct_end() };
    char *out = requests_copy(r), prefix[32];
    size_t prefix_size = (size_t)snprintf(prefix, sizeof(prefix), "%lld.", (long long)stamp);
    uint64_t run;

    if (getrandom(&run, sizeof(run), 0) != sizeof(run))
        die("getrandom");
    EVP_MAC_init(ctx, (const unsigned char *)secret, strlen(secret), params);
    for (size_t i = 0; i < p->count; i++) {
        unsigned char mac[DIGEST / 2];

        put_token(r->records[i].event.token, run, i);
        if (p->mode == MODE_STORY)
            put_story(&r->records[i], i, p->first);
        requests_patch(r, out, i);
        EVP_MAC_init(ctx, NULL, 0, NULL);
        EVP_MAC_update(ctx, (unsigned char *)prefix, prefix_size);
        EVP_MAC_update(ctx, (unsigned char *)out + r->head, r->size - r->head);
        EVP_MAC_final(ctx, mac, NULL, sizeof(mac));
        put_hex(r->records[i].event.digest, mac, sizeof(mac));
    }
    free(out);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(hmac);
}

/* All that is needed before the clock starts. */
static void requests_prepare(struct requests *r, const struct plan *p)
{
    int64_t stamp = time(NULL);

    r->plan = p;
    r->records = calloc(p->count, sizeof(*r->records));
    if (!r->records)
        die("memory");
    make_template(r, stamp);
    if (p->mode == MODE_WEBHOOK || p->mode == MODE_STORY || p->mode == MODE_PUBLISH)
        make_events(r, stamp);
    else
        make_orders(r);
}
