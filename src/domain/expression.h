/* expression.h - how long a failed message of the QStash API waits for its next attempt. In this
 * order: the receiver's headers, the publisher's Upstash-Retry-Delay, the default backoff; each at
 * most LIMIT_BACKOFF_MS. Pure, no allocation.
 *
 * The expression gives milliseconds: numbers (1000, 0.5), the variable retried (0 before the first
 * retry), + - * / and unary minus, parentheses, blanks, and the functions pow(x,y) exp(x) sqrt(x)
 * abs(x) floor(x) ceil(x) round(x) min(x,y) max(x,y). Length and depth are limited and
 * each byte is read once, so its cost is bounded. */
#pragma once

#include "base/str.h"
#include "base/why.h"

/* Checks the syntax, when a message is published. False: `why` has the reason in printable ASCII.
 * An expression that may have no finite value is accepted: 1/retried. */
bool expression_check(struct str text, struct why *why);

/* Rounded to a whole millisecond; a negative value is 0, a large one is cut to LIMIT_BACKOFF_MS.
 * -1: the default backoff applies, since the value is NaN or infinite, or the text is no
 * expression. */
int64_t expression_delay_ms(struct str text, int64_t retried);

/* min(one day, e^(2.5 n) seconds), n = 1 before the first retry. */
int64_t backoff_delay_ms(int64_t n);

struct backoff_headers { /* of the receiver's answer; empty: absent */
    struct str retry_after, reset, reset_requests, reset_tokens;
};

/* Retry-After, X-RateLimit-Reset, X-RateLimit-Reset-Requests, X-RateLimit-Reset-Tokens: seconds, an
 * HTTP date, or a Go duration. 0 or a past date means at once. A value that is invalid or above one
 * day is ignored; the first valid one in this order counts. -1: none is valid. */
int64_t backoff_asked_ms(const struct backoff_headers *h, int64_t wall_ms);
