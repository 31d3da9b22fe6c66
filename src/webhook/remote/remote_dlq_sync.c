/* remote_dlq_sync.c - the remote's dead letters become ours, so that an operator has one list (Q5, Q6).
 *
 *   once a minute: GET /v2/dlq?url=<our worker>, page by page --> for each letter one commit: lock
 *   its event, look; open: bury it. Everything else was decided here, and is no dead letter.
 *
 * The remote's letter stays where it is. Seen again, its event is dead here, or was retried or
 * given up by an operator, so nothing follows: a walk may be repeated as often as one likes.
 *
 * A letter of ours is a reference (webhook/event.h): what it names and is not stored here (a database
 * restored from an older copy) is only told; Stripe's own list brings it back (webhook/backfill.c). A letter
 * with a whole event, of an older version or of another publisher, brings it along. */
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

struct mirror {
    struct job *job;
    struct publisher *parts;
    struct arena arena; /* of one page */
    struct call call;
    struct header header;
    int page_size, pages;
    int odd; /* letters that are no events, or of events that are not here */
    char odd_id[64];
    cJSON *page;
    const cJSON *letter; /* of the page: the one that is looked at */

    struct arena letter_arena;
    struct unit unit;
    bool by_reference;
    struct stripe_event event; /* of a whole one, with what is stored of it */
    struct standing_new fresh;
    bool unknown; /* by reference: the event is not here */
    struct standing standing;
    struct message message;
    char trace[TRACE_TEXT + 1];
    struct why why;
};

static void remote_dlq_sync_ask(struct mirror *m);
static void remote_dlq_sync_look(struct mirror *m);

/* Once, and not every minute: only what is new to the operator is said. */
static void log_odd(struct mirror *m)
{
    if (m->odd && m->odd != m->parts->mirror_odd)
        LOG(m->job->env->log, LOG_WARN,
            "Dead letters of the remote QStash are no events, or of events that are not here",
            LOG_NUM("count", m->odd), LOG_TEXT("dlqId", str_of(m->odd_id)));
    m->parts->mirror_odd = m->odd;
}

static void remote_dlq_sync_finish(struct mirror *m)
{
    job_outside_done(m->job, OK, NULL);
}

static void give_up(struct mirror *m, const char *why)
{
    LOG(m->job->env->log, LOG_WARN, "The remote QStash's dead letters cannot be read",
        LOG_TEXT("why", str_of(why)), LOG_TEXT("url", m->parts->told));
    m->parts->mirror_cursor[0] = '\0';
    remote_dlq_sync_finish(m);
}

/* --- one letter --- */

static struct str text_at(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(item) ? str_of(item->valuestring) : (struct str){ 0 };
}

static int64_t number_at(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    bool sane = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < INT32_MAX;

    return sane ? (int64_t)item->valuedouble : 0;
}

/* Its message, as the queue would have had it. */
static enum err read_stored(struct tx *tx, struct mirror *m)
{
    struct takeback_row row;
    struct takeback t;
    enum err e = takeback_find(tx, &m->letter_arena, m->message.ref, &row);

    if (!e)
        e = takeback_read(&m->letter_arena, &row, &t);
    if (e)
        return e == ERR_VALIDATION ? ERR_NOT_FOUND : e; /* none that can be read */
    m->message.has_lane = t.event.has_lane;
    m->message.lane = t.event.lane;
    m->message.body = t.job;
    return OK;
}

static enum err remote_dlq_sync_find(struct tx *tx, struct mirror *m)
{
    enum err e;

    if (!m->by_reference)
        return standing_read_or_add(tx, &m->fresh, &m->standing);
    e = standing_read(tx, m->message.ref, &m->standing);
    if (!e && m->standing.kind == STANDING_OPEN)
        e = read_stored(tx, m);
    return e;
}

static enum err letter_run(struct tx *tx, struct unit *u)
{
    struct mirror *m = CONTAINER_OF(u, struct mirror, unit);
    enum err e = remote_dlq_sync_find(tx, m);

    m->unknown = m->by_reference && e == ERR_NOT_FOUND;
    if (m->unknown)
        return OK;
    if (e || m->standing.kind != STANDING_OPEN)
        return e;
    m->message.id = m->standing.message;
    m->message.added_ms = m->standing.received_ms;
    return standing_bury(tx, m->parts->apply, &m->message, env_now_ms(m->job->env), m->why.text);
}

static void next_letter(struct mirror *m, bool odd)
{
    struct str id = text_at(m->letter, "dlqId");

    if (odd) {
        snprintf(m->odd_id, sizeof(m->odd_id), STR_FMT, STR_ARG(id));
        m->odd++;
    }
    m->letter = m->letter->next;
}

static void letter_done(struct unit *u)
{
    struct mirror *m = CONTAINER_OF(u, struct mirror, unit);
    struct publisher *p = m->parts;

    if (u->err) {
        give_up(m, err_words(u->err, LANG_EN));
        return;
    }
    if (!m->unknown && m->standing.kind == STANDING_OPEN) {
        p->apply->ended(m->job->env, p->apply->ctx, &m->message, JOB_DEAD, m->why.text);
        if (p->alert)
            p->alert(p->alert_ctx, &m->message, m->why.text);
    }
    next_letter(m, m->unknown);
    remote_dlq_sync_look(m);
}

/* False: it is no event of Stripe's. */
static bool read_whole(struct mirror *m, struct str body, struct str id)
{
    struct env *env = m->job->env;
    struct trace trace = trace_enter(env->spans, &env->rng, NULL);

    if (stripe_event_read(&m->letter_arena, body, &m->event) || !m->event.readable)
        return false;
    trace_text(&trace, m->trace);
    m->fresh = (struct standing_new){ .event = &m->event,
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

/* False: it is neither an event of Stripe's nor names one. */
static bool read_letter(struct mirror *m)
{
    struct str body = text_at(m->letter, "body"), id = text_at(m->letter, "dlqId");

    arena_release(&m->letter_arena);
    if (id.n > 64 || !str_is_utf8(id))
        id = (struct str){ 0 };
    why_set(&m->why, "QStash gave it up (its dead letter " STR_FMT "): status %lld", STR_ARG(id),
            (long long)number_at(m->letter, "responseStatus"));
    m->message = (struct message){ .kind = APPLY_EVENT_KIND,
                                   .attempt = number_at(m->letter, "maxRetries") + 1 };
    m->by_reference = !event_reference_read(&m->letter_arena, body, &m->message.ref);
    return m->by_reference || read_whole(m, body, id);
}

static void remote_dlq_sync_look(struct mirror *m)
{
    static const struct unit_kind kind = { "mirror.letter", UNIT_BACK, letter_run, NULL };

    while (m->letter && !read_letter(m))
        next_letter(m, true);
    if (!m->letter) {
        remote_dlq_sync_ask(m);
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
static bool keep_cursor(struct mirror *m, struct str cursor)
{
    struct publisher *p = m->parts;
    bool more = cursor.n && cursor.n < sizeof(p->mirror_cursor);

    memset(p->mirror_cursor, 0, sizeof(p->mirror_cursor));
    if (more)
        memcpy(p->mirror_cursor, cursor.p, cursor.n);
    return more;
}

static void read_page(struct mirror *m)
{
    const cJSON *letters;

    if (json_parse(m->call.answer, &m->page, NULL)) {
        give_up(m, "its answer is not JSON");
        return;
    }
    letters = cJSON_GetObjectItemCaseSensitive(m->page, "messages");
    if (!cJSON_IsArray(letters)) {
        give_up(m, "its answer has no messages");
        return;
    }
    if (!keep_cursor(m, text_at(m->page, "cursor")))
        m->pages = LIMIT_MIRROR_PAGES;
    m->letter = letters->child;
    remote_dlq_sync_look(m);
}

static void remote_dlq_sync_answered(struct call *c)
{
    struct mirror *m = CONTAINER_OF(c, struct mirror, call);
    struct why why;

    if (c->result == CALL_ANSWERED && c->status == 200) {
        read_page(m);
    } else if (c->status == 200 && m->page_size > 1) { /* too large, most likely */
        m->page_size = 1;
        remote_dlq_sync_ask(m);
    } else {
        why_set(&why, "status %d %s", c->status, c->why);
        give_up(m, why.text);
    }
}

static void add_encoded(struct buf *b, struct str s)
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

static struct str page_url(struct mirror *m)
{
    struct publisher *p = m->parts;
    struct str url = { 0 };
    struct buf b;

    buf_init(&b, 8 * LIMIT_SETTING);
    buf_add(&b, p->base);
    buf_fmt(&b, "/v2/dlq?count=%d&url=", m->page_size);
    add_encoded(&b, p->worker_url);
    if (p->mirror_cursor[0]) {
        buf_add(&b, S("&cursor="));
        add_encoded(&b, str_of(p->mirror_cursor));
    }
    if (!b.failed)
        url = arena_str(&m->arena, buf_str(&b));
    buf_release(&b);
    return url;
}

static struct str remote_dlq_sync_bearer(struct mirror *m)
{
    struct str token = m->parts->token;
    size_t size = token.n + sizeof("Bearer ");
    char *text = arena_alloc(&m->arena, 1, size);
    int n = text ? snprintf(text, size, "Bearer " STR_FMT, STR_ARG(token)) : 0;

    return (struct str){ text, (size_t)n };
}

/* The next page, or the end. */
static void remote_dlq_sync_ask(struct mirror *m)
{
    struct str url;

    json_freep(&m->page);
    m->page = NULL;
    arena_release(&m->arena);
    if (m->pages++ >= LIMIT_MIRROR_PAGES) {
        log_odd(m);
        remote_dlq_sync_finish(m);
        return;
    }
    url = page_url(m);
    m->header = (struct header){ S("Authorization"), remote_dlq_sync_bearer(m) };
    if (!url.p || !m->header.value.p) {
        give_up(m, "no memory");
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
    struct mirror *m = p->remote ? calloc(1, sizeof(*m)) : NULL;

    if (!m) { /* not remote any more, or no memory: the next minute may have some */
        job_outside_done(j, OK, NULL);
        return;
    }
    j->state = m; /* freed by remote_dlq_sync_release() */
    m->job = j;
    m->parts = p;
    m->page_size = LIMIT_MIRROR_PAGE;
    arena_init(&m->arena, 2 * (size_t)LIMIT_MIRROR_ANSWER);
    arena_init(&m->letter_arena, LETTER_ARENA);
    remote_dlq_sync_ask(m);
}

/* One message for as long as there is a remote. */
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
    struct mirror *m = j->state;

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
                               .kind = MIRROR_KIND,
                               .due_ms = now_ms + LIMIT_MIRROR_MS };

    return queue_add(p->payments->runtime.queue, tx, now_ms, &first, 1);
}
