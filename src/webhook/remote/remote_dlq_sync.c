/* remote_dlq_sync.c - copies the remote's dead letters into ours, so that an operator has one list
 * (Q5, Q6).
 *
 *   once a minute: GET /v2/dlq?url=<our worker>, page by page --> for each letter one commit: lock
 *   its event and read its state; bury an open event, leave any other as it is.
 *
 * The letter stays at the remote. When it is read again, its event is not open any more, so a scan
 * may be repeated after a crash, or at any time.
 *
 * A letter of ours holds a reference (webhook/event.h). If its event is not stored here (an older
 * copy of the database was restored), that is only logged; the backfill reads the event from
 * Stripe's list. A letter of an older version or of another publisher holds the whole event, which
 * is stored. */
#include "base/json/json.h"
#include "base/limits.h"
#include "event/apply_event.h"
#include "observe/log.h"
#include "webhook/event_state.h"
#include "webhook/receive.h"
#include "webhook/remote/publish.h"
#include "webhook/remote/requeue_local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER_ARENA = 4 * 1024 * 1024 };

struct dlq_sync {
    struct job *job;
    struct publisher *parts;
    struct arena arena; /* of one page */
    struct call call;
    struct header header;
    int page_size, pages;
    int unmatched; /* dead letters that hold no event, or an event that is not stored here */
    char unmatched_id[64];
    cJSON *page;
    const cJSON *letter; /* the current dead letter of the page */

    struct arena letter_arena;
    struct unit unit;
    bool by_reference;
    struct stripe_event event; /* of a letter that holds the whole event, and its row: */
    struct new_event fresh;
    bool unknown; /* the event of a reference is not stored here */
    struct event_state state;
    struct message message;
    char trace[TRACE_TEXT + 1];
    struct why why;
};

static void remote_dlq_sync_request_page(struct dlq_sync *m);
static void remote_dlq_sync_next(struct dlq_sync *m);

/* Logged once for each number of them, not every minute. */
static void log_unmatched(struct dlq_sync *m)
{
    if (m->unmatched && m->unmatched != m->parts->dlq_unmatched)
        LOG(m->job->env->log, LOG_WARN,
            "Dead letters of the remote QStash are no events, or of events that are not here",
            LOG_NUM("count", m->unmatched), LOG_TEXT("dlqId", str_of(m->unmatched_id)));
    m->parts->dlq_unmatched = m->unmatched;
}

static void remote_dlq_sync_finish(struct dlq_sync *m)
{
    job_outside_done(m->job, OK, NULL);
}

static void remote_dlq_sync_give_up(struct dlq_sync *m, const char *why)
{
    LOG(m->job->env->log, LOG_WARN, "The remote QStash's dead letters cannot be read",
        LOG_TEXT("why", str_of(why)), LOG_TEXT("url", m->parts->told));
    m->parts->dlq_cursor[0] = '\0';
    remote_dlq_sync_finish(m);
}

/* --- one dead letter --- */

static struct str json_text_at(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(item) ? str_of(item->valuestring) : (struct str){ 0 };
}

static int64_t json_number_at(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    bool sane = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < INT32_MAX;

    return sane ? (int64_t)item->valuedouble : 0;
}

/* Fills the message of a stored event, as the queue would have it. */
static enum err letter_read_stored(struct tx *tx, struct dlq_sync *m)
{
    struct requeue_local_row row;
    struct requeue_local t;
    enum err e = requeue_local_find(tx, &m->letter_arena, m->message.ref, &row);

    if (!e)
        e = requeue_local_read(&m->letter_arena, &row, &t);
    if (e)
        return e == ERR_VALIDATION ? ERR_NOT_FOUND : e; /* the stored event is unreadable */
    m->message.has_lane = t.event.has_lane;
    m->message.lane = t.event.lane;
    m->message.body = t.job;
    return OK;
}

static enum err letter_event_state(struct tx *tx, struct dlq_sync *m)
{
    enum err e;

    if (!m->by_reference)
        return event_state_read_or_add(tx, &m->fresh, &m->state);
    e = event_state_read(tx, m->message.ref, &m->state);
    if (!e && m->state.kind == EVENT_STATE_OPEN)
        e = letter_read_stored(tx, m);
    return e;
}

static enum err letter_run(struct tx *tx, struct unit *u)
{
    struct dlq_sync *m = CONTAINER_OF(u, struct dlq_sync, unit);
    enum err e = letter_event_state(tx, m);

    m->unknown = m->by_reference && e == ERR_NOT_FOUND;
    if (m->unknown)
        return OK;
    if (e || m->state.kind != EVENT_STATE_OPEN)
        return e;
    m->message.id = m->state.message;
    m->message.added_ms = m->state.received_ms;
    return event_state_bury(tx, m->parts->apply, &m->message, env_now_ms(m->job->env), m->why.text);
}

static void letter_advance(struct dlq_sync *m, bool unmatched)
{
    struct str id = json_text_at(m->letter, "dlqId");

    if (unmatched) {
        snprintf(m->unmatched_id, sizeof(m->unmatched_id), STR_FMT, STR_ARG(id));
        m->unmatched++;
    }
    m->letter = m->letter->next;
}

static void letter_done(struct unit *u)
{
    struct dlq_sync *m = CONTAINER_OF(u, struct dlq_sync, unit);
    struct publisher *p = m->parts;

    if (u->err) {
        remote_dlq_sync_give_up(m, err_words(u->err, LANG_EN));
        return;
    }
    if (!m->unknown && m->state.kind == EVENT_STATE_OPEN) {
        p->apply->ended(m->job->env, p->apply->ctx, &m->message, JOB_DEAD, m->why.text);
        if (p->alert)
            p->alert(p->alert_ctx, &m->message, m->why.text);
    }
    letter_advance(m, m->unknown);
    remote_dlq_sync_next(m);
}

/* False: the letter holds no event of Stripe. */
static bool letter_read_event(struct dlq_sync *m, struct str body, struct str id)
{
    struct env *env = m->job->env;
    struct trace trace = trace_enter(env->spans, &env->rng, NULL);

    if (stripe_event_read(&m->letter_arena, body, &m->event) || !m->event.readable)
        return false;
    trace_text(&trace, m->trace);
    m->fresh = (struct new_event){ .event = &m->event,
                                   .body = body,
                                   .request_id = id,
                                   .trace = str_of(m->trace),
                                   .received_ms = env_now_ms(env),
                                   .message = env_uuid(env) };
    m->message.has_lane = m->event.has_lane;
    m->message.lane = m->event.lane;
    m->message.ref = m->event.id;
    m->message.body = receive_job(&m->letter_arena, &m->event, str_of(m->trace));
    return m->message.body.p;
}

/* False: the letter holds neither an event of Stripe nor a reference to one. */
static bool letter_read(struct dlq_sync *m)
{
    struct str body = json_text_at(m->letter, "body"), id = json_text_at(m->letter, "dlqId");

    arena_release(&m->letter_arena);
    if (id.n > 64 || !str_is_utf8(id))
        id = (struct str){ 0 };
    why_set(&m->why, "QStash gave it up (its dead letter " STR_FMT "): status %lld", STR_ARG(id),
            (long long)json_number_at(m->letter, "responseStatus"));
    m->message = (struct message){ .kind = APPLY_EVENT_KIND,
                                   .attempt = json_number_at(m->letter, "maxRetries") + 1 };
    m->by_reference = !event_reference_read(&m->letter_arena, body, &m->message.ref);
    return m->by_reference || letter_read_event(m, body, id);
}

static void remote_dlq_sync_next(struct dlq_sync *m)
{
    static const struct unit_kind kind = { "mirror.letter", UNIT_BACK, letter_run, NULL };

    while (m->letter && !letter_read(m))
        letter_advance(m, true);
    if (!m->letter) {
        remote_dlq_sync_request_page(m);
        return;
    }
    m->unit = (struct unit){ .kind = &kind,
                             .executor = m->parts->payments->runtime.executor,
                             .done = letter_done,
                             .arena = &m->letter_arena };
    store_post(m->parts->payments->runtime.store, &m->unit);
}

/* --- pages --- */

/* False: this was the last page. */
static bool remote_dlq_sync_keep_cursor(struct dlq_sync *m, struct str cursor)
{
    struct publisher *p = m->parts;
    bool more = cursor.n && cursor.n < sizeof(p->dlq_cursor);

    memset(p->dlq_cursor, 0, sizeof(p->dlq_cursor));
    if (more)
        memcpy(p->dlq_cursor, cursor.p, cursor.n);
    return more;
}

static void remote_dlq_sync_read_page(struct dlq_sync *m)
{
    const cJSON *letters;

    if (json_parse(m->call.answer, &m->page, NULL)) {
        remote_dlq_sync_give_up(m, "its answer is not JSON");
        return;
    }
    letters = cJSON_GetObjectItemCaseSensitive(m->page, "messages");
    if (!cJSON_IsArray(letters)) {
        remote_dlq_sync_give_up(m, "its answer has no messages");
        return;
    }
    if (!remote_dlq_sync_keep_cursor(m, json_text_at(m->page, "cursor")))
        m->pages = LIMIT_MIRROR_PAGES;
    m->letter = letters->child;
    remote_dlq_sync_next(m);
}

static void remote_dlq_sync_answered(struct call *c)
{
    struct dlq_sync *m = CONTAINER_OF(c, struct dlq_sync, call);
    struct why why;

    if (c->result == CALL_ANSWERED && c->status == 200) {
        remote_dlq_sync_read_page(m);
    } else if (c->status == 200 && m->page_size > 1) { /* the page was probably too large */
        m->page_size = 1;
        remote_dlq_sync_request_page(m);
    } else {
        why_set(&why, "status %d %s", c->status, c->why);
        remote_dlq_sync_give_up(m, why.text);
    }
}

static void add_percent_encoded(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';

        if (plain)
            buf_char(b, (char)c);
        else
            buf_fmt(b, "%%%02X", c);
    }
}

static struct str page_url(struct dlq_sync *m)
{
    struct publisher *p = m->parts;
    struct str url = { 0 };
    struct buf b;

    buf_init(&b, 8 * LIMIT_SETTING);
    buf_add(&b, p->base);
    buf_fmt(&b, "/v2/dlq?count=%d&url=", m->page_size);
    add_percent_encoded(&b, p->worker_url);
    if (p->dlq_cursor[0]) {
        buf_add(&b, S("&cursor="));
        add_percent_encoded(&b, str_of(p->dlq_cursor));
    }
    if (!b.failed)
        url = arena_str(&m->arena, buf_str(&b));
    buf_release(&b);
    return url;
}

static struct str remote_dlq_sync_bearer(struct dlq_sync *m)
{
    struct str token = m->parts->token;
    size_t size = token.n + sizeof("Bearer ");
    char *text = arena_alloc(&m->arena, 1, size);
    int n = text ? snprintf(text, size, "Bearer " STR_FMT, STR_ARG(token)) : 0;

    return (struct str){ text, (size_t)n };
}

/* The next page, or the end. */
static void remote_dlq_sync_request_page(struct dlq_sync *m)
{
    struct str url;

    json_freep(&m->page);
    m->page = NULL;
    arena_release(&m->arena);
    if (m->pages++ >= LIMIT_MIRROR_PAGES) {
        log_unmatched(m);
        remote_dlq_sync_finish(m);
        return;
    }
    url = page_url(m);
    m->header = (struct header){ S("Authorization"), remote_dlq_sync_bearer(m) };
    if (!url.p || !m->header.value.p) {
        remote_dlq_sync_give_up(m, "no memory");
        return;
    }
    m->call = (struct call){ .method = S("GET"),
                             .url = url,
                             .headers = &m->header,
                             .header_count = 1,
                             .timeout_ms = LIMIT_MIRROR_CALL_MS,
                             .answer_max = LIMIT_MIRROR_ANSWER,
                             .arena = &m->arena,
                             .executor = m->parts->payments->runtime.executor,
                             .done = remote_dlq_sync_answered };
    client_call(m->parts->client, &m->call);
}

/* --- the job --- */

static void remote_dlq_sync_outside(struct job *j, void *ctx)
{
    struct publisher *p = ctx;
    struct dlq_sync *m = p->remote ? calloc(1, sizeof(*m)) : NULL;

    if (!m) { /* no remote is set up, or no memory: tried again in a minute */
        job_outside_done(j, OK, NULL);
        return;
    }
    j->state = m; /* freed by remote_dlq_sync_release() */
    m->job = j;
    m->parts = p;
    m->page_size = LIMIT_MIRROR_PAGE;
    arena_init(&m->arena, 2 * (size_t)LIMIT_MIRROR_ANSWER);
    arena_init(&m->letter_arena, LETTER_ARENA);
    remote_dlq_sync_request_page(m);
}

/* The job repeats for as long as a remote is set up. */
static enum err remote_dlq_sync_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct publisher *p = ctx;

    (void)tx;
    (void)why;
    j->again_ms = p->remote ? env_now_ms(j->env) + LIMIT_MIRROR_MS : 0;
    return OK;
}

static void remote_dlq_sync_release(struct job *j, void *ctx)
{
    struct dlq_sync *m = j->state;

    (void)ctx;
    if (!m)
        return;
    json_freep(&m->page);
    arena_release(&m->arena);
    arena_release(&m->letter_arena);
    free(m);
    j->state = NULL;
}

struct job_kind mirror_kind(struct publisher *p)
{
    return (struct job_kind){
        .name = "webhook.mirror",
        .ctx = p,
        .retry = retry_table[RETRY_NEEDED],
        .outside = remote_dlq_sync_outside,
        .settle = remote_dlq_sync_settle,
        .release = remote_dlq_sync_release,
        .patient = true,
    };
}

enum err mirror_start(struct tx *tx, struct publisher *p, int64_t now_ms)
{
    static const struct uuid only = QUEUE_STANDING_ID('m', 'i', 'r', 'r', 0, 1);
    struct queue_new first = { .id = only,
                               .kind = REMOTE_DLQ_SYNC_KIND,
                               .due_ms = now_ms + LIMIT_MIRROR_MS };

    return queue_add(p->payments->runtime.queue, tx, now_ms, &first, 1);
}
