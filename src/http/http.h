/* http.h - an HTTP/1.1 server: requests in, replies out. It knows no payments.
 *
 * A handler runs on its connection's loop and never blocks. It makes sure that reply_send() or
 * reply_problem() is called exactly once, in the call or later on the same loop (after a unit of
 * work). The request and its arena live until then, even if the connection was closed. Instead of a
 * reply the request may become a WebSocket: http/websocket/websocket.h.
 *
 * Answering consumes the request: neither it nor its arena may be used afterwards. So clean-up
 * (wiping a password, undoing a count) comes before the answer. A function that may answer says so by
 * its result and is marked ANSWERS, so that the compiler requires the check. */
#pragma once

#include "base/arena.h"
#include "base/env.h"
#include "base/err.h"
#include "base/executor.h"
#include "base/why.h"
#include "observe/trace.h"

#include <sys/socket.h>

struct buf;
struct request;
struct server;

/* The function may have answered the request: its result says so (false or NULL, where its comment
 * says nothing else), and then the caller returns. */
#define ANSWERS __attribute__((warn_unused_result))

struct header {
    struct str name, value; /* name as it came; compare with str_eq_nocase */
};

struct route {
    const char *method; /* "GET" serves HEAD too */
    const char *path;   /* "/payments/{id}/capture": at most ROUTE_PARAMS names; a last segment of
                           "*" takes all that follows */
    void (*handle)(struct request *r, void *ctx);
    void *ctx;
    size_t body_max; /* 0: LIMIT_BODY */
    bool unlimited;  /* exempt from the rate and in-flight limits: for probes */
    /* Of a path that ends in "*": what stands there may be any bytes, and dots mean nothing.
     * Neither decoded nor judged, the request's path is as it came; the rest of the pattern has no
     * names, and is compared as it came. */
    bool raw;
    /* Optional: the body of reply_problem(), as application/json. Also of what the server refuses
     * by itself once the route is known: too large, too slow, too many. */
    void (*problem)(struct buf *out, enum err e, const char *words);
};

enum { ROUTE_PARAMS = 4, REQUEST_ID_MAX = 128 };

struct request {
    struct executor *executor; /* its loop: units posted for it come back here */
    struct server *server;
    struct env *env;
    struct arena arena;
    struct str method, target, path, query; /* path is decoded, and no segment of it is "." or "..";
                                               of a raw route it is as it came */
    const struct header *headers;
    size_t header_count;
    struct str body; /* raw bytes */
    struct str params[ROUTE_PARAMS];
    const struct route *route; /* NULL where none matched */
    struct sockaddr_storage peer;
    struct str peer_ip;   /* textual, of the socket */
    struct str id;        /* X-Request-Id: the client's if valid, else a new one */
    struct trace trace;   /* our span in the client's trace, or in a new one */
    bool has_traceparent; /* the client sent a valid one; its own span in it: */
    unsigned char parent_span[8];
    enum language language; /* from Accept-Language */
    int64_t began_us;       /* monotonic, at the last byte that it waited for */
    int note;               /* the handler's own word to server_options.replied; 0: none */
};

/* The only header of that name; empty where absent or where there are several. *ret_count (may be
 * NULL) says how many. */
struct str request_header(const struct request *r, struct str name, size_t *ret_count);

/* The textual address of the client behind trusted proxies (server_options.client), else of the
 * peer. Lives as long as the request. */
struct str request_client_ip(struct request *r);

/* --- the reply: headers first, then one of the send calls --- */

void reply_header(struct request *r, struct str name, struct str value); /* CR, LF, NUL refused */
void reply_send(struct request *r, int status, struct str content_type, struct str body);
/* RFC 9457 application/problem+json with type, title, status, detail, code, instance = request id.
 * detail NULL: the err's own words in the client's language. 429, 502, 503 and 504 get Retry-After.
 */
void reply_problem(struct request *r, enum err e, const char *detail);
/* The same with an "errors" array, given as JSON text. */
void reply_problem_errors(struct request *r, enum err e, const char *detail, struct str errors);
/* The same with further members, given as JSON text: "\"a\":1,\"b\":2". Both texts may be empty. */
void reply_problem_more(struct request *r, enum err e, const char *detail, struct str errors,
                        struct str members);
/* Closes the connection without a reply, as a crash would: for the sandbox, which simulates faults. */
void reply_drop(struct request *r);
/* Closes it in the middle of the body: its last `cut` bytes are announced and never sent. */
void reply_cut(struct request *r, int status, struct str content_type, struct str body, size_t cut);

/* --- the server --- */

struct server_options {
    struct env *env;
    struct str
        listen; /* host:port; port 0 takes a free one. Ignored where systemd passed sockets */
    const struct route *routes;
    size_t route_count;
    int loops;                      /* threads; 0: one */
    const char *tls_cert, *tls_key; /* PEM files; NULL: plain */
    int max_connections;            /* 0: LIMIT_CONNECTIONS */
    int max_in_flight;              /* 0: LIMIT_IN_FLIGHT */
    size_t max_bodies;              /* bytes held at a time; 0: LIMIT_BODIES */
    int rate_limit;     /* requests a second and client address, twice that at once; 0: none */
    bool loopback_only; /* a socket on another address, ours or a passed one, is an error */
    bool guest; /* beside the server that the process is for: no signals, nothing of systemd's */
    /* 0: those of limits.h */
    int head_ms, body_ms, idle_ms, reply_ms, handshake_ms, websocket_ms;
    /* For every reply, on its loop: for metrics and the access line. */
    void (*replied)(void *ctx, const struct request *r, int status);
    /* The client's address behind a proxy, for the rate limit and request_client_ip(). False, or NULL
     * here: the peer's. */
    bool (*client)(void *ctx, const struct request *r, struct sockaddr_storage *ret_client);
    /* For input that never became a request: broken framing, a slow head, a full server. */
    void (*refused)(void *ctx, enum err e, struct str peer_ip);
    void *ctx;
};

/* Binds and listens, so that an error is found before anything else starts. */
enum err server_open(const struct server_options *o, struct server **ret_server, struct why *why);
/* The routes, if they were not given to server_open. Before server_run; owned by the caller. */
void server_set_routes(struct server *s, const struct route *routes, size_t count);
/* The first loop, on the thread that calls server_run. */
struct executor *server_executor(struct server *s);
int server_port(const struct server *s);

/* From now on SIGTERM and SIGINT call server_stop, as soon as server_run runs. server_run does this
 * too; a caller that announces the server does it before. Only server_run may follow. */
void server_take_signals(struct server *s);
/* Runs until it has stopped. */
void server_run(struct server *s);

/* Graceful: stops accepting, finishes the requests that began (`Connection: close`), then calls
 * `drained` on the first loop; server_run returns after server_finish(). A second signal, or
 * LIMIT_SHUTDOWN_MS, ends it sooner. */
void server_on_drain(struct server *s, void (*drained)(void *ctx), void *ctx);
void server_stop(struct server *s);   /* any thread */
void server_finish(struct server *s); /* on the first executor: nothing more will come back */
bool server_stopping(const struct server *s);
/* After server_run. Frees unanswered requests too, so every thread that may hold one (of a store, of
 * a client) has ended before. */
void server_free(struct server *s);

struct server_counts {
    int connections, in_flight;
    int64_t accepted, refused;
};
struct server_counts server_counts(const struct server *s);
