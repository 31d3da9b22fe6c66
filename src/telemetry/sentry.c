/* sentry.c - a ring of texts that any thread fills and one executor empties.
 *
 *   ERROR line --masked--> sentry_line --+--> ring --timer--> envelope --> one call under way
 *   alert ------------> sentry_message --+      |                              |
 *                                               '--> dropped and counted <-----'
 *                                                      '--> a report in a later envelope
 *
 *   (1) No call is made twice: an event that Sentry did not take is counted and dropped, as
 *       Sentry's protocol asks for.
 *   (2) Nothing here writes an ERROR line, so a failure of Sentry never becomes an event.
 *   (3) Equal errors are sent LIMIT_SENTRY_SAME times a minute at most, and at most
 *       LIMIT_SENTRY_WAITING events wait.
 * Events that wait at a stop or a crash are lost; their lines are in the log. */
#include "telemetry/sentry.h"

#include "base/env.h"
#include "base/hex.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "http/client/client.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "telemetry/sentry_dsn.h"
#include "telemetry/sentry_event.h"
#include "telemetry/sentry_limits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS = 3, EVENT_ID = 32, MINUTE_MS = 60 * 1000 };

struct same { /* how often a message came, since when */
    uint64_t hash;
    int64_t since_ms;
    int count;
};

struct sentry {
    struct sentry_options options;
    struct sentry_about about;
    struct sentry_dsn dsn;
    char user_agent[64];
    struct header headers[HEADERS];

    pthread_mutex_t lock; /* of the ring and the counts */
    char *ring[LIMIT_SENTRY_WAITING];
    size_t first, waiting;
    int64_t dropped[SENTRY_REASON_COUNT];
    struct same same[LIMIT_SENTRY_MESSAGES];

    /* used on the executor only */
    struct timer timer;
    struct sentry_limits limits;
    bool calling, carries_event, complained;
    int64_t reported[SENTRY_REASON_COUNT]; /* the counts in the call under way */
    int64_t report_at_ms; /* when dropped events are reported, if no event leaves before */
    struct call call;
    struct arena arena;
    struct buf body;
};

/* --- taking: any thread --- */

static void sentry_drop(struct sentry *s, enum sentry_reason why)
{
    s->dropped[why]++;
    metrics_count_as(s->options.env->metrics, COUNT_SENTRY, S("dropped"), 1);
}

static uint64_t hash_of(struct str s)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
    return h;
}

/* Under the lock. The entry of that message, or the one that was unused the longest. */
static struct same *same_as(struct sentry *s, uint64_t hash)
{
    struct same *oldest = &s->same[0];

    for (size_t i = 0; i < COUNT(s->same); i++) {
        if (s->same[i].hash == hash)
            return &s->same[i];
        if (s->same[i].since_ms < oldest->since_ms)
            oldest = &s->same[i];
    }
    *oldest = (struct same){ .hash = hash };
    return oldest;
}

/* Under the lock. */
static bool is_storm(struct sentry *s, struct str message)
{
    int64_t now_ms = env_now_ms(s->options.env);
    struct same *m = same_as(s, hash_of(message));

    if (!m->count || now_ms - m->since_ms >= MINUTE_MS) {
        m->since_ms = now_ms;
        m->count = 0;
    }
    return ++m->count > LIMIT_SENTRY_SAME;
}

/* Under the lock. */
static void sentry_take(struct sentry *s, struct str text, struct str message)
{
    char *copy;

    if (is_storm(s, message)) {
        sentry_drop(s, SENTRY_SAME);
        return;
    }
    copy = s->waiting < LIMIT_SENTRY_WAITING ? strndup(text.p, text.n) : NULL;
    if (!copy) {
        sentry_drop(s, SENTRY_OVERFLOW);
        return;
    }
    s->ring[(s->first + s->waiting++) % LIMIT_SENTRY_WAITING] = copy;
}

void sentry_line(void *ctx, struct str json)
{
    static const char *const paths[] = { "message", "alert", "error_type" };
    struct json_value v[COUNT(paths)];
    struct sentry *s = ctx;

    if (json_pick(json, paths, COUNT(paths), v, NULL) || v[1].type != JSON_ABSENT)
        return;
    if (v[2].type == JSON_STRING && str_eq(v[2].raw, S("declined")))
        return; /* a declined card is an error of the customer and not of the server */
    pthread_mutex_lock(&s->lock);
    sentry_take(s, json, v[0].raw);
    pthread_mutex_unlock(&s->lock);
}

void sentry_message(struct sentry *s, enum sentry_level level, struct str message,
                    struct str fingerprint, const struct log_field *tags, size_t count)
{
    static const char *const levels[] = { "info", "warning", "error", "fatal" };
    struct buf text;

    if (!s)
        return;
    buf_init(&text, LIMIT_SENTRY_EVENT / 4);
    sentry_own(&text, clock_wall_ms(&s->options.env->clock), levels[level], message, fingerprint,
               tags, count);
    pthread_mutex_lock(&s->lock);
    if (text.failed)
        sentry_drop(s, SENTRY_OVERFLOW);
    else
        sentry_take(s, buf_str(&text), fingerprint.n ? fingerprint : message);
    pthread_mutex_unlock(&s->lock);
    buf_release(&text);
}

/* --- sending: on the executor --- */

static char *next_text(struct sentry *s)
{
    char *text = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->waiting) {
        text = s->ring[s->first];
        s->first = (s->first + 1) % LIMIT_SENTRY_WAITING;
        s->waiting--;
    }
    pthread_mutex_unlock(&s->lock);
    return text;
}

static void drop_on_executor(struct sentry *s, enum sentry_reason why)
{
    pthread_mutex_lock(&s->lock);
    sentry_drop(s, why);
    pthread_mutex_unlock(&s->lock);
}

/* Moves the counts of dropped events into the call. False: there are none. */
static bool take_counts(struct sentry *s)
{
    int64_t sum = 0;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SENTRY_REASON_COUNT; i++) {
        s->reported[i] = s->dropped[i];
        sum += s->dropped[i];
        s->dropped[i] = 0;
    }
    pthread_mutex_unlock(&s->lock);
    return sum > 0;
}

static void give_counts_back(struct sentry *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SENTRY_REASON_COUNT; i++)
        s->dropped[i] += s->reported[i];
    pthread_mutex_unlock(&s->lock);
}

static bool has_counts(struct sentry *s)
{
    int64_t sum = 0;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SENTRY_REASON_COUNT; i++)
        sum += s->dropped[i];
    pthread_mutex_unlock(&s->lock);
    return sum > 0;
}

/* A UUID of version 4, in Sentry's form. */
static void new_event_id(struct sentry *s, char id[EVENT_ID + 1])
{
    unsigned char b[EVENT_ID / 2];

    rng_bytes(&s->options.env->rng, b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    *hex_put(id, b, sizeof(b)) = '\0';
}

static void sentry_pump(struct sentry *s);

static void sentry_complain(struct sentry *s)
{
    struct log *l = s->options.env->log;

    if (!s->complained)
        LOG(l, LOG_WARN, "Sentry does not take our errors", LOG_NUM("status", s->call.status),
            LOG_TEXT("why", s->call.result == CALL_ANSWERED
                                ? call_header(&s->call, S("X-Sentry-Error"))
                                : str_of(s->call.why)));
    s->complained = true;
}

/* Counts an event that Sentry did not take; its protocol forbids sending it again. */
static void not_taken(struct sentry *s)
{
    bool limited = s->call.result == CALL_ANSWERED && s->call.status == 429;

    sentry_complain(s);
    give_counts_back(s);
    s->report_at_ms = CLOCK_NEVER; /* with the next event, so that a dead Sentry is not called on */
    if (s->carries_event)
        drop_on_executor(s, s->call.result != CALL_ANSWERED ? SENTRY_NETWORK
                            : limited                       ? SENTRY_LIMITED
                                                            : SENTRY_REFUSED);
}

static void sentry_called(struct call *c)
{
    struct sentry *s = CONTAINER_OF(c, struct sentry, call);

    s->calling = false;
    if (c->result == CALL_ANSWERED)
        sentry_limits_learn(&s->limits, c->status, call_header(c, S("X-Sentry-Rate-Limits")),
                            call_header(c, S("Retry-After")), env_now_ms(s->options.env),
                            clock_wall_ms(&s->options.env->clock));
    if (c->result == CALL_ANSWERED && c->status / 100 == 2) {
        s->complained = false;
        if (s->carries_event)
            metrics_count_as(s->options.env->metrics, COUNT_SENTRY, S("sent"), 1);
    } else
        not_taken(s);
    arena_release(&s->arena);
    sentry_pump(s);
}

static void send_body(struct sentry *s)
{
    s->calling = true;
    s->call = (struct call){
        .method = S("POST"),
        .url = str_of(s->dsn.url),
        .body = buf_str(&s->body),
        .headers = s->headers,
        .header_count = HEADERS,
        .timeout_ms = LIMIT_SENTRY_MS,
        .answer_max = LIMIT_SENTRY_ANSWER,
        .cut_answer = true,
        .once = true,
        .arena = &s->arena,
        .executor = s->options.executor,
        .done = sentry_called,
    };
    client_call(s->options.client, &s->call);
}

/* Writes the envelope. False: the event cannot be made, and was dropped. */
static bool write_body(struct sentry *s, const char *text, int64_t now_ms)
{
    int64_t wall_ms = clock_wall_ms(&s->options.env->clock);
    char id[EVENT_ID + 1] = "";
    enum err e = OK;

    buf_clear(&s->body);
    if (text)
        new_event_id(s, id);
    sentry_head(&s->body, str_of(id), wall_ms, s->about.release);
    if (text)
        e = sentry_event(&s->body, str_of(text), str_of(id), &s->about);
    s->carries_event = text != NULL;
    if (e) {
        drop_on_executor(s, SENTRY_REFUSED);
        return false;
    }
    if (now_ms >= s->limits.reports_until_ms && take_counts(s))
        sentry_report(&s->body, s->reported, wall_ms);
    else
        memset(s->reported, 0, sizeof(s->reported));
    s->report_at_ms = 0;
    return true;
}

/* Drops the events that came while a rate limit of Sentry holds. */
static void drop_limited(struct sentry *s)
{
    char *text;

    while ((text = next_text(s))) {
        free(text);
        drop_on_executor(s, SENTRY_LIMITED);
    }
}

static bool report_is_due(struct sentry *s, int64_t now_ms)
{
    if (!has_counts(s) || now_ms < s->limits.reports_until_ms)
        return false;
    if (!s->report_at_ms)
        s->report_at_ms = now_ms + LIMIT_SENTRY_REPORT_MS;
    return now_ms >= s->report_at_ms;
}

static void sentry_pump(struct sentry *s)
{
    int64_t now_ms = env_now_ms(s->options.env);
    char *text;

    if (now_ms < s->limits.events_until_ms)
        drop_limited(s);
    while (!s->calling && (text = next_text(s))) {
        if (write_body(s, text, now_ms))
            send_body(s);
        free(text);
    }
    if (!s->calling && report_is_due(s, now_ms) && write_body(s, NULL, now_ms))
        send_body(s);
}

static void sentry_tick(struct timer *t)
{
    struct sentry *s = CONTAINER_OF(t, struct sentry, timer);

    sentry_pump(s);
    executor_arm(s->options.executor, &s->timer, env_now_ms(s->options.env) + LIMIT_SENTRY_TICK_MS);
}

/* --- coming and going --- */

void sentry_start(struct sentry *s)
{
    if (s)
        sentry_tick(&s->timer);
}

static struct sentry *sentry_build(const struct sentry_options *o, const struct sentry_dsn *dsn,
                                   const char *user_agent)
{
    struct sentry *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->options = *o;
    s->about = (struct sentry_about){ o->environment, o->release, o->server_name };
    s->dsn = *dsn;
    snprintf(s->user_agent, sizeof(s->user_agent), "%s", user_agent);
    s->headers[0] = (struct header){ S("X-Sentry-Auth"), str_of(s->dsn.auth) };
    s->headers[1] = (struct header){ S("Content-Type"), S("application/x-sentry-envelope") };
    s->headers[2] = (struct header){ S("User-Agent"), str_of(s->user_agent) };
    s->timer = (struct timer){ .fire = sentry_tick, .due_ms = CLOCK_NEVER };
    pthread_mutex_init(&s->lock, NULL);
    buf_init(&s->body, 2 * LIMIT_SENTRY_EVENT);
    arena_init(&s->arena, LIMIT_SENTRY_ANSWER * 4);
    return s;
}

enum err sentry_open(const struct sentry_options *o, struct sentry **ret_sentry, struct why *why)
{
    struct sentry_dsn dsn;
    char client[64];

    if (!o->dsn.n)
        return ERR_NOT_FOUND;
    snprintf(client, sizeof(client), "ichido/" STR_FMT, STR_ARG(o->release));
    if (!sentry_dsn_parse(o->dsn, str_of(client), &dsn, why))
        return ERR_VALIDATION;
    *ret_sentry = sentry_build(o, &dsn, client);
    return *ret_sentry ? OK : ERR_NO_MEMORY;
}

void sentry_free(struct sentry *s)
{
    char *text;

    if (!s)
        return;
    while ((text = next_text(s)))
        free(text);
    buf_release(&s->body);
    arena_release(&s->arena);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
