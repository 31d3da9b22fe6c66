/* link.c - the connection of one listener.
 *
 *   GET with Websocket-Id --> unit: does the session exist? --> WebSocket --> pump
 *
 *   pump:  room in the window? --> read the next rows --> sign, send, remember their numbers
 *   ack:   its number is in the window --> delete its row, leave the window --> pump
 *
 *   (1) At most one read and one change are under way for a link.
 *   (2) A link is freed when its WebSocket has closed and both are back. The last change stores
 *       that the session waits for its next connection.
 *
 * A crash loses the window only: the rows that were not acknowledged are sent again. */
#include "http/websocket/websocket.h"
#include "observe/log.h"
#include "sandbox/relay/listeners.h"

#include <stdlib.h>
#include <string.h>

struct outgoing {
    int64_t seq;
    bool acked;    /* the listener has it */
    bool deleting; /* its row is being deleted */
};

struct link {
    struct relay *relay;
    struct link *next, **place; /* the relay's list */
    struct request *request;    /* until it is accepted */
    struct websocket *w;        /* NULL: not open */
    bool over;                  /* its WebSocket has closed */
    struct str session;
    char session_text[RELAY_ID + 1], id[UUID_TEXT + 1], secret[RELAY_SECRET + 1];

    struct outgoing window[LIMIT_RELAY_WINDOW];
    size_t count;
    int64_t sent; /* number of the last event sent */

    struct unit read;
    bool reading, again; /* again: rows may have been added since the read began */
    int64_t read_after, read_most;
    struct arena arena;
    struct relay_event_out rows[LIMIT_RELAY_WINDOW];
    size_t row_count;

    struct unit change; /* joins, deletes rows, or leaves */
    bool changing, left;
    int64_t deleted[LIMIT_RELAY_WINDOW];
    size_t deleted_count;
};

static void link_pump(struct link *k);
static void link_continue(struct link *k);

static void link_free(struct link *k)
{
    *k->place = k->next;
    if (k->next)
        k->next->place = k->place;
    arena_release(&k->arena);
    free(k);
}

void relay_links_free(struct relay *r)
{
    struct link *next;

    for (struct link *k = r->links; k; k = next) {
        next = k->next;
        arena_release(&k->arena);
        free(k);
    }
    r->links = NULL;
}

static void link_post_change(struct link *k, const struct unit_kind *kind,
                             void (*done)(struct unit *u))
{
    k->changing = true;
    k->change = (struct unit){ .kind = kind, .done = done };
    relay_post(k->relay, &k->change);
}

/* --- sending --- */

static enum err add_event_row(void *ctx, const struct row *row)
{
    struct link *k = ctx;
    struct relay_event_out *e = &k->rows[k->row_count];

    e->seq = row->col[0].i;
    e->id = arena_str(&k->arena, row->col[1].s);
    e->body = arena_str(&k->arena, row->col[2].s);
    if (!e->id.p || !e->body.p)
        return ERR_NO_MEMORY;
    k->row_count++;
    return OK;
}

static enum err read_run(struct tx *tx, struct unit *u)
{
    struct link *k = CONTAINER_OF(u, struct link, read);
    const struct val v[] = { V_TEXT(k->session), V_INT(k->read_after), V_INT(k->read_most) };
    enum err e;

    k->row_count = 0;
    e = tx_each(tx, STMT_relay_waiting, v, COUNT(v), add_event_row, k);
    return e == ERR_NO_MEMORY && k->row_count ? OK : e; /* the rest is read next time */
}

/* An event too large for a message is treated as acknowledged, since nothing could ever acknowledge
 * it. */
static void link_skip_event(struct link *k, const struct relay_event_out *e)
{
    LOG(k->relay->s->env.log, LOG_WARN, "sandbox relay left out an event",
        LOG_TEXT("eventId", e->id));
    k->window[k->count++] = (struct outgoing){ .seq = e->seq, .acked = true };
    k->sent = e->seq;
}

/* False: the WebSocket has no room now. */
static bool link_send(struct link *k, const struct relay_event_out *e)
{
    int64_t now_s = clock_wall_ms(&k->relay->s->env.clock) / 1000;
    bool fits, sent = true;
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    fits = relay_message_write(&b, e, str_of(k->secret), now_s);
    if (fits)
        sent = websocket_send(k->w, buf_str(&b));
    else
        link_skip_event(k, e);
    buf_release(&b);
    if (!fits || !sent)
        return sent;
    k->window[k->count++] = (struct outgoing){ .seq = e->seq };
    k->sent = e->seq;
    return true;
}

static void read_done(struct unit *u)
{
    struct link *k = CONTAINER_OF(u, struct link, read);
    struct relay *r = k->relay;
    bool again = k->again;

    k->reading = k->again = false;
    for (size_t i = 0; i < k->row_count && !u->err && k->w; i++)
        if (!link_send(k, &k->rows[i]))
            break;
    again |= k->row_count > 0;
    arena_release(&k->arena);
    if (u->err && k->w)
        websocket_close(k->w, CLOSE_TRY_LATER, S("the sandbox's database did not answer"));
    else if (again)
        link_pump(k);
    link_continue(k);
    relay_unit_done(r);
}

/* Reads the next rows, if the link is open and has room. */
static void link_pump(struct link *k)
{
    static const struct unit_kind kind = { "sandbox.relay_read", UNIT_READ, read_run, NULL };

    if (k->reading) {
        k->again = true;
        return;
    }
    if (!k->w || k->count == LIMIT_RELAY_WINDOW || !websocket_has_room(k->w))
        return;
    k->reading = true;
    k->read_after = k->sent;
    /* the room can only grow until the read is done */
    k->read_most = (int64_t)(LIMIT_RELAY_WINDOW - k->count);
    k->read = (struct unit){ .kind = &kind, .done = read_done, .arena = &k->arena };
    relay_post(k->relay, &k->read);
}

void relay_pump_all(struct relay *r)
{
    for (struct link *k = r->links; k; k = k->next)
        link_pump(k);
}

/* --- acknowledgements --- */

static enum err delete_run(struct tx *tx, struct unit *u)
{
    const struct link *k = CONTAINER_OF(u, struct link, change);
    enum err e = OK;

    for (size_t i = 0; i < k->deleted_count && !e; i++)
        e = TX_DO(tx, STMT_relay_waiting_end, -1, V_TEXT(k->session), V_INT(k->deleted[i]));
    return e;
}

/* The rows leave the window even if the database failed: then they are sent again later. */
static void delete_done(struct unit *u)
{
    struct link *k = CONTAINER_OF(u, struct link, change);
    struct relay *r = k->relay;
    size_t kept = 0;

    k->changing = false;
    for (size_t i = 0; i < k->count; i++)
        if (!k->window[i].deleting)
            k->window[kept++] = k->window[i];
    k->count = kept;
    link_pump(k);
    link_continue(k);
    relay_unit_done(r);
}

static bool delete_acked(struct link *k)
{
    static const struct unit_kind kind = { "sandbox.relay_ack", UNIT_BACK, delete_run, NULL };

    k->deleted_count = 0;
    for (size_t i = 0; i < k->count; i++) {
        struct outgoing *o = &k->window[i];

        o->deleting = o->acked;
        if (o->acked)
            k->deleted[k->deleted_count++] = o->seq;
    }
    if (k->deleted_count)
        link_post_change(k, &kind, delete_done);
    return k->deleted_count > 0;
}

static void link_acknowledge(struct link *k, int64_t seq)
{
    for (size_t i = 0; i < k->count; i++)
        k->window[i].acked |= k->window[i].seq == seq;
    link_continue(k);
}

static void on_text(struct websocket *w, void *ctx, struct str text)
{
    struct link *k = ctx;
    struct relay_message_in in = relay_message_read(text);

    (void)w;
    if (in.type == RELAY_ACK)
        link_acknowledge(k, in.seq);
    else
        LOG(k->relay->s->env.log, LOG_DEBUG, "sandbox relay",
            LOG_TEXT("what", in.type == RELAY_RESPONSE ? S("forwarded") : S("not understood")),
            LOG_NUM("number", in.seq), LOG_NUM("status", in.status));
}

/* --- the end of a connection --- */

static enum err leave_run(struct tx *tx, struct unit *u)
{
    const struct link *k = CONTAINER_OF(u, struct link, change);
    int64_t until = env_now_ms(&k->relay->s->env) + LIMIT_RELAY_AWAIT_MS;

    return TX_DO(tx, STMT_relay_session_leave, -1, V_INT(until), V_TEXT(k->session),
                 V_TEXT(str_of(k->id)));
}

static void leave_done(struct unit *u)
{
    struct link *k = CONTAINER_OF(u, struct link, change);
    struct relay *r = k->relay;

    link_free(k); /* if the database failed, the next start ends the session */
    relay_unit_done(r);
}

static void link_leave(struct link *k)
{
    static const struct unit_kind kind = { "sandbox.relay_leave", UNIT_BACK, leave_run, NULL };

    if (k->relay->ended)
        return; /* relay_free() frees the link */
    k->left = true;
    link_post_change(k, &kind, leave_done);
}

/* Begins the next change that is due, one at a time. */
static void link_continue(struct link *k)
{
    if (k->changing || k->left)
        return;
    if (!delete_acked(k) && k->over && !k->reading)
        link_leave(k);
}

static void on_opened(struct websocket *w, void *ctx)
{
    struct link *k = ctx, *other = k->relay->links;

    k->w = w;
    for (; other; other = other->next)
        if (other != k && other->w && str_eq(other->session, k->session))
            websocket_close(other->w, CLOSE_NORMAL, S("connected anew"));
    LOG(k->relay->s->env.log, LOG_INFO, "sandbox listener connected");
    link_pump(k);
}

static void on_drained(struct websocket *w, void *ctx)
{
    (void)w;
    link_pump(ctx);
}

static void on_closed(void *ctx, int code)
{
    struct link *k = ctx;

    k->w = NULL;
    k->over = true;
    LOG(k->relay->s->env.log, LOG_INFO, "sandbox listener left", LOG_NUM("code", code));
    if (!k->relay->ended)
        link_continue(k);
}

/* --- the beginning of a connection --- */

static const struct websocket_ops ops = { .message_max = LIMIT_RELAY_MESSAGE,
                                          .opened = on_opened,
                                          .text = on_text,
                                          .drained = on_drained,
                                          .closed = on_closed };

static enum err join_run(struct tx *tx, struct unit *u)
{
    struct link *k = CONTAINER_OF(u, struct link, change);

    return relay_row_join(tx, k->session, str_of(k->id), env_now_ms(&k->relay->s->env), k->secret);
}

/* These exact words make Stripe's command line ask for a new session. */
static void reject_session(struct request *r)
{
    reply_send(r, 400, S("application/json"),
               S("{\"error\":{\"message\":\"Unknown WebSocket ID.\","
                 "\"type\":\"invalid_request_error\"}}"));
}

static void link_accept(struct link *k)
{
    static const struct str names[] = { { "stripecli-devproxy-v1", 21 } };
    struct request *r = k->request;

    k->request = NULL;
    if (websocket_accept(r, websocket_protocol(r, names, COUNT(names)), &ops, k))
        return;
    k->over = true; /* the peer had disconnected */
    link_continue(k);
}

static void join_done(struct unit *u)
{
    struct link *k = CONTAINER_OF(u, struct link, change);
    struct relay *r = k->relay;
    struct request *request = k->request;
    enum err e = u->err;

    k->changing = false;
    if (!e) {
        link_accept(k);
    } else {
        link_free(k);
        if (e == ERR_NOT_FOUND)
            reject_session(request);
        else
            reply_problem(request, e, NULL);
    }
    relay_unit_done(r);
}

static struct link *link_new(struct relay *r, struct request *request, struct str session)
{
    struct link *k = calloc(1, sizeof(*k));

    if (!k)
        return NULL;
    k->relay = r;
    k->request = request;
    memcpy(k->session_text, session.p, session.n);
    k->session = (struct str){ k->session_text, session.n };
    uuid_text(env_uuid(&r->s->env), k->id);
    arena_init(&k->arena, LIMIT_RELAY_WINDOW * LIMIT_SANDBOX_EVENT);
    k->next = r->links;
    k->place = &r->links;
    if (k->next)
        k->next->place = &k->next;
    r->links = k;
    return k;
}

static void link_connect(struct request *r, void *ctx)
{
    static const struct unit_kind kind = { "sandbox.relay_join", UNIT_FRONT, join_run, NULL };
    struct sandbox *s = ctx;
    struct str session = request_header(r, S("Websocket-Id"), NULL);
    const char *detail = NULL;
    enum err e = websocket_check(r, &detail);
    struct link *k;

    if (e) {
        reply_header(r, S("Sec-WebSocket-Version"), S("13"));
        reply_problem(r, e, detail);
        return;
    }
    if (!session.n || session.n > RELAY_ID) {
        reject_session(r);
        return;
    }
    k = link_new(relay_of(s), r, session);
    if (k)
        link_post_change(k, &kind, join_done);
    else
        reply_problem(r, ERR_NO_MEMORY, NULL);
}

static void write_problem(struct buf *out, enum err e, const char *words)
{
    bool theirs = err_status(e) < 500;

    buf_add(out, S("{\"error\":{\"message\":"));
    buf_json(out, str_of(words));
    buf_add(out,
            theirs ? S(",\"type\":\"invalid_request_error\"}}") : S(",\"type\":\"api_error\"}}"));
}

const struct route sandbox_relay_route = { .method = "GET",
                                           .path = "/v1/stripecli/subscribe",
                                           .handle = link_connect,
                                           .problem = write_problem };
