/* tls.h - TLS 1.2 and 1.3 for the server's connections, over memory: bytes from the socket go in,
 * bytes for the socket come out, and OpenSSL never sees a descriptor.
 *
 * A session reads straight from the caller's slice and writes into the caller's buffer, so an idle
 * session holds neither. No renegotiation, no compression; HTTP/1.1 by ALPN. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/why.h"

struct tls_server;
struct tls;

/* VALIDATION: a file cannot be read, is no certificate or key, or they do not belong together;
 * `why` says which. */
enum err tls_server_new(const char *cert, const char *key, struct tls_server **ret_server,
                        struct why *why);
void tls_server_free(struct tls_server *s); /* NULL is fine */

enum tls_result { TLS_DATA, TLS_WANTS_MORE, TLS_END, TLS_BROKEN };

struct tls *tls_new(struct tls_server *s); /* NULL: no memory */
void tls_free(struct tls *t);              /* NULL is fine */

/* Sets the bytes from the socket, and the buffer for bytes to it. Both belong to t until tls_idle. */
void tls_begin(struct tls *t, struct str in, struct buf *out);
void tls_idle(struct tls *t);

/* Between begin and idle. DATA: the handshake is done, or *ret_n bytes were read. The content of
 * `out` has to be sent, whatever the result. */
enum tls_result tls_handshake(struct tls *t);
enum tls_result tls_read(struct tls *t, char *bytes, size_t room, size_t *ret_n);
bool tls_write(struct tls *t, struct str bytes); /* false: broken */
void tls_end(struct tls *t);                     /* adds close_notify to `out` */
