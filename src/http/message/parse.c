/* parse.c - one request, read by llhttp and checked by us.
 *
 *   (1) llhttp gets a head only after head.c has scanned all of it.
 *   (2) Where a request ends is decided by our own checks (check_framing), since two readers must
 *       not differ in that.
 *   (3) A body's announced length is checked before its bytes are read. */
#include "http/message/parse.h"

#include "base/limits.h"

#include <string.h>

static enum parse parse_bad(struct parser *p, enum err e, const char *why)
{
    p->stage = STAGE_BAD;
    p->error = e;
    p->why = why;
    return PARSE_BAD;
}

/* --- llhttp's callbacks --- */

static int on_field(llhttp_t *http, const char *at, size_t n)
{
    struct parser *p = http->data;

    if (!n || p->header_count == p->header_room)
        return HPE_USER; /* llhttp takes ": value" */
    p->headers[p->header_count++] = (struct header){ .name = { at, n } };
    return 0;
}

static int on_value(llhttp_t *http, const char *at, size_t n)
{
    struct parser *p = http->data;

    if (!p->header_count || p->headers[p->header_count - 1].value.p)
        return HPE_USER; /* a value in two pieces: only folding makes those */
    p->headers[p->header_count - 1].value = str_trim((struct str){ at, n });
    return 0;
}

static int on_headers_complete(llhttp_t *http)
{
    struct parser *p = http->data;

    p->keep_alive = llhttp_should_keep_alive(http);
    p->content_length = http->content_length;
    return 0;
}

/* A chunk that is too large is rejected before its bytes come. Trailers follow the last chunk; head.c
 * reads them, since llhttp would accept folded lines there. */
static int on_chunk_header(llhttp_t *http)
{
    struct parser *p = http->data;

    if (http->content_length > p->body_max - p->body.n) {
        p->error = ERR_TOO_LARGE;
        return HPE_USER;
    }
    return http->content_length ? 0 : HPE_PAUSED;
}

static int on_body(llhttp_t *http, const char *at, size_t n)
{
    struct parser *p = http->data;

    buf_add(&p->body, (struct str){ at, n });
    if (!p->body.failed)
        return 0;
    p->error = ERR_NO_MEMORY;
    return HPE_USER;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
    .on_chunk_header = on_chunk_header,
    .on_body = on_body,
};

/* --- the head --- */

void parser_init(struct parser *p, struct arena *arena)
{
    *p = (struct parser){ .arena = arena };
    buf_init(&p->head, LIMIT_REQUEST_LINE + LIMIT_HEADERS + 16);
    buf_init(&p->body, 0);
    head_scan_init(&p->scan);
}

static void keep_if_small(struct buf *b)
{
    if (b->size > LIMIT_SPARE_BYTES)
        buf_release(b);
    else
        buf_clear(b);
}

void parser_reset(struct parser *p)
{
    struct buf head, body;

    keep_if_small(&p->head);
    keep_if_small(&p->body);
    head = p->head;
    body = p->body;
    *p = (struct parser){ .arena = p->arena, .head = head, .body = body };
    head_scan_init(&p->scan);
}

void parser_release(struct parser *p)
{
    buf_release(&p->head);
    buf_release(&p->body);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "METHOD target HTTP/1.1" with single blanks. llhttp also accepts ICE/1.0, a missing version, and
 * several blanks. */
static enum err split_request_line(struct parser *p)
{
    struct str line = { p->head.p + p->scan.line_start, p->scan.line_end - p->scan.line_start };
    struct str version = line;

    p->method = str_cut(&version, ' ');
    p->target = str_cut(&version, ' ');
    if (!p->method.n || !p->target.n || version.n != 8 || !str_starts(version, S("HTTP/")) ||
        !is_digit(version.p[5]) || version.p[6] != '.' || !is_digit(version.p[7])) {
        p->why = "The request line is not \"METHOD target HTTP/1.1\".";
        return ERR_VALIDATION;
    }
    p->http_1_0 = version.p[7] == '0';
    if (version.p[5] != '1' || version.p[7] > '1')
        return ERR_HTTP_VERSION;
    return str_eq(p->method, S("CONNECT")) ? ERR_NOT_IMPLEMENTED : OK;
}

static enum err run_llhttp(struct parser *p)
{
    size_t start = p->scan.line_start;
    llhttp_errno_t e;

    llhttp_init(&p->http, HTTP_REQUEST, &settings);
    p->http.data = p;
    e = llhttp_execute(&p->http, p->head.p + start, p->head.n - start);
    if (e == HPE_PAUSED_UPGRADE) { /* Upgrade: h2c and the like: we stay with HTTP/1.1 */
        llhttp_resume_after_upgrade(&p->http);
        e = HPE_OK;
    }
    if (e == HPE_INVALID_METHOD)
        return ERR_NOT_IMPLEMENTED;
    if (e == HPE_OK)
        return OK;
    p->why = "The head is not well-formed HTTP.";
    return ERR_VALIDATION;
}

static bool is_decimal(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    return s.n > 0 && s.n <= 18;
}

static bool is_host(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c <= ' ' || c >= 0x7f || strchr("/\\@#?\"<>", c))
            return false;
    }
    return s.n > 0;
}

struct framing {
    size_t hosts, lengths, encodings;
    struct str host, length, encoding, expect;
};

static void find_framing(const struct parser *p, struct framing *f)
{
    for (size_t i = 0; i < p->header_count; i++) {
        const struct header *h = &p->headers[i];

        if (str_eq_nocase(h->name, S("host"))) {
            f->host = h->value;
            f->hosts++;
        } else if (str_eq_nocase(h->name, S("content-length"))) {
            f->length = h->value;
            f->lengths++;
        } else if (str_eq_nocase(h->name, S("transfer-encoding"))) {
            f->encoding = h->value;
            f->encodings++;
        } else if (str_eq_nocase(h->name, S("expect"))) {
            f->expect = h->value;
        }
    }
}

/* Checks everything that decides where a request ends. */
static enum err check_framing(struct parser *p)
{
    struct framing f = { 0 };

    find_framing(p, &f);
    p->why = "The Host header must be there once and name a host.";
    if (f.hosts > 1 || (!f.hosts && !p->http_1_0) || (f.hosts && !is_host(f.host)))
        return ERR_VALIDATION;
    p->why = "Content-Length must be one number.";
    if (f.lengths > 1 || (f.lengths && !is_decimal(f.length)))
        return ERR_VALIDATION;
    p->why = "Transfer-Encoding goes with neither Content-Length nor HTTP/1.0, and stands once.";
    if (f.encodings && (f.encodings > 1 || f.lengths || p->http_1_0))
        return ERR_VALIDATION;
    p->why = "The only transfer coding known is chunked.";
    if (f.encodings && !str_eq_nocase(f.encoding, S("chunked")))
        return ERR_NOT_IMPLEMENTED;
    p->why = NULL;
    p->chunked = f.encodings > 0;
    if (!f.expect.n || p->http_1_0)
        return OK;
    p->expects_continue = str_eq_nocase(f.expect, S("100-continue"));
    return p->expects_continue ? OK : ERR_EXPECTATION;
}

static enum parse head_ended(struct parser *p)
{
    enum err e = split_request_line(p);

    if (e)
        return parse_bad(p, e, p->why);
    p->header_room = p->scan.lines - 1;
    p->headers = arena_alloc(p->arena, p->header_room, sizeof(*p->headers));
    if (!p->headers)
        return parse_bad(p, ERR_NO_MEMORY, NULL);
    e = run_llhttp(p);
    if (!e)
        e = check_framing(p);
    if (e)
        return parse_bad(p, e, p->why);
    p->stage = p->chunked ? STAGE_CHUNKS : STAGE_BODY;
    p->body_left = p->chunked ? 0 : p->content_length;
    return PARSE_HEAD;
}

static void parse_advance(struct str *bytes, size_t n)
{
    bytes->p += n;
    bytes->n -= n;
}

static enum parse feed_head(struct parser *p, struct str *bytes)
{
    size_t used;
    enum err e = head_scan(&p->scan, *bytes, &used, &p->why);

    if (e)
        return parse_bad(p, e, p->why);
    buf_add(&p->head, (struct str){ bytes->p, used });
    if (p->head.failed)
        return parse_bad(p, ERR_NO_MEMORY, NULL);
    parse_advance(bytes, used);
    return p->scan.state == HEAD_DONE ? head_ended(p) : PARSE_MORE;
}

/* --- the body --- */

bool parser_has_body(const struct parser *p)
{
    return p->chunked || p->content_length > 0;
}

enum err parser_take_body(struct parser *p, size_t max)
{
    size_t first;

    if (!p->chunked && p->content_length > max)
        return ERR_TOO_LARGE;
    p->body_max = max;
    p->body.limit = max;
    first = p->body_left < LIMIT_SPARE_BYTES ? (size_t)p->body_left : LIMIT_SPARE_BYTES;
    return buf_reserve(&p->body, first) ? OK : ERR_NO_MEMORY;
}

static enum parse parse_done(struct parser *p)
{
    p->stage = STAGE_DONE;
    return PARSE_DONE;
}

static enum parse feed_body(struct parser *p, struct str *bytes)
{
    size_t n = bytes->n < p->body_left ? bytes->n : (size_t)p->body_left;

    buf_add(&p->body, (struct str){ bytes->p, n });
    if (p->body.failed)
        return parse_bad(p, ERR_NO_MEMORY, NULL);
    parse_advance(bytes, n);
    p->body_left -= n;
    return p->body_left ? PARSE_MORE : parse_done(p);
}

static enum parse count_raw(struct parser *p, struct str *bytes, size_t used)
{
    parse_advance(bytes, used);
    p->raw += used;
    if (p->raw - p->body.n > LIMIT_CHUNK_FRAMING)
        return parse_bad(p, ERR_TOO_LARGE, "The chunks have more framing than the limit.");
    return PARSE_MORE;
}

static enum parse feed_trailers(struct parser *p, struct str *bytes)
{
    size_t used;
    enum err e = head_scan(&p->scan, *bytes, &used, &p->why);

    if (e)
        return parse_bad(p, e, p->why);
    if (count_raw(p, bytes, used) == PARSE_BAD)
        return PARSE_BAD;
    return p->scan.state == HEAD_DONE ? parse_done(p) : PARSE_MORE;
}

static enum parse feed_chunks(struct parser *p, struct str *bytes)
{
    llhttp_errno_t e = llhttp_execute(&p->http, bytes->p, bytes->n);

    if (e == HPE_OK)
        return count_raw(p, bytes, bytes->n);
    if (e != HPE_PAUSED)
        return parse_bad(p, p->error ? p->error : ERR_VALIDATION,
                         p->error ? NULL : "The chunked body is not well-formed.");
    if (count_raw(p, bytes, (size_t)(llhttp_get_error_pos(&p->http) - bytes->p)) == PARSE_BAD)
        return PARSE_BAD;
    p->stage = STAGE_TRAILERS;
    head_scan_init_trailers(&p->scan);
    return feed_trailers(p, bytes);
}

enum parse parser_feed(struct parser *p, struct str *bytes)
{
    switch (p->stage) {
    case STAGE_HEAD: return feed_head(p, bytes);
    case STAGE_BODY: return feed_body(p, bytes);
    case STAGE_CHUNKS: return bytes->n ? feed_chunks(p, bytes) : PARSE_MORE;
    case STAGE_TRAILERS: return feed_trailers(p, bytes);
    case STAGE_DONE: return PARSE_DONE;
    case STAGE_BAD: break;
    }
    return PARSE_BAD;
}
