/* conn.c - the states of a connection are drawn in conn.h; wire.c writes its bytes.
 *
 *   (1) One request at a time is parsed and answered; later bytes wait in `pending`.
 *   (2) A connection is freed only after libuv has closed its handle.
 *   (3) A request outlives its connection: its reply is dropped then. */
#include "http/conn.h"

#include "http/dispatch.h"
#include "http/exchange.h"
#include "http/server.h"
#include "http/tls.h"
#include "http/websocket/websocket.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For the text of one read and of a TLS record that an earlier read had begun. */
enum { PLAIN_ROOM = LIMIT_READ + 32 * 1024 };

static void conn_resume(struct conn *c);

static enum conn_state state_of(const struct conn *c)
{
    return (enum conn_state)c->deadline.kind;
}

static void conn_enter(struct conn *c, enum conn_state state)
{
    loop_watch(c->loop, &c->deadline, (int)state);
}

static bool takes_input(const struct conn *c)
{
    if (c->closing)
        return false;
    return state_of(c) == CONN_IDLE || state_of(c) == CONN_HEAD || state_of(c) == CONN_BODY;
}

/* --- closing --- */

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = CONTAINER_OF(handle, struct conn, tcp);
    struct loop *l = c->loop;

    if (c->websocket)
        websocket_gone(c->websocket);
    tls_free(c->tls);
    buf_release(&c->pending);
    free(c);
    l->live--;
    l->connections--;
    atomic_fetch_sub(&l->server->connections, 1);
    server_loop_settled(l);
}

void conn_close(struct conn *c)
{
    struct exchange *x = c->exchange;

    if (c->closing)
        return;
    c->closing = true;
    c->exchange = NULL;
    loop_unwatch(c->loop, &c->deadline);
    if (x && x->admitted)
        x->conn = NULL; /* its handler still replies */
    else if (x)
        exchange_free(x);
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

/* Closing at once could reset the connection before the peer has read the reply. So a FIN is sent,
 * and the socket is read for a moment until the peer closes. */
static void conn_linger(struct conn *c)
{
    uv_os_fd_t fd;

    if (c->tls) {
        tls_begin(c->tls, (struct str){ 0 }, &c->loop->cipher);
        tls_end(c->tls);
        tls_idle(c->tls);
        if (!wire_write(c, &c->loop->cipher))
            return;
    }
    if (c->ended || uv_fileno((uv_handle_t *)&c->tcp, &fd)) {
        conn_close(c);
        return;
    }
    if (!c->queued)
        shutdown(fd, SHUT_WR);
    buf_release(&c->pending);
    conn_enter(c, CONN_LINGER);
    if (!c->feeding)
        conn_resume(c);
}

/* --- requests --- */

static void conn_refuse(struct conn *c, enum err e, const char *detail)
{
    struct exchange *x = c->exchange;

    conn_enter(c, CONN_ANSWERING);
    dispatch_refusal(x, e, detail);
}

static bool conn_begin(struct conn *c)
{
    c->exchange = exchange_new(c->loop, c);
    if (!c->exchange) {
        conn_close(c);
        return false;
    }
    conn_enter(c, CONN_HEAD);
    return true;
}

/* The body is not read, so the start of a next request is unknown and the connection ends. */
static void conn_answer_without_body(struct conn *c)
{
    c->exchange->close = true;
    conn_enter(c, CONN_ANSWERING);
    dispatch(c->exchange);
}

static void conn_head_arrived(struct conn *c, bool body_follows)
{
    struct exchange *x = c->exchange;
    const char *detail = NULL;
    enum err e = dispatch_head(x, &detail);

    if (e) {
        conn_refuse(c, e, detail);
        return;
    }
    if (exchange_is_unwanted(x)) {
        conn_answer_without_body(c);
        return;
    }
    conn_enter(c, CONN_BODY);
    if (x->parser.expects_continue && parser_has_body(&x->parser) && !body_follows)
        conn_write(c, S("HTTP/1.1 100 Continue\r\n\r\n"));
}

/* Bodies are over their limit: the request whose body has been arriving longest is answered 503, so
 * that slow senders do not block others. False: that is this request. */
static bool conn_make_body_room(struct conn *c)
{
    struct loop *l = c->loop;

    while (l->body_bytes > l->body_room) {
        struct deadline *oldest = deadlines_oldest(&l->deadlines, 1u << CONN_BODY);

        if (!oldest || oldest == &c->deadline)
            return false;
        conn_refuse(CONTAINER_OF(oldest, struct conn, deadline), ERR_OVERLOADED, NULL);
    }
    return true;
}

/* False: more input is needed. */
static bool conn_step(struct conn *c, struct str *in)
{
    struct exchange *x;
    enum parse result;

    if (state_of(c) == CONN_IDLE && (!in->n || !conn_begin(c)))
        return false;
    x = c->exchange;
    result = parser_feed(&x->parser, in);
    if (!exchange_count_body(x) && !conn_make_body_room(c)) {
        conn_refuse(c, ERR_OVERLOADED, NULL);
        return true;
    }
    switch (result) {
    case PARSE_MORE: return false;
    case PARSE_HEAD: conn_head_arrived(c, in->n > 0); break;
    case PARSE_DONE:
        conn_enter(c, CONN_ANSWERING);
        dispatch(x);
        break;
    case PARSE_BAD: conn_refuse(c, x->parser.error, x->parser.why); break;
    }
    return true;
}

static void stop_reading(struct conn *c)
{
    if (c->reading)
        uv_read_stop((uv_stream_t *)&c->tcp);
    c->reading = false;
}

/* Keeps the bytes of later requests, and stops reading. */
static void conn_keep(struct conn *c, struct str in)
{
    buf_add(&c->pending, in);
    if (c->pending.failed)
        conn_close(c);
    else
        stop_reading(c);
}

/* One read may hold thousands of requests. Requests whose handlers have returned are freed before
 * the next one is parsed. Those before `answered` may belong to a handler that is still running. */
static void conn_input(struct conn *c, struct str in)
{
    const struct exchange *answered = c->loop->answered;

    c->feeding = true;
    while (takes_input(c) && conn_step(c, &in))
        exchanges_recycle(c->loop, answered);
    if (state_of(c) == CONN_WEBSOCKET && in.n) {
        conn_alive(c);
        websocket_input(c->websocket, in);
        in.n = 0;
    }
    c->feeding = false;
    if (in.n && !c->closing && !c->close_after)
        conn_keep(c, in);
}

/* --- reading --- */

/* The peer has closed its side. A request under way is answered, since the peer may still read. */
static void conn_input_ended(struct conn *c)
{
    c->ended = true;
    stop_reading(c);
    if (state_of(c) == CONN_ANSWERING || state_of(c) == CONN_REPLYING)
        return;
    if (state_of(c) == CONN_HEAD || state_of(c) == CONN_BODY)
        conn_refuse(c, ERR_VALIDATION, "The request ended before it was complete.");
    else
        conn_close(c);
}

static enum tls_result conn_handshake(struct conn *c)
{
    enum tls_result result;

    if (state_of(c) != CONN_HANDSHAKE)
        return TLS_DATA;
    result = tls_handshake(c->tls);
    if (result == TLS_DATA)
        conn_enter(c, CONN_IDLE);
    return result;
}

/* Sends what TLS wrote by itself: handshake, alerts, key updates. */
static bool conn_flush_tls(struct conn *c)
{
    tls_idle(c->tls);
    return wire_write(c, &c->loop->cipher);
}

static void tls_input(struct conn *c, struct str in)
{
    struct loop *l = c->loop;
    enum tls_result result;
    size_t n;

    buf_clear(&l->plain);
    if (!buf_reserve(&l->plain, PLAIN_ROOM)) {
        conn_close(c);
        return;
    }
    tls_begin(c->tls, in, &l->cipher);
    result = conn_handshake(c);
    while (result == TLS_DATA) {
        result = tls_read(c->tls, l->plain.p + l->plain.n, PLAIN_ROOM - l->plain.n, &n);
        l->plain.n += n;
    }
    if (!conn_flush_tls(c))
        return;
    if (l->plain.n)
        conn_input(c, buf_str(&l->plain));
    if (c->closing)
        return;
    if (result == TLS_BROKEN)
        conn_close(c);
    else if (result == TLS_END)
        conn_input_ended(c);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct conn *c = CONTAINER_OF(handle, struct conn, tcp);

    (void)suggested;
    *buf = uv_buf_init(c->loop->read_bytes, LIMIT_READ);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = CONTAINER_OF(stream, struct conn, tcp);

    if (n == 0)
        return;
    if (n == UV_EOF)
        conn_input_ended(c);
    else if (n < 0)
        conn_close(c);
    else if (state_of(c) == CONN_LINGER)
        return;
    else if (c->tls)
        tls_input(c, (struct str){ buf->base, (size_t)n });
    else
        conn_input(c, (struct str){ buf->base, (size_t)n });
}

static void start_reading(struct conn *c)
{
    if (c->closing || c->reading || c->ended)
        return;
    c->reading = true;
    if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read))
        conn_close(c);
}

/* After a handler replied later: processes the input that waits. */
static void conn_resume(struct conn *c)
{
    struct buf pending = c->pending;

    buf_init(&c->pending, LIMIT_PENDING);
    if (pending.n)
        conn_input(c, buf_str(&pending));
    buf_release(&pending);
    if (c->closing || c->pending.n)
        return;
    if (c->ended && state_of(c) != CONN_ANSWERING && state_of(c) != CONN_REPLYING)
        conn_input_ended(c);
    else
        start_reading(c);
}

/* --- writing --- */

static void conn_reply_sent(struct conn *c)
{
    if (c->close_after) {
        conn_linger(c);
        return;
    }
    conn_enter(c, CONN_IDLE);
    if (!c->feeding)
        conn_resume(c);
}

void conn_write_done(struct conn *c)
{
    if (state_of(c) == CONN_REPLYING)
        conn_reply_sent(c);
    else if (state_of(c) == CONN_WEBSOCKET)
        websocket_write_done(c->websocket);
}

bool conn_write(struct conn *c, struct str bytes)
{
    struct loop *l = c->loop;

    if (c->closing)
        return false;
    if (!c->tls)
        return wire_send(c, bytes);
    tls_begin(c->tls, (struct str){ 0 }, &l->cipher);
    if (!tls_write(c->tls, bytes)) {
        conn_close(c);
        return false;
    }
    return conn_flush_tls(c);
}

void conn_reply(struct conn *c, struct str bytes, bool close)
{
    assert(state_of(c) == CONN_ANSWERING && !c->exchange);
    c->close_after = close;
    if (!conn_write(c, bytes))
        return;
    conn_enter(c, CONN_REPLYING);
    if (!c->queued)
        conn_reply_sent(c);
}

/* --- after an upgrade --- */

void conn_upgrade(struct conn *c, struct websocket *w, struct str bytes)
{
    assert(state_of(c) == CONN_ANSWERING && !c->exchange);
    c->websocket = w;
    if (conn_write(c, bytes))
        conn_alive(c);
}

void conn_go_on(struct conn *c)
{
    if (!c->feeding && !c->closing)
        conn_resume(c);
}

void conn_alive(struct conn *c)
{
    conn_enter(c, CONN_WEBSOCKET);
}

void conn_finish(struct conn *c)
{
    if (!c->closing)
        conn_linger(c);
}

/* --- start and end --- */

void loop_expired(struct loop *l, struct deadline *x)
{
    struct conn *c = CONTAINER_OF(x, struct conn, deadline);

    (void)l;
    if (state_of(c) == CONN_HEAD || state_of(c) == CONN_BODY)
        conn_refuse(c, ERR_REQUEST_TIMEOUT, NULL);
    else if (state_of(c) == CONN_WEBSOCKET)
        websocket_silent(c->websocket);
    else
        conn_close(c);
}

/* True: the socket has unread bytes, so a request has begun. */
static bool has_input(struct conn *c)
{
    uv_os_fd_t fd;
    char byte;

    if (uv_fileno((uv_handle_t *)&c->tcp, &fd))
        return false;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* If a request has begun, it gets the deadline of a head now. */
static bool conn_has_begun(struct conn *c)
{
    return state_of(c) == CONN_IDLE && has_input(c) && conn_begin(c);
}

void conn_stop(struct conn *c)
{
    if (state_of(c) == CONN_WEBSOCKET)
        websocket_stopping(c->websocket);
    if (state_of(c) != CONN_IDLE && state_of(c) != CONN_HANDSHAKE)
        return;
    if (!conn_has_begun(c))
        conn_close(c);
}

bool conn_make_way(struct loop *l)
{
    static const unsigned silent = 1u << CONN_HANDSHAKE | 1u << CONN_IDLE | 1u << CONN_LINGER;
    static const unsigned sending = 1u << CONN_HEAD | 1u << CONN_BODY;
    struct deadline *x;
    struct conn *c;

    while ((x = deadlines_oldest(&l->deadlines, silent))) {
        c = CONTAINER_OF(x, struct conn, deadline);
        if (conn_has_begun(c))
            continue;
        conn_close(c);
        return true;
    }
    x = deadlines_oldest(&l->deadlines, sending);
    if (!x)
        return false;
    c = CONTAINER_OF(x, struct conn, deadline);
    conn_refuse(c, ERR_OVERLOADED, NULL);
    conn_close(c); /* a lingering connection would still count */
    return true;
}

void conn_open(struct loop *l, int fd, const union address *peer)
{
    struct conn *c = calloc(1, sizeof(*c));
    struct tls_server *tls = l->server->tls;

    if (c && tls)
        c->tls = tls_new(tls);
    if (!c || (tls && !c->tls)) {
        free(c);
        close(fd);
        return;
    }
    c->loop = l;
    c->peer = *peer;
    deadline_init(&c->deadline);
    buf_init(&c->pending, LIMIT_PENDING);
    uv_tcp_init(&l->uv, &c->tcp);
    l->live++;
    l->connections++;
    atomic_fetch_add(&l->server->connections, 1);
    conn_enter(c, tls ? CONN_HANDSHAKE : CONN_IDLE);
    if (uv_tcp_open(&c->tcp, fd)) {
        close(fd);
        conn_close(c);
        return;
    }
    start_reading(c);
}

/* An IPv4 peer of an IPv6 socket is shown as IPv4. */
void conn_address_text(const struct sockaddr *address, char ret_ip[48])
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    ret_ip[0] = '\0';
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &v4->sin_addr, ret_ip, 48);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &v6->sin6_addr, ret_ip, 48);
}

void conn_peer(const struct conn *c, struct sockaddr_storage *ret_peer, char ret_ip[48])
{
    memcpy(ret_peer, &c->peer, sizeof(c->peer));
    conn_address_text(&c->peer.any, ret_ip);
}
