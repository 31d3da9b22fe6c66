/* transfer.c - sets up a libcurl handle for a call, and turns its end into a result.
 *
 *   (1) A failed call is NOT_SENT only if libcurl proves that no byte of a request was sent.
 *   (2) Redirects and proxies are off: the bytes go to the URL's host and to no other.
 *   (3) The SSRF guard checks the address that libcurl connects to, after name resolution. */
#include "http/client/transfer.h"

#include "base/limits.h"
#include "http/client/mail.h"
#include "http/client/ssrf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transfer *transfer_new(void)
{
    return calloc(1, sizeof(struct transfer));
}

void transfer_clear(struct transfer *t)
{
    if (t->easy)
        curl_easy_reset(t->easy);
    curl_slist_free_all(t->headers);
    buf_release(&t->head);
    buf_release(&t->body);
    smtp_release(&t->smtp);
    *t = (struct transfer){ .easy = t->easy };
}

void transfer_free(struct transfer *t)
{
    if (!t)
        return;
    transfer_clear(t);
    curl_easy_cleanup(t->easy);
    free(t);
}

/* --- callbacks of libcurl --- */

/* True: s was cut to the room of the buffer. */
static bool cut_to(const struct buf *b, struct str *s)
{
    size_t room = b->limit - b->n;

    if (s->n <= room)
        return false;
    s->n = room;
    return true;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct transfer *t = ctx;
    struct str part = { bytes, size * count };

    t->is_cut |= t->turn.call->cut_answer && cut_to(&t->body, &part);
    buf_add(&t->body, part);
    t->too_long |= t->body.failed;
    return t->body.failed || t->is_cut ? 0 : part.n; /* 0 ends the transfer */
}

static size_t take_header(char *bytes, size_t size, size_t count, void *ctx)
{
    struct transfer *t = ctx;
    struct str line = { bytes, size * count }, part = line;

    if (str_starts(line, S("HTTP/"))) /* what came before was a 100 Continue */
        buf_clear(&t->head);
    else if (!t->turn.call->cut_answer || !cut_to(&t->head, &part))
        buf_add(&t->head, line);
    t->too_long |= t->head.failed;
    return t->head.failed ? 0 : line.n;
}

/* libcurl calls this with the resolved address that it connects to. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *t = ctx;

    (void)purpose;
    if (t->guarded && !ssrf_is_public(&address->addr)) {
        t->refused_address = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* --- setting up --- */

static bool is_clean(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return true;
}

/* A value may contain tabs (RFC 9110). */
static bool is_value(struct str s)
{
    while (s.n)
        if (!is_clean(str_cut(&s, '\t')))
            return false;
    return true;
}

static bool add_line(struct transfer *t, const char *line)
{
    struct curl_slist *list = curl_slist_append(t->headers, line);

    if (list)
        t->headers = list;
    return list;
}

static bool add_header(struct transfer *t, const struct header *h)
{
    struct buf line;
    bool fine;

    if (!h->name.n || !is_clean(h->name) || !is_value(h->value) ||
        memchr(h->name.p, ':', h->name.n))
        return false;
    buf_init(&line, LIMIT_HEADERS);
    buf_add(&line, h->name);
    buf_add(&line, h->value.n ? S(": ") : S(";")); /* "Name;" is how libcurl sends an empty one */
    buf_add(&line, h->value);
    buf_add(&line, (struct str){ "", 1 });
    fine = !line.failed && add_line(t, line.p);
    buf_release(&line);
    return fine;
}

static bool set_headers(struct transfer *t)
{
    const struct call *c = t->turn.call;
    bool typed = false, accepts = false;

    for (size_t i = 0; i < c->header_count; i++) {
        if (!add_header(t, &c->headers[i]))
            return false;
        typed |= str_eq_nocase(c->headers[i].name, S("Content-Type"));
        accepts |= str_eq_nocase(c->headers[i].name, S("Accept"));
    }
    /* No 100 Continue, and no header that the caller did not set. */
    if (!add_line(t, "Expect:") || (!typed && !add_line(t, "Content-Type:")) ||
        (!accepts && !add_line(t, "Accept:")))
        return false;
    return curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK;
}

/* libcurl needs a NUL-terminated text, of which it keeps a copy. */
static bool set_text(struct transfer *t, CURLoption option, struct str text)
{
    char *copy;
    bool fine;

    if (!text.n || !is_clean(text))
        return false;
    copy = strndup(text.p, text.n);
    fine = copy && curl_easy_setopt(t->easy, option, copy) == CURLE_OK;
    free(copy);
    return fine;
}

static bool set_request(struct transfer *t)
{
    const struct call *c = t->turn.call;
    bool head = str_eq(c->method, S("HEAD"));
    bool get = head || str_eq(c->method, S("GET")) || str_eq(c->method, S("DELETE"));

    if (!set_text(t, CURLOPT_URL, c->url))
        return false;
    if (head && !c->body.n) {
        curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
        return true;
    }
    if (!get || c->body.n) {
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body.n);
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, c->body.n ? c->body.p : "");
    }
    return set_text(t, CURLOPT_CUSTOMREQUEST, c->method);
}

/* Called just before a request is written. A second call means that libcurl sends it again, because
 * the first connection broke. */
static int before_request(void *ctx, char *to, char *from, int to_port, int from_port)
{
    struct transfer *t = ctx;

    (void)to, (void)from, (void)to_port, (void)from_port;
    t->sent_once = t->sent && t->turn.call->once;
    t->sent = true;
    return t->sent_once ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void set_rules(struct transfer *t, int64_t timeout_ms)
{
    CURL *e = t->easy;

    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_PROXY, ""); /* not even one of the environment */
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L); /* a signature may cover these bytes */
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(e, CURLOPT_USERAGENT, "Ichido");
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
    if (t->ca_file)
        curl_easy_setopt(e, CURLOPT_CAINFO, t->ca_file);
}

static bool set_up(struct transfer *t)
{
    struct call *c = t->turn.call;

    if (c->mail_to.n && !mail_setup(t))
        return false;
    if (c->mail_to.n ? set_text(t, CURLOPT_URL, c->url) : set_request(t) && set_headers(t))
        return true;
    snprintf(c->why, sizeof(c->why), "the method, URL or a header cannot be sent");
    return false;
}

bool transfer_setup(struct transfer *t, int64_t timeout_ms)
{
    struct call *c = t->turn.call;

    if (!t->easy && !(t->easy = curl_easy_init())) {
        snprintf(c->why, sizeof(c->why), "needs more memory than there is");
        c->ours = true;
        return false;
    }
    buf_init(&t->head, LIMIT_CALL_HEADERS);
    buf_init(&t->body, c->answer_max ? c->answer_max : LIMIT_CALL_ANSWER);
    set_rules(t, timeout_ms);
    return set_up(t);
}

/* --- the result --- */

static bool is_before_sending(CURLcode code)
{
    switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_OPERATION_TIMEDOUT:  /* while it resolved or connected */
    case CURLE_ABORTED_BY_CALLBACK: /* client_free */
    case CURLE_OUT_OF_MEMORY: return true;
    default: return false;
    }
}

/* The code alone proves nothing. libcurl sends again by itself when a reused connection is dead, so
 * a refused second connection can hide a first request that has arrived. */
static bool was_never_sent(CURL *easy, CURLcode code)
{
    curl_off_t pretransfer_us = 1;
    long request_bytes = 1;

    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer_us);
    return is_before_sending(code) && request_bytes == 0 && pretransfer_us == 0;
}

static size_t count_lines(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

static struct str transfer_chomp(struct str line)
{
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static bool keep_headers(struct call *c, struct str head)
{
    struct header *list = arena_alloc(c->arena, count_lines(head), sizeof(*list));
    struct str copy = arena_str(c->arena, head);
    size_t n = 0;

    if (!list || !copy.p)
        return false;
    while (copy.n) {
        struct str value = transfer_chomp(str_cut(&copy, '\n'));
        struct str name = str_cut(&value, ':');

        if (name.n)
            list[n++] = (struct header){ name, str_trim(value) };
    }
    c->answer_headers = list;
    c->answer_header_count = n;
    return true;
}

static bool keep_answer(struct call *c, const struct transfer *t)
{
    c->answer = arena_str(c->arena, buf_str(&t->body));
    return c->answer.p && keep_headers(c, buf_str(&t->head));
}

/* Without host and path, since a URL may hold a token. */
static const char *words_for(const struct transfer *t, CURLcode code)
{
    if (t->refused_address)
        return "the target's address is not public";
    if (t->too_long)
        return "the answer is longer than the limit";
    if (t->sent_once)
        return "the connection broke without an answer";
    return code == CURLE_ABORTED_BY_CALLBACK ? "the client was stopped" : curl_easy_strerror(code);
}

void transfer_result(struct transfer *t, CURLcode code)
{
    struct call *c = t->turn.call;
    long status = 0;

    if (c->mail_to.n) {
        mail_result(t, code);
        return;
    }
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    c->status = (int)status;
    if (t->is_cut && code == CURLE_WRITE_ERROR)
        code = CURLE_OK;
    if (code == CURLE_OK && keep_answer(c, t)) {
        c->result = CALL_ANSWERED;
        return;
    }
    c->result = !t->sent_once && was_never_sent(t->easy, code) ? CALL_NOT_SENT : CALL_UNCERTAIN;
    c->ours = !status && !t->sent_once &&
              (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_OUT_OF_MEMORY);
    snprintf(c->why, sizeof(c->why), "%s",
             code ? words_for(t, code) : "the answer needs more memory than there is");
}
