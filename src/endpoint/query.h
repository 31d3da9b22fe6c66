/* query.h - reads the parameters of a request's query and reports everything that is wrong with
 * them in one answer (P5). */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "http/http.h"

struct query_parameter {
    const char *name;
    /* Stores the decoded value, which may be empty. False: the value is invalid. */
    bool (*read)(struct request *r, void *ctx, struct str value);
    const char *en, *ja; /* the problem to report where read() returns false */
};

/* Reads all parameters of the query; the table has at most 32. False: 400 was answered, since a
 * parameter is unknown, given twice, or invalid. */
bool query_read(struct request *r, const struct query_parameter *parameters, size_t n,
                void *ctx) ANSWERS;

/* --- values --- */

/* 1 to max_chars characters of UTF-8 without a NUL, which PostgreSQL cannot store. The value is
 * kept as it is, so it lives as long as the request. */
bool query_text(struct str value, size_t max_chars, struct str *ret_text);
/* A time after 1970: in a filter, 0 means that this end is open. */
bool query_time(struct str value, int64_t *ret_ms);

#define QUERY_TEXT_WORDS                                                                           \
    "must be a text of 1 to 255 characters", "1〜255 文字の文字列にしてください"
#define QUERY_UUID_WORDS "must be a UUID", "UUID を指定してください"
#define QUERY_TIME_WORDS                                                                           \
    "must be a time after 1970 like 2026-11-16T09:30:00Z",                                         \
        "2026-11-16T09:30:00Z のような 1970 年より後の日時にしてください"

/* Adds a problem unless `from` lies before `to`; 0 is an open end. */
void query_check_times(int64_t from_ms, int64_t to_ms, struct json_problems *p);

/* --- pages --- */

/* A whole number from 1 to `most`. */
bool query_limit(struct str value, int most, int *ret_limit);
/* An id as query_next_cursor() writes it. *ret_has repeats the result. */
bool query_cursor(struct arena *a, struct str value, bool *ret_has, struct uuid *ret_id);
/* Closes the page's array and adds nextCursor: the id of the last entry shown. NULL: this is the
 * last page. */
void query_next_cursor(struct buf *out, const struct uuid *last);

#define QUERY_LIMIT(read)                                                                               \
    {                                                                                                   \
        "limit", read, "must be a whole number from 1 to 100", "1〜100 の整数にしてください" \
    }
#define QUERY_CURSOR(read)                                                                         \
    {                                                                                              \
        "cursor", read, "must be the nextCursor of an earlier page",                               \
            "前のページの nextCursor を指定してください"                            \
    }
#define QUERY_USER(name, read)                                                                     \
    {                                                                                              \
        name, read, "must be a UUID, and is for service and admin only",                           \
            "UUID を指定してください（service と admin のみ使えます）"           \
    }
