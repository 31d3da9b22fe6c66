/* parse.h - bytes in, one request out. No sockets and no time: the tests and the fuzzer feed it in
 * every split. It accepts what RFC 9112 allows, and rejects what could be read in two ways (request
 * smuggling): see the table in tests/unit/http/message/test_parse.c.
 *
 *   HEAD --empty line--> (PARSE_HEAD) --> BODY or CHUNKS --last chunk--> TRAILERS --> (PARSE_DONE)
 *
 * The head is gathered in one piece and scanned (head.c) before llhttp gets it, so every name and
 * value is a slice of it. One parser reads one request, so an idle connection needs no parser. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "http/http.h"
#include "http/message/head.h"

#include <llhttp.h>

enum parse { PARSE_MORE, PARSE_HEAD, PARSE_DONE, PARSE_BAD };

enum parse_stage { STAGE_HEAD, STAGE_BODY, STAGE_CHUNKS, STAGE_TRAILERS, STAGE_DONE, STAGE_BAD };

struct parser {
    struct arena *arena;
    struct buf head, body;
    enum parse_stage stage;
    enum err error;  /* of PARSE_BAD */
    const char *why; /* static words for it, or NULL */

    /* after PARSE_HEAD; slices of head */
    struct str method, target;
    struct header *headers;
    size_t header_count, header_room;
    bool http_1_0, keep_alive, expects_continue, chunked;
    uint64_t content_length;

    uint64_t body_left; /* of a plain body */
    size_t body_max;
    size_t raw; /* bytes of a chunked body as they came */
    struct head_scan scan;
    llhttp_t http;
};

/* The arena gets the header table. */
void parser_init(struct parser *p, struct arena *arena);
void parser_reset(struct parser *p); /* for the next request: keeps its buffers if they are small */
void parser_release(struct parser *p);

/* Takes bytes off the front of *bytes. MORE: all were taken. HEAD, once: the head is complete; call
 * parser_take_body, then continue. DONE: the request is complete, the rest belongs to the next one.
 * BAD: see error and why; the connection must end. */
enum parse parser_feed(struct parser *p, struct str *bytes);

/* TOO_LARGE: the announced body is longer than max. */
enum err parser_take_body(struct parser *p, size_t max);
bool parser_has_body(const struct parser *p);
