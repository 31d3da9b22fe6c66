/* query.h - the parameters of a request's query, and all that is wrong with them at once (P5). */
#pragma once

#include "http/http.h"

struct query_parameter {
    const char *name;
    /* The decoded value; may be empty. False: it is not what it must be. */
    bool (*read)(struct request *r, void *ctx, struct str value);
    const char *en, *ja; /* what is wrong where read() says no */
};

/* Each is given at most once, and no others. False: 400 was answered. At most 32 of them. */
bool query_read(struct request *r, const struct query_parameter *parameters, size_t n, void *ctx);
