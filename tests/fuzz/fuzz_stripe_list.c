/* A page of one of Stripe's lists. What the splitter finds, the tree finds too: as many objects,
 * each of them whole, its bytes those of the answer; whatever it is, it reads as an event, an
 * intent or a refund, or is refused. */
#include "base/json/json.h"
#include "base/limits.h"
#include "gateway/stripe/events.h"
#include "gateway/stripe/ledger.h"

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

/* As text: to cJSON_Compare() a number beyond all doubles is not even itself. */
static bool is_same(const cJSON *a, const cJSON *b)
{
    char *x = cJSON_PrintUnformatted(a), *y = cJSON_PrintUnformatted(b);
    bool same = x && y && strcmp(x, y) == 0;

    cJSON_free(x);
    cJSON_free(y);
    return same;
}

static void same_object(struct str item, const cJSON *object)
{
    CLEANUP(json_freep) cJSON *tree = NULL;

    must(json_parse(item, &tree, NULL) == OK, "an object of a page is JSON by itself");
    must(cJSON_IsObject(tree) && is_same(tree, object), "and is the tree's");
}

static void reads(struct str item)
{
    struct stripe_listed_event event;
    struct stripe_listed_intent intent;
    struct fact refund;
    struct arena a;

    arena_init(&a, 1 << 20);
    if (stripe_listed_event(item, &event))
        must(event.id.n && event.type.n && event.id.n <= LIMIT_GATEWAY_ID && event.body.p == item.p,
             "an event names itself and keeps its bytes");
    if (stripe_listed_intent(&a, item, &intent) == OK)
        must(intent.id.n && intent.fact.intent_id.n && intent.refunded >= 0 &&
                 intent.fact.received >= 0,
             "an intent has an id, and no money below nothing");
    if (stripe_listed_refund(&a, item, &refund) == OK)
        must(refund.refund_id.n && refund.amount >= 0, "a refund has an id and an amount");
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct arena a;
    struct stripe_page p = { .arena = &a };
    const cJSON *list;

    arena_init(&a, 1 << 20);
    if (stripe_page_parse(&p, text) == OK) {
        must(json_parse(text, &tree, NULL) == OK, "a page is JSON");
        list = cJSON_GetObjectItemCaseSensitive(tree, "data");
        must((size_t)cJSON_GetArraySize(list) == p.count, "all objects are found");
        for (size_t i = 0; i < p.count; i++) {
            must(p.items[i].p >= text.p && p.items[i].p + p.items[i].n <= text.p + text.n,
                 "its bytes are the answer's");
            same_object(p.items[i], cJSON_GetArrayItem(list, (int)i));
            reads(p.items[i]);
        }
        must(!p.has_more || p.last_id.n, "more is behind something");
    } else {
        must(!p.count && p.why[0], "a refused page has no objects, and says why");
    }
    arena_release(&a);
    return 0;
}
