/* conn.h - one connection: bytes in, requests to their handlers one at a time, replies out.
 *
 *   HANDSHAKE --> IDLE --first byte--> HEAD --empty line--> BODY --last byte--> ANSWERING
 *   (TLS only)     ^                    |                    |                     |
 *                  |                    '------rejected------+----handler replies--'
 *                  |                                         v
 *                  '--------------keep-alive------------- REPLYING --close--> LINGER --> closed
 *
 * An upgrade (http/websocket/websocket.h) leads from ANSWERING to WEBSOCKET, and from there to LINGER
 * or the end.
 *
 * Each state is a list of the loop's deadlines, so that it ends in time whatever the peer does.
 * ANSWERING has none, since the handler has its own. While IDLE a connection holds no buffer, no
 * parser and no arena. Bytes that come while a request is answered wait, at most one read of them;
 * then reading stops until the reply is sent. */
#pragma once

#include "base/buf.h"
#include "http/deadline.h"
#include "http/loop.h"

#include <netinet/in.h>

struct exchange;
struct tls;
struct websocket;

enum conn_state {
    CONN_HANDSHAKE,
    CONN_IDLE,
    CONN_HEAD,
    CONN_BODY,
    CONN_ANSWERING,
    CONN_REPLYING,
    CONN_LINGER,
    CONN_WEBSOCKET,
};

union address { /* without sockaddr_storage's 100 unused bytes */
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct conn {
    uv_tcp_t tcp;
    struct deadline deadline; /* its kind is the state */
    struct loop *loop;
    struct exchange *exchange;
    struct websocket *websocket; /* NULL: it speaks HTTP */
    struct tls *tls;             /* NULL: plain */
    struct buf pending;          /* bytes that came while a request was answered */
    size_t queued;               /* bytes the kernel has not taken yet */
    union address peer;
    bool feeding;     /* inside conn_input: what follows a reply happens there */
    bool reading;     /* the socket is read */
    bool ended;       /* the peer sends no more */
    bool close_after; /* the reply under way is the last */
    bool closing;
};

void conn_open(struct loop *l, int fd, const union address *peer); /* takes fd */
void conn_close(struct conn *c);
/* Graceful shutdown: closes a connection on which no request has begun. */
void conn_stop(struct conn *c);
/* Makes room for a connection: closes the one of this loop that has been idle longest, else the one
 * whose request has been arriving longest. False: all of them are being answered. */
bool conn_make_way(struct loop *l);

/* Sends the reply of the request under way, whose exchange was freed already. */
void conn_reply(struct conn *c, struct str bytes, bool close);
/* Instead of a reply: sends `bytes` as its head. All further input belongs to w, which is freed with
 * the connection. conn_go_on() then processes the input that has come already. */
void conn_upgrade(struct conn *c, struct websocket *w, struct str bytes);
void conn_go_on(struct conn *c);
void conn_alive(struct conn *c);  /* a WebSocket's time begins again */
void conn_finish(struct conn *c); /* closes, but lets the peer read what was sent */
/* Sends bytes; false: the connection is being closed. */
bool conn_write(struct conn *c, struct str bytes);

void conn_write_done(struct conn *c);               /* wire.c: the kernel has taken everything */
bool wire_send(struct conn *c, struct str bytes);   /* false: the connection is being closed */
bool wire_write(struct conn *c, struct buf *bytes); /* the same, and empties the buffer */

void conn_address_text(const struct sockaddr *address,
                       char ret_ip[48]); /* empty: neither 4 nor 6 */
void conn_peer(const struct conn *c, struct sockaddr_storage *ret_peer, char ret_ip[48]);
