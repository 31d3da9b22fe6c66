/* What strangers write into headers of events and answers: times, Retry-After, Standard Webhooks.
 * The input is read as each of them in turn. Whatever it is, the result stays within its bounds,
 * and a secret that is sane signs what it verifies. */
#include "auth/standard_webhooks.h"
#include "base/limits.h"
#include "base/time/parse.h"
#include "outbox/outbox.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_S INT64_C(1760000000)
#define SECRET S("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")

static void promise(int holds)
{
    if (!holds)
        abort();
}

static void as_times(struct str text)
{
    int64_t ms = 0, wait;

    if (time_parse(text, &ms))
        promise(text.n >= 20 && ms / 1000 > INT64_C(-62170000000) && ms / 1000 < 253410000000);
    (void)time_parse_http(text, &ms);
    wait = retry_after_ms(text, NOW_S * 1000);
    promise(wait >= -1);
    wait = delivery_delay_ms(1, wait);
    promise(wait >= 5000 && wait <= LIMIT_RETRY_AFTER_MS);
}

static void as_secret(struct str text)
{
    char signature[SIGNING_TEXT + 1];

    if (!signing_secret_is_sane(text))
        return;
    promise(signing_sign(text, S("id"), S("1760000000"), text, signature));
    promise(signing_verify(text, S("id"), S("1760000000"), str_of(signature), text, NOW_S));
}

/* The digest of SECRET is nothing that can be found by trying. */
static void as_signatures(struct str text)
{
    promise(!signing_verify(SECRET, S("id"), S("1760000000"), text, S("body"), NOW_S));
    promise(!signing_verify(SECRET, S("id"), text, S("v1,"), S("body"), NOW_S));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };

    as_times(text);
    as_secret(text);
    as_signatures(text);
    return 0;
}
