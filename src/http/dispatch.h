/* dispatch.h - from a request to its handler: admission, routes, rejections. */
#pragma once

#include "base/err.h"

struct exchange;

/* Called with a complete head. An err rejects the request before its body is read. */
enum err dispatch_head(struct exchange *x, const char **ret_detail);
/* Called with a complete request, or where no route takes its body: answers it, or calls its
 * handler. */
void dispatch(struct exchange *x);
/* Answers bytes that are no request; the connection ends. */
void dispatch_refusal(struct exchange *x, enum err e, const char *detail);
