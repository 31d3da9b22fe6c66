/* An answer of PayPay, and a notification, of whatever bytes: what is read keeps its promises, and
 * survives being written to a queue message and read again. */
#include "base/json/json.h"
#include "base/limits.h"
#include "gateway/fact.h"
#include "gateway/paypay/answer.h"
#include "gateway/paypay/read.h"
#include "webhook/paypay_notification.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static bool is_printable(struct str s, size_t most)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return false;
    return s.n <= most;
}

static void keeps_its_promises(struct arena *a, const struct fact *f)
{
    struct uuid ours, named;
    struct str once = fact_write(a, f), twice;
    struct fact again;

    must(f->state < INTENT_STATES && f->refund < REFUND_STATUSES, "enums are in their range");
    must(f->amount >= 0 && f->received >= 0 && f->received <= INT64_C(99999999999) &&
             f->action_expires_ms >= 0 && f->capture_before_ms >= 0,
         "numbers are in their range");
    must(strlen(f->currency) == 3, "money has a currency");
    must(is_printable(f->intent_id, PAYPAY_ID) && is_printable(f->refund_id, PAYPAY_ID) &&
             is_printable(f->charge_id, LIMIT_GATEWAY_ID) &&
             is_printable(f->action_url, LIMIT_GATEWAY_URL),
         "texts are sane");
    must(f->kind != FACT_REFUND || f->refund_id.n, "a refund has an id");
    must(f->kind != FACT_INTENT || f->intent_id.n, "an intent has an id");
    must(!f->payment_id.n || (paypay_payment_of(f->intent_id, &ours) &&
                              uuid_parse(f->payment_id, &named) && uuid_eq(ours, named)),
         "a payment is named by its own id");
    must(once.p && !fact_read(a, once, &again), "a fact that was written can be read");
    twice = fact_write(a, &again);
    must(str_eq(once, twice), "and is the same");
}

static void read_answer(struct arena *a, struct str body)
{
    static const int statuses[] = { 200, 202, 400, 401, 404, 429, 500, 503 };
    struct paypay_wanted w = { .capture_id = S("c-1"), .refund_id = S("r-1"), .now_ms = 1 };
    struct gateway_call c = { .arena = a };
    struct paypay_payment p;
    struct fact f;

    for (size_t i = 0; i < COUNT(statuses); i++) {
        struct call http = { .result = CALL_ANSWERED, .status = statuses[i], .answer = body };
        cJSON *tree = NULL;
        struct paypay_reply r = paypay_judge(&c, &http, false, &tree);

        must((r.said == SAID_DONE) <= (statuses[i] == 200), "only a 200 is a success");
        must(strlen(c.error_code) < sizeof(c.error_code) && str_is_utf8(str_of(c.error_code)) &&
                 str_is_utf8(str_of(c.error_message)),
             "words are words");
        if (r.said == SAID_DONE && !paypay_read_payment(a, r.data, &w, &p)) {
            keeps_its_promises(a, &p.fact);
            if (p.has_refund)
                keeps_its_promises(a, &p.refund);
        }
        if (r.said == SAID_DONE && !paypay_read_refund(a, r.data, &f))
            keeps_its_promises(a, &f);
        if (r.said == SAID_DONE && !paypay_read_code(a, r.data, &f))
            keeps_its_promises(a, &f);
        json_freep(&tree);
    }
}

static void read_notice(struct arena *a, struct str body)
{
    struct paypay_notice n, again;
    struct uuid payment;

    must(!paypay_notice_read(a, body, &n), "there is no failure with memory");
    must(str_starts(n.event.id, S("paypay:")) && is_printable(n.event.id, 300), "it has a name");
    must(n.event.readable ? n.event.type.n > 0 : n.event.why != NULL, "a refusal has its reason");
    must(!n.has_payment || (n.event.readable && paypay_payment_of(n.order, &payment)),
         "a payment is named by an id of ours");
    must(!paypay_notice_read(a, body, &again) && str_eq(n.event.id, again.event.id),
         "the same bytes have the same name");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = { (const char *)data, size };
    struct arena a;

    arena_init(&a, LIMIT_REQUEST_ARENA);
    read_answer(&a, body);
    read_notice(&a, body);
    arena_release(&a);
    return 0;
}
