/* websocket.c - a connection after its upgrade: frames in, frames out.
 *
 *   (1) A peer causes at most this memory: a message under way (message_max), one pong, and what the
 *       ops sent while less than LIMIT_WEBSOCKET_QUEUED was waiting. If pings come faster than pongs
 *       can be sent, only the last ping is answered.
 *   (2) After our close frame nothing is sent, and input is ignored. The connection then ends as any
 *       other (conn_finish): it lingers, so that the close frame is not lost.
 *   (3) struct websocket lives as long as its connection; only websocket_gone() frees it. */
#include "http/websocket/websocket.h"

#include "base/limits.h"
#include "http/conn.h"
#include "http/exchange.h"
#include "http/server.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SUFFIX "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

enum { KEY_TEXT = 24, KEY_BYTES = 16, SHA1_BYTES = 20, ACCEPT_ROOM = 32 };

struct websocket {
    struct conn *conn;
    const struct websocket_ops *ops;
    void *ctx;
    struct frame_reader reader;
    int code;     /* for `closed` */
    bool closing; /* our close frame is sent */
    bool pinged;  /* the peer was silent, and a ping was sent */
    bool owes_pong;
    char pong[FRAME_CONTROL_MAX];
    size_t pong_n;
};

/* --- the handshake --- */

/* True if the header, which may be repeated, has the word. */
static bool has_word(const struct request *r, struct str name, struct str word)
{
    for (size_t i = 0; i < r->header_count; i++) {
        struct str rest = r->headers[i].value;

        if (!str_eq_nocase(r->headers[i].name, name))
            continue;
        while (rest.n)
            if (str_eq_nocase(str_trim(str_cut(&rest, ',')), word))
                return true;
    }
    return false;
}

/* Base64 of sixteen bytes. */
static bool is_key(struct str key)
{
    unsigned char bytes[KEY_TEXT];

    return key.n == KEY_TEXT && str_ends(key, S("==")) && key.p[KEY_TEXT - 3] != '=' &&
           EVP_DecodeBlock(bytes, (const unsigned char *)key.p, KEY_TEXT) == KEY_BYTES + 2;
}

enum err websocket_check(const struct request *r, const char **ret_detail)
{
    const struct exchange *x = CONTAINER_OF(r, const struct exchange, request);

    *ret_detail = "This address is for a WebSocket: GET with Upgrade: websocket and Connection: "
                  "Upgrade.";
    if (!str_eq(r->method, S("GET")) || x->parser.http_1_0 || parser_has_body(&x->parser) ||
        !has_word(r, S("Upgrade"), S("websocket")) || !has_word(r, S("Connection"), S("Upgrade")))
        return ERR_VALIDATION;
    *ret_detail = "Sec-WebSocket-Version must be 13.";
    if (!str_eq(request_header(r, S("Sec-WebSocket-Version"), NULL), S("13")))
        return ERR_VALIDATION;
    *ret_detail = "Sec-WebSocket-Key must be there once, as base64 of 16 bytes.";
    return is_key(request_header(r, S("Sec-WebSocket-Key"), NULL)) ? OK : ERR_VALIDATION;
}

struct str websocket_protocol(const struct request *r, const struct str *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (has_word(r, S("Sec-WebSocket-Protocol"), names[i]))
            return names[i];
    return (struct str){ 0 };
}

static bool accept_text(struct str key, char ret_text[ACCEPT_ROOM])
{
    char joined[KEY_TEXT + sizeof(KEY_SUFFIX)];
    unsigned char digest[EVP_MAX_MD_SIZE];

    memcpy(joined, key.p, KEY_TEXT);
    memcpy(joined + KEY_TEXT, KEY_SUFFIX, sizeof(KEY_SUFFIX));
    if (!EVP_Digest(joined, sizeof(joined) - 1, digest, NULL, EVP_sha1(), NULL))
        return false;
    EVP_EncodeBlock((unsigned char *)ret_text, digest, SHA1_BYTES);
    return true;
}

static void write_head(struct exchange *x, struct str protocol, const char *accepted)
{
    struct buf *b = &x->loop->out;

    buf_clear(b);
    buf_fmt(b, "HTTP/1.1 101 Switching Protocols\r\nDate: %s\r\nX-Request-Id: " STR_FMT "\r\n",
            loop_date(x->loop), STR_ARG(x->request.id));
    buf_add(b, buf_str(&x->headers));
    buf_fmt(b, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
            accepted);
    if (protocol.n)
        buf_fmt(b, "Sec-WebSocket-Protocol: " STR_FMT "\r\n", STR_ARG(protocol));
    buf_add(b, S("\r\n"));
}

ANSWERS static bool websocket_refuse(struct request *r, enum err e, const char *detail)
{
    if (e == ERR_VALIDATION)
        reply_header(r, S("Sec-WebSocket-Version"), S("13"));
    reply_problem(r, e, detail);
    return false;
}

static struct websocket *websocket_make(const struct websocket_ops *ops, void *ctx, struct conn *c)
{
    struct websocket *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    *w = (struct websocket){ .conn = c, .ops = ops, .ctx = ctx, .code = CLOSE_ABNORMAL };
    frame_reader_init(&w->reader, ops->message_max);
    return w;
}

/* Frees the request and takes its connection. */
static void websocket_upgrade(struct websocket *w, struct exchange *x)
{
    struct loop *l = x->loop;
    const struct server_options *o = &l->server->options;

    if (o->replied)
        o->replied(o->ctx, &x->request, 101);
    w->conn->exchange = NULL;
    exchange_free(x);
    conn_upgrade(w->conn, w, buf_str(&l->out));
    if (!w->conn->closing)
        w->ops->opened(w, w->ctx);
    conn_go_on(w->conn);
    server_loop_settled(l);
}

bool websocket_accept(struct request *r, struct str protocol, const struct websocket_ops *ops,
                      void *ctx)
{
    struct exchange *x = CONTAINER_OF(r, struct exchange, request);
    char accepted[ACCEPT_ROOM];
    const char *detail = NULL;
    enum err e = websocket_check(r, &detail);
    struct websocket *w;

    if (e)
        return websocket_refuse(r, e, detail);
    if (server_stopping(r->server))
        return websocket_refuse(r, ERR_SHUTTING_DOWN, NULL);
    if (!accept_text(request_header(r, S("Sec-WebSocket-Key"), NULL), accepted))
        return websocket_refuse(r, ERR_INTERNAL, NULL);
    if (!x->conn) { /* the connection was closed */
        reply_drop(r);
        return false;
    }
    write_head(x, protocol, accepted);
    w = websocket_make(ops, ctx, x->conn);
    if (!w || x->loop->out.failed) {
        free(w);
        return websocket_refuse(r, ERR_NO_MEMORY, NULL);
    }
    websocket_upgrade(w, x);
    return true;
}

/* --- output --- */

static bool is_open(const struct websocket *w)
{
    return !w->closing && !w->conn->closing;
}

static void write_out(struct websocket *w)
{
    struct buf *out = &w->conn->loop->out;

    if (out->failed)
        conn_close(w->conn);
    else
        conn_write(w->conn, buf_str(out));
    if (out->size > LIMIT_PENDING)
        buf_release(out);
}

static void send_frame(struct websocket *w, enum frame_opcode opcode, struct str payload)
{
    struct buf *out = &w->conn->loop->out;

    buf_clear(out);
    frame_add(out, opcode, payload);
    write_out(w);
}

bool websocket_has_room(const struct websocket *w)
{
    return is_open(w) && w->conn->queued < LIMIT_WEBSOCKET_QUEUED;
}

bool websocket_send(struct websocket *w, struct str text)
{
    if (!websocket_has_room(w))
        return false;
    send_frame(w, FRAME_TEXT, text);
    return !w->conn->closing;
}

void websocket_close(struct websocket *w, int code, struct str reason)
{
    struct buf *out = &w->conn->loop->out;

    if (!is_open(w))
        return;
    w->closing = true;
    w->code = code;
    buf_clear(out);
    if (frame_is_close_code(code))
        frame_add_close(out, code, reason);
    else
        frame_add(out, FRAME_CLOSE, S(""));
    write_out(w);
    conn_finish(w->conn);
}

static void send_pong(struct websocket *w)
{
    w->owes_pong = false;
    send_frame(w, FRAME_PONG, (struct str){ w->pong, w->pong_n });
}

void websocket_write_done(struct websocket *w)
{
    if (is_open(w) && w->owes_pong)
        send_pong(w);
    if (is_open(w) && w->ops->drained && !w->conn->queued)
        w->ops->drained(w, w->ctx);
}

/* --- input --- */

static void websocket_handle_control(struct websocket *w)
{
    struct frame_reader *r = &w->reader;

    if (r->opcode == FRAME_CLOSE) {
        websocket_close(w, frame_close_code(r), S(""));
    } else if (r->opcode == FRAME_PING) {
        memcpy(w->pong, r->control, r->control_n);
        w->pong_n = r->control_n;
        w->owes_pong = true;
        if (!w->conn->queued)
            send_pong(w);
    }
}

static void websocket_handle_message(struct websocket *w)
{
    if (w->reader.kind == FRAME_TEXT)
        w->ops->text(w, w->ctx, buf_str(&w->reader.message));
    else
        websocket_close(w, CLOSE_UNSUPPORTED, S("text only"));
}

void websocket_input(struct websocket *w, struct str bytes)
{
    w->pinged = false;
    while (bytes.n && is_open(w)) {
        switch (frame_feed(&w->reader, &bytes)) {
        case FRAMES_MORE: break;
        case FRAMES_MESSAGE: websocket_handle_message(w); break;
        case FRAMES_CONTROL: websocket_handle_control(w); break;
        case FRAMES_BAD: websocket_close(w, w->reader.code, str_of(w->reader.why)); break;
        }
    }
}

/* --- the end --- */

void websocket_silent(struct websocket *w)
{
    if (w->pinged || w->conn->queued) {
        w->code = CLOSE_ABNORMAL;
        conn_close(w->conn);
        return;
    }
    w->pinged = true;
    conn_alive(w->conn);
    send_frame(w, FRAME_PING, S(""));
}

void websocket_stopping(struct websocket *w)
{
    websocket_close(w, CLOSE_GOING_AWAY, S("the server is stopping"));
}

void websocket_gone(struct websocket *w)
{
    w->ops->closed(w->ctx, w->code);
    frame_reader_release(&w->reader);
    free(w);
}
