/* dispatch.h - from a request to its handler: admission, routes, refusals. */
#pragma once

#include "base/err.h"

struct exchange;

/* The head is there. An err refuses the request before its body is read. */
enum err dispatch_head(struct exchange *x, const char **ret_detail);
/* The request is complete, or no route wants its body: answers it, or gives it to its handler. */
void dispatch(struct exchange *x);
/* It never became a request: answers it, and the connection ends. */
void dispatch_refusal(struct exchange *x, enum err e, const char *detail);
