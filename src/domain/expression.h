/* expression.h - how long a failed message of the QStash API waits for its next try. In this order:
 * what the receiver asked for in its headers, what the publisher asked for in Upstash-Retry-Delay,
 * the default backoff. None of them waits longer than LIMIT_BACKOFF_MS. Pure, no allocation.
 *
 * The expression gives milliseconds: numbers (1000, 0.5), the variable retried (0 before the first
 * retry), + - * / and unary minus, parentheses, blanks, and the functions pow(x,y) exp(x) sqrt(x)
 * abs(x) floor(x) ceil(x) round(x) min(x,y) max(x,y). Its length and depth are bounded, and each
 * byte is read once, so its cost is too. */
#pragma once

#include "base/str.h"
#include "base/why.h"

/* At publish. False: why has the words, in printable ASCII. Whether the value will be a number does
 * not matter here: 1/retried is fine. */
bool expression_check(struct str text, struct why *why);

/* Rounded to a whole millisecond; a negative value is 0, a large one is cut to LIMIT_BACKOFF_MS.
 * -1: the default backoff applies, as the value is no number (NaN, infinite), or the text no
 * expression. */
int64_t expression_delay_ms(struct str text, int64_t retried);

/* min(one day, e^(2.5 n) seconds), n = 1 before the first retry. */
int64_t backoff_delay_ms(int64_t n);

struct backoff_headers { /* of the answer; empty: it had none */
    struct str retry_after, reset, reset_requests, reset_tokens;
};

/* Retry-After, X-RateLimit-Reset, X-RateLimit-Reset-Requests, X-RateLimit-Reset-Tokens: seconds, an
 * HTTP date, or a Go duration. 0, or a date that is past, is at once. What cannot be read or is
 * above one day is as if it were not there, and of the others the first in this order counts. -1:
 * none. */
int64_t backoff_asked_ms(const struct backoff_headers *h, int64_t wall_ms);
