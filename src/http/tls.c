/* tls.c - OpenSSL over two buffers in memory. A session owns neither of them, so an idle connection
 * costs only OpenSSL's own state. */
#include "http/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of the settings, for error messages. */
#define CERT_NAME "ICHIDO_TLS_CERT"
#define KEY_NAME "ICHIDO_TLS_KEY"

struct tls_server {
    SSL_CTX *context;
    BIO_METHOD *method;
};

struct tls {
    SSL *ssl;
    struct str in;
    struct buf *out;
};

/* --- the BIO: reads from the slice, writes to the buffer --- */

static int bio_read(BIO *bio, char *bytes, int room)
{
    struct tls *t = BIO_get_data(bio);
    size_t n = t->in.n < (size_t)room ? t->in.n : (size_t)room;

    BIO_clear_retry_flags(bio);
    if (!n) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(bytes, t->in.p, n);
    t->in.p += n;
    t->in.n -= n;
    return (int)n;
}

static int bio_write(BIO *bio, const char *bytes, int n)
{
    struct tls *t = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (!t->out)
        return -1;
    buf_add(t->out, (struct str){ bytes, (size_t)n });
    return t->out->failed ? -1 : n;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *new_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "slices");

    if (!m)
        return NULL;
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_write(m, bio_write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    BIO_meth_set_create(m, bio_create);
    return m;
}

/* --- the server's certificate --- */

/* Without this callback OpenSSL asks for a key's passphrase on the terminal. */
static int no_passphrase(char *text, int room, int writing, void *ctx)
{
    (void)writing;
    (void)ctx;
    if (room > 0)
        text[0] = '\0';
    return 0;
}

/* Selects "http/1.1" if the client offers it. A client that does not is served HTTP/1.1 anyway. */
static int pick_protocol(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_length,
                         const unsigned char *list, unsigned int n, void *ctx)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *picked;

    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&picked, ret_length, ours, sizeof(ours) - 1, list, n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *ret_name = picked;
    return SSL_TLSEXT_ERR_OK;
}

static void set_up(SSL_CTX *c)
{
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF); /* tickets resume without a cache */
    SSL_CTX_set_default_passwd_cb(c, no_passphrase);
    SSL_CTX_set_alpn_select_cb(c, pick_protocol, NULL);
}

static enum err http_tls_fault(struct why *why, const char *name, const char *file,
                               const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    why_set(why, "%s: %.150s %s%s%s", name, file, what, reason ? ": " : "", reason ? reason : "");
    ERR_clear_error();
    return ERR_VALIDATION;
}

/* OpenSSL's error for an unreadable file is only "system library", so it is read here first. */
static bool can_read(const char *name, const char *file, struct why *why)
{
    FILE *f = fopen(file, "re");
    bool can = f && (fgetc(f) != EOF || !ferror(f)); /* a directory opens */

    if (!can)
        why_set(why, "%s: cannot read %.150s: %s", name, file, strerror(errno));
    if (f)
        fclose(f);
    return can;
}

static enum err http_tls_load(SSL_CTX *c, const char *cert, const char *key, struct why *why)
{
    if (!can_read(CERT_NAME, cert, why) || !can_read(KEY_NAME, key, why))
        return ERR_VALIDATION;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(c, cert) != 1)
        return http_tls_fault(why, CERT_NAME, cert, "holds no PEM certificate");
    if (SSL_CTX_use_PrivateKey_file(c, key, SSL_FILETYPE_PEM) == 1)
        return OK;
    if (ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509)
        return http_tls_fault(why, KEY_NAME, key,
                              "does not belong to the certificate of " CERT_NAME);
    return http_tls_fault(why, KEY_NAME, key, "holds no PEM private key without a passphrase");
}

enum err tls_server_new(const char *cert, const char *key, struct tls_server **ret_server,
                        struct why *why)
{
    struct tls_server *s = calloc(1, sizeof(*s));
    enum err e = ERR_NO_MEMORY;

    why_set(why, "no memory for TLS");
    if (!s)
        return e;
    s->method = new_method();
    s->context = SSL_CTX_new(TLS_server_method());
    if (s->method && s->context) {
        set_up(s->context);
        e = http_tls_load(s->context, cert, key, why);
    }
    if (e)
        tls_server_free(s);
    else
        *ret_server = s;
    return e;
}

void tls_server_free(struct tls_server *s)
{
    if (!s)
        return;
    SSL_CTX_free(s->context);
    BIO_meth_free(s->method);
    free(s);
}

/* --- one session --- */

struct tls *tls_new(struct tls_server *s)
{
    struct tls *t = calloc(1, sizeof(*t));
    BIO *bio = BIO_new(s->method);

    if (t && bio)
        t->ssl = SSL_new(s->context);
    if (!t || !bio || !t->ssl) {
        BIO_free(bio);
        free(t);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_data(bio, t);
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_accept_state(t->ssl);
    return t;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    free(t);
}

void tls_begin(struct tls *t, struct str in, struct buf *out)
{
    t->in = in;
    t->out = out;
    ERR_clear_error(); /* errors of an earlier session would be reported for this one */
}

void tls_idle(struct tls *t)
{
    t->in = (struct str){ 0 };
    t->out = NULL;
}

static enum tls_result result_of(struct tls *t, int returned)
{
    switch (SSL_get_error(t->ssl, returned)) {
    case SSL_ERROR_NONE: return TLS_DATA;
    case SSL_ERROR_WANT_READ: return TLS_WANTS_MORE;
    case SSL_ERROR_ZERO_RETURN: return TLS_END;
    default: ERR_clear_error(); return TLS_BROKEN;
    }
}

enum tls_result tls_handshake(struct tls *t)
{
    ERR_clear_error();
    return result_of(t, SSL_do_handshake(t->ssl));
}

enum tls_result tls_read(struct tls *t, char *bytes, size_t room, size_t *ret_n)
{
    int n;

    ERR_clear_error();
    n = SSL_read(t->ssl, bytes, room < INT_MAX ? (int)room : INT_MAX);
    *ret_n = n > 0 ? (size_t)n : 0;
    return result_of(t, n);
}

bool tls_write(struct tls *t, struct str bytes)
{
    size_t n;

    ERR_clear_error();
    if (!bytes.n)
        return true;
    if (SSL_write_ex(t->ssl, bytes.p, bytes.n, &n) == 1 && n == bytes.n)
        return true;
    ERR_clear_error();
    return false;
}

void tls_end(struct tls *t)
{
    ERR_clear_error();
    if (SSL_is_init_finished(t->ssl))
        SSL_shutdown(t->ssl);
    ERR_clear_error();
}
