/* websocket.h - a request that becomes a WebSocket (RFC 6455): text both ways, on the connection's
 * own loop, plain or over TLS.
 *
 *   websocket_accept() --> opened --> text, drained, ... --> closed
 *
 * `closed` is the last call and comes exactly once. It never comes from within another call of this
 * file, so what ctx points to is safe until then.
 *
 * Pings are answered here. A peer that is silent for LIMIT_WEBSOCKET_IDLE_MS is pinged, and given
 * up after as long again. A stopping server closes with 1001. */
#pragma once

#include "http/http.h"
#include "http/websocket/frame.h"

struct websocket;

struct websocket_ops {
    size_t message_max;                             /* of what the peer sends: longer is 1009 */
    void (*opened)(struct websocket *w, void *ctx); /* before websocket_accept() returns */
    /* A whole message, UTF-8, borrowed. Binary ones are refused (1003). */
    void (*text)(struct websocket *w, void *ctx, struct str message);
    /* Optional: everything was sent; there is room again. */
    void (*drained)(struct websocket *w, void *ctx);
    /* code: the peer's, or ours if we closed it; CLOSE_ABNORMAL: there was no close frame. */
    void (*closed)(void *ctx, int code);
};

/* Checks the request's headers. VALIDATION: they ask for no valid upgrade; *ret_detail says why. For a
 * handler that needs data before it accepts. */
enum err websocket_check(const struct request *r, const char **ret_detail);
/* Answers the request: it becomes a WebSocket, and the bytes after it are its first frames. False: it
 * was rejected with reply_problem(), or its connection was closed; no op is ever called. protocol:
 * sent as Sec-WebSocket-Protocol; empty: none. */
bool websocket_accept(struct request *r, struct str protocol, const struct websocket_ops *ops,
                      void *ctx);
/* The first of these names that the client offered as a protocol; empty: none. */
struct str websocket_protocol(const struct request *r, const struct str *names, size_t n);

/* Sends one text message, which must be UTF-8. False: nothing was sent, because the socket is closing
 * or LIMIT_WEBSOCKET_QUEUED bytes wait to be sent: `drained` is called once they are. */
bool websocket_send(struct websocket *w, struct str text);
bool websocket_has_room(const struct websocket *w); /* a message would be taken now */
/* Sends a close frame and ends it; `closed` follows. A second call does nothing. */
void websocket_close(struct websocket *w, int code, struct str reason);

/* --- for http/conn.c alone --- */

void websocket_input(struct websocket *w, struct str bytes);
void websocket_write_done(struct websocket *w);
void websocket_silent(struct websocket *w); /* its time is up */
void websocket_stopping(struct websocket *w);
void websocket_gone(struct websocket *w); /* the connection is closed: calls `closed`, frees */
