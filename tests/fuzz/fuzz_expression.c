/* Retry-delay expressions, durations and the headers that ask for a wait. Whatever the bytes are, a
 * wait stays within its bounds; what was refused at publish has no value later; parentheses around
 * the whole change nothing; and where two grammars both take a text, it means the same in both. */
#include "base/limits.h"
#include "domain/duration.h"
#include "domain/expression.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int holds)
{
    if (!holds)
        abort();
}

static void as_expression(struct str text)
{
    static const int64_t retried[] = { 0, 1, 2, 20, 1000000, INT64_MAX };
    char around[LIMIT_EXPRESSION];
    struct why why = { 0 };
    bool fine = expression_check(text, &why);
    struct str wrapped = { around, text.n + 2 };

    for (const char *p = why.text; *p; p++)
        promise(*p >= ' ' && *p <= '~');
    promise(fine == !why.text[0]);
    for (size_t i = 0; i < COUNT(retried); i++) {
        int64_t ms = expression_delay_ms(text, retried[i]);

        promise(ms >= -1 && ms <= LIMIT_BACKOFF_MS);
        promise(fine || ms == -1);
    }
    if (!fine || wrapped.n > sizeof(around))
        return;
    around[0] = '(';
    memcpy(around + 1, text.p, text.n);
    around[wrapped.n - 1] = ')';
    if (expression_check(wrapped, &why))
        promise(expression_delay_ms(wrapped, 3) == expression_delay_ms(text, 3));
    else
        promise(strstr(why.text, "too deeply") != NULL);
}

static void as_duration(struct str text)
{
    int64_t ms = 0, go = 0, less;
    enum duration_result r = duration_parse(text, DURATION_BARE_IS_SECONDS, INT64_MAX, &ms);

    promise(ms >= 0);
    if (duration_parse_go(text, DURATION_BARE_IS_SECONDS, INT64_MAX, &go) == DURATION_OK && !r)
        promise(ms == go);
    promise(go >= 0);
    if (r == DURATION_OK && ms > 0)
        promise(duration_parse(text, DURATION_BARE_IS_SECONDS, ms - 1, &less) == DURATION_TOO_LONG);
}

static void as_header(struct str text)
{
    struct backoff_headers h = { .reset_tokens = text };
    int64_t ms = backoff_asked_ms(&h, INT64_C(1760000000000));

    promise(ms >= -1 && ms <= LIMIT_BACKOFF_MS);
    h.retry_after = S("1");
    promise(backoff_asked_ms(&h, 0) == 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };

    as_expression(text);
    as_duration(text);
    as_header(text);
    return 0;
}
