/* query.h - the parameters of a request's query, and all that is wrong with them at once (P5). */
#pragma once

#include "base/buf.h"
#include "base/uuid.h"
#include "http/http.h"

struct query_parameter {
    const char *name;
    /* The decoded value; may be empty. False: it is not what it must be. */
    bool (*read)(struct request *r, void *ctx, struct str value);
    const char *en, *ja; /* what is wrong where read() says no */
};

/* Each is given at most once, and no others. False: 400 was answered. At most 32 of them. */
bool query_read(struct request *r, const struct query_parameter *parameters, size_t n,
                void *ctx) ANSWERS;

/* --- pages --- */

/* 1 to `most`. */
bool query_limit(struct str value, int most, int *ret_limit);
/* An id as query_next_cursor() writes it. *ret_has: it is one. */
bool query_cursor(struct arena *a, struct str value, bool *ret_has, struct uuid *ret_id);
/* The end of a page's data, and the id at which the next page begins. NULL: this is the last. */
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
