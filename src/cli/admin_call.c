/* admin_call.c - calls to the admin API by libcurl, one after another.
 *
 * With TLS the server's certificate is for its public name, but the command calls it by its
 * address. So the name is not checked; instead the public key of the certificate file in the
 * settings is pinned. */
#include "cli/admin_call.h"

#include "base/buf.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    URL_MAX = 8 * 1024,
    ANSWER_MAX = 8 * 1024 * 1024,
    CALL_MS = 120 * 1000,
    CONNECT_MS = 3000,
    DIGEST = 32,
    PIN_TEXT = 8 + 44 + 1, /* sha256// and base64 */
};

struct admin {
    CURL *curl;
    struct curl_slist *headers[ADMIN_TYPES]; /* of a body of each type */
    bool tls;
    char base[320], pin[PIN_TEXT];
};

/* --- opening --- */

/* Replaces an address that means "every interface" by loopback. */
static bool set_base(struct admin *a, const char *address)
{
    struct str rest = str_of(address), port;
    const char *colon = strrchr(address, ':');
    int64_t number;

    if (!colon || colon == address)
        return false;
    port = str_of(colon + 1);
    rest.n = (size_t)(colon - address);
    if (!str_to_i64(port, &number) || number < 1 || number > 65535)
        return false;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= ' ' || rest.p[i] > '~' || strchr("/@?#\\", rest.p[i]))
            return false;
    if (str_eq(rest, S("0.0.0.0")))
        rest = S("127.0.0.1");
    if (str_eq(rest, S("[::]")))
        rest = S("[::1]");
    snprintf(a->base, sizeof(a->base), "http%s://" STR_FMT ":" STR_FMT, a->tls ? "s" : "",
             STR_ARG(rest), STR_ARG(port));
    return true;
}

static bool pin_of(X509 *certificate, char ret_pin[PIN_TEXT])
{
    unsigned char *key = NULL, digest[DIGEST];
    int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    unsigned int made = 0;
    bool fine = n > 0 && EVP_Digest(key, (size_t)n, digest, &made, EVP_sha256(), NULL);

    OPENSSL_free(key);
    if (!fine)
        return false;
    snprintf(ret_pin, PIN_TEXT, "sha256//");
    EVP_EncodeBlock((unsigned char *)ret_pin + strlen(ret_pin), digest, DIGEST);
    return true;
}

static bool read_pin(const struct settings *s, char ret_pin[PIN_TEXT])
{
    FILE *f = fopen(s->tls_cert.p, "re"); /* a setting's text ends with NUL */
    X509 *certificate = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;
    bool fine = certificate && pin_of(certificate, ret_pin);

    X509_free(certificate);
    if (f)
        fclose(f);
    return fine;
}

static bool add_header(struct admin *a, enum admin_type type, const char *line)
{
    struct curl_slist *longer = curl_slist_append(a->headers[type], line);

    if (longer)
        a->headers[type] = longer;
    return longer;
}

static bool add_headers(struct admin *a, enum admin_type type, struct str token)
{
    static const char *const types[ADMIN_TYPES] = {
        [ADMIN_JSON] = "Content-Type: application/json", [ADMIN_CSV] = "Content-Type: text/csv"
    };
    struct buf line;
    bool fine;

    buf_init(&line, URL_MAX);
    buf_add(&line, S("Authorization: Bearer "));
    buf_add(&line, token);
    buf_char(&line, '\0');
    fine = !line.failed && add_header(a, type, line.p);
    if (line.p)
        OPENSSL_cleanse(line.p, line.size);
    buf_release(&line);
    return fine && add_header(a, type, types[type]) && add_header(a, type, "Accept-Language: en") &&
           add_header(a, type, "Expect:");
}

bool admin_use_key(struct admin *a, const char *key)
{
    char line[64];

    snprintf(line, sizeof(line), "Idempotency-Key: %.36s", key);
    return add_header(a, ADMIN_JSON, line);
}

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n;
}

static enum err admin_call_fill(struct admin *a, const struct settings *s, const char *address,
                                struct why *why)
{
    a->tls = s->tls_cert.n;
    if (!set_base(a, address))
        return why_err(why, ERR_VALIDATION,
                       "another process has the database: %.200s; try again when it has ended",
                       *address ? address : "its lock does not say which");
    if (!is_printable(s->admin_token))
        return why_err(
            why, ERR_VALIDATION,
            "the server at %.200s has the database, so this goes through its admin API, and"
            " ICHIDO_ADMIN_TOKEN is not set: set it to that server's token (dev mode prints"
            " the one it made)",
            address);
    if (a->tls && !read_pin(s, a->pin))
        return why_err(why, ERR_VALIDATION,
                       "ICHIDO_TLS_CERT cannot be read, so the server cannot be recognised");
    a->curl = curl_easy_init();
    return a->curl && add_headers(a, ADMIN_JSON, s->admin_token) &&
                   add_headers(a, ADMIN_CSV, s->admin_token)
               ? OK
               : why_err(why, ERR_VALIDATION, "libcurl does not start");
}

enum err admin_open(const struct settings *s, const char *address, struct admin **ret_admin,
                    struct why *why)
{
    struct admin *a = calloc(1, sizeof(*a));
    enum err e =
        a ? admin_call_fill(a, s, address, why) : why_err(why, ERR_VALIDATION, "not enough memory");

    if (e)
        admin_free(a);
    else
        *ret_admin = a;
    return e;
}

void admin_free(struct admin *a)
{
    if (!a)
        return;
    for (int i = 0; i < ADMIN_TYPES; i++) {
        for (struct curl_slist *h = a->headers[i]; h; h = h->next)
            OPENSSL_cleanse(h->data, strlen(h->data));
        curl_slist_free_all(a->headers[i]);
    }
    curl_easy_cleanup(a->curl);
    free(a);
}

/* --- a call --- */

static size_t take_answer(char *p, size_t size, size_t n, void *ctx)
{
    struct buf *answer = ctx;

    buf_add(answer, (struct str){ p, size * n });
    return answer->failed ? 0 : size * n;
}

static void admin_call_prepare(struct admin *a, const char *method, const char *url,
                               enum admin_type type, struct str body, struct buf *answer)
{
    CURL *c = a->curl;

    curl_easy_reset(c);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, a->headers[type]);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    if (body.n) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.p);
    }
    if (a->tls) {
        curl_easy_setopt(c, CURLOPT_PINNEDPUBLICKEY, a->pin);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L); /* the pin decides */
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

enum err admin_send(struct admin *a, struct arena *arena, const char *method, struct str path,
                    enum admin_type type, struct str body, int *ret_status, struct str *ret_answer,
                    struct why *why)
{
    char url[URL_MAX];
    struct buf answer;
    CURLcode code;
    long status = 0;

    snprintf(url, sizeof(url), "%s" STR_FMT, a->base, STR_ARG(path));
    buf_init(&answer, ANSWER_MAX);
    admin_call_prepare(a, method, url, type, body, &answer);
    code = curl_easy_perform(a->curl);
    curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
    *ret_status = (int)status;
    *ret_answer = arena_str(arena, buf_str(&answer));
    buf_release(&answer);
    if (!code && ret_answer->p)
        return OK;
    return why_err(why, ERR_UNAVAILABLE,
                   "the server at %.200s has the database and does not answer: %s", a->base,
                   code ? curl_easy_strerror(code) : "not enough memory");
}

enum err admin_call(struct admin *a, struct arena *arena, const char *method, struct str path,
                    struct str body, int *ret_status, struct str *ret_answer, struct why *why)
{
    return admin_send(a, arena, method, path, ADMIN_JSON, body, ret_status, ret_answer, why);
}

void admin_header(struct admin *a, const char *name, char *ret_value, size_t size)
{
    struct curl_header *h;

    ret_value[0] = '\0';
    if (curl_easy_header(a->curl, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK &&
        strlen(h->value) < size)
        snprintf(ret_value, size, "%s", h->value);
}
