/* The server over TLS, with a certificate made on the spot. */
#include "unit/http/harness.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

struct files {
    char dir[32], cert[64], key[64], other[64];
};

static EVP_PKEY *write_key(const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(f);
    return key;
}

static void write_certificate(const char *name, EVP_PKEY *key)
{
    X509 *x = X509_new();
    FILE *f = fopen(name, "w");

    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_set_pubkey(x, key);
    X509_sign(x, key, EVP_sha256());
    assert_non_null(f);
    assert_int_equal(PEM_write_X509(f, x), 1);
    fclose(f);
    X509_free(x);
}

static void make_files(struct files *n)
{
    EVP_PKEY *key;

    strcpy(n->dir, "/tmp/ichido-tls-XXXXXX");
    assert_non_null(mkdtemp(n->dir));
    snprintf(n->cert, sizeof(n->cert), "%s/cert.pem", n->dir);
    snprintf(n->key, sizeof(n->key), "%s/key.pem", n->dir);
    snprintf(n->other, sizeof(n->other), "%s/other.pem", n->dir);
    EVP_PKEY_free(write_key(n->other));
    key = write_key(n->key);
    write_certificate(n->cert, key);
    EVP_PKEY_free(key);
}

static void remove_files(const struct files *n)
{
    unlink(n->cert);
    unlink(n->key);
    unlink(n->other);
    rmdir(n->dir);
}

static struct fixture *start(const struct files *n)
{
    struct fixture *f = fixture_new();

    f->options.tls_cert = n->cert;
    f->options.tls_key = n->key;
    f->options.handshake_ms = 200;
    fixture_start(f);
    return f;
}

struct session {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

static struct session shake(const struct fixture *f, int version)
{
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";
    struct session s = { .context = SSL_CTX_new(TLS_client_method()), .fd = dial(f) };

    SSL_CTX_set_max_proto_version(s.context, version);
    SSL_CTX_set_alpn_protos(s.context, protocols, sizeof(protocols) - 1);
    s.ssl = SSL_new(s.context);
    SSL_set_fd(s.ssl, s.fd);
    return s;
}

static void hang_up(struct session *s)
{
    SSL_free(s->ssl);
    SSL_CTX_free(s->context);
    close(s->fd);
}

static size_t listen_until(SSL *ssl, char *text, size_t room, const char *end)
{
    size_t n = 0;

    text[0] = '\0';
    while (n + 1 < room && !strstr(text, end)) {
        int k = SSL_read(ssl, text + n, (int)(room - n - 1));

        if (k <= 0)
            fail_msg("the session ended in \"%s\"", text);
        n += (size_t)k;
        text[n] = '\0';
    }
    return n;
}

static void round_trip(const struct fixture *f, int version)
{
    struct session s = shake(f, version);
    const unsigned char *protocol;
    unsigned length;
    char text[4096];

    assert_int_equal(SSL_connect(s.ssl), 1);
    assert_int_equal(SSL_version(s.ssl), version);
    SSL_get0_alpn_selected(s.ssl, &protocol, &length);
    assert_int_equal(length, 8);
    for (int i = 0; i < 3; i++) {
        SSL_write(s.ssl, S(GET("/later/1")).p, (int)S(GET("/later/1")).n);
        listen_until(s.ssl, text, sizeof(text), "/later/1");
        assert_memory_equal(text, "HTTP/1.1 200", 12);
    }
    hang_up(&s);
}

static void a4_both_versions_serve_requests(void **state)
{
    struct files n;
    struct fixture *f;

    (void)state;
    make_files(&n);
    f = start(&n);
    round_trip(f, TLS1_3_VERSION);
    round_trip(f, TLS1_2_VERSION);
    fixture_free(f);
    remove_files(&n);
}

static void a4_old_versions_are_refused(void **state)
{
    struct files n;
    struct fixture *f;
    struct session s;

    (void)state;
    make_files(&n);
    f = start(&n);
    s = shake(f, TLS1_1_VERSION);
    assert_int_not_equal(SSL_connect(s.ssl), 1);
    hang_up(&s);
    fixture_free(f);
    remove_files(&n);
}

static size_t read_all(SSL *ssl)
{
    static char bytes[64 * 1024];
    size_t n = 0;
    int k;

    while ((k = SSL_read(ssl, bytes, sizeof(bytes))) > 0)
        n += (size_t)k;
    assert_int_equal(SSL_get_error(ssl, k), SSL_ERROR_ZERO_RETURN); /* close_notify came */
    return n;
}

static void large_bodies_go_both_ways(void **state)
{
    static char body[1500 * 1000];
    struct files n;
    struct fixture *f;
    struct session s;
    char head[128];

    (void)state;
    make_files(&n);
    f = start(&n);
    s = shake(f, TLS1_3_VERSION);
    assert_int_equal(SSL_connect(s.ssl), 1);
    snprintf(head, sizeof(head),
             "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n",
             sizeof(body));
    SSL_write(s.ssl, head, (int)strlen(head));
    assert_int_equal(SSL_write(s.ssl, body, sizeof(body)), sizeof(body));
    assert_true(read_all(s.ssl) > sizeof(body));
    hang_up(&s);
    fixture_free(f);
    remove_files(&n);
}

static void pipelined_requests_in_one_record_are_answered(void **state)
{
    static const char both[] = GET("/later/1") GET("/echo") GET("/later/2");
    struct files n;
    struct fixture *f;
    struct session s;
    char text[8192];

    (void)state;
    make_files(&n);
    f = start(&n);
    s = shake(f, TLS1_3_VERSION);
    assert_int_equal(SSL_connect(s.ssl), 1);
    SSL_write(s.ssl, both, sizeof(both) - 1);
    listen_until(s.ssl, text, sizeof(text), "/later/2");
    assert_true(strstr(text, "/later/1") < strstr(text, "/later/2"));
    hang_up(&s);
    fixture_free(f);
    remove_files(&n);
}

static void what_is_no_handshake_ends_soon(void **state)
{
    struct files n;
    struct fixture *f;
    int silent, plain;

    (void)state;
    make_files(&n);
    f = start(&n);
    silent = dial(f);
    plain = dial(f);
    say(plain, S(GET("/echo")));
    while (recv(plain, &(char){ 0 }, 1, 0) > 0) /* an alert, then the end */
        ;
    close(plain);
    expect_end(silent); /* the handshake's deadline */
    fixture_free(f);
    remove_files(&n);
}

static void a_bad_certificate_is_told_before_anything_starts(void **state)
{
    struct files n;
    struct fixture *f = fixture_new();
    struct why why = { 0 };

    (void)state;
    make_files(&n);
    f->options.tls_cert = "/nowhere/cert.pem";
    f->options.tls_key = n.key;
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_string_equal(
        why.text, "ICHIDO_TLS_CERT: cannot read /nowhere/cert.pem: No such file or directory");
    f->options.tls_cert = n.dir;
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_non_null(strstr(why.text, ": Is a directory"));
    f->options.tls_cert = n.key;
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_non_null(strstr(why.text, "key.pem holds no PEM certificate"));
    f->options.tls_cert = n.cert;
    f->options.tls_key = n.other;
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_non_null(strstr(why.text, "ICHIDO_TLS_KEY: "));
    assert_non_null(strstr(why.text, "other.pem does not belong to the certificate"));
    f->options.tls_key = n.cert;
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_non_null(strstr(why.text, "cert.pem holds no PEM private key"));
    f->options.tls_key = "/nowhere/key.pem";
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_string_equal(why.text,
                        "ICHIDO_TLS_KEY: cannot read /nowhere/key.pem: No such file or directory");
    f->options.tls_key = NULL;
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_non_null(strstr(why.text, "ICHIDO_TLS_KEY"));
    fixture_free(f);
    remove_files(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a4_both_versions_serve_requests),
        TEST(a4_old_versions_are_refused),
        TEST(large_bodies_go_both_ways),
        TEST(pipelined_requests_in_one_record_are_answered),
        TEST(what_is_no_handshake_ends_soon),
        TEST(a_bad_certificate_is_told_before_anything_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
