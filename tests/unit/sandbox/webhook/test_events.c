#include "unit/sandbox/stage.h"
#include "webhook/signature.h"

#include <ctype.h>

static enum err add(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    return sandbox_event_add(&g->s, tx, a, ctx);
}

static void tell(struct stage *g, const char *type, const char *object)
{
    struct sandbox_event e = { .type = str_of(type),
                               .object = str_of(object),
                               .request_id = S("req_1"),
                               .idempotency_key = S("k\"1") };

    assert_int_equal(stage_do(g, add, &e), OK);
}

static int setup(void **state)
{
    *state = stage_new(false);
    return 0;
}

static int teardown(void **state)
{
    stage_free(*state);
    return 0;
}

/* "evt_3..." and the time differ each time. */
static void hide(char *text)
{
    char *p = strstr(text, "evt_3");
    char *t = strstr(text, "\"created\":");

    assert_non_null(p);
    for (p += 5; isalnum((unsigned char)*p); p++)
        *p = '#';
    assert_non_null(t);
    for (t += 10; isdigit((unsigned char)*t) || *t == ' '; t++)
        *t = '0';
}

#define ID "evt_3######################"

static void an_event_is_stripes_envelope_in_stripes_order(void **state)
{
    struct stage *g = *state;
    struct sandbox_event full = { .type = S("charge.refunded"),
                                  .object = S("{\"id\":\"ch_1\"}"),
                                  .previous = S("{\"amount_refunded\":0}"),
                                  .request_id = S("req_9"),
                                  .idempotency_key = S("k") };
    struct sandbox_event bare = { .type = S("payout.paid"), .object = S("{}") };
    char text[1024];

    assert_int_equal(stage_do(g, add, &full), OK);
    assert_int_equal(stage_do(g, add, &bare), OK);
    stage_sql(g, "SELECT body FROM sandbox_events ORDER BY seq", text, sizeof(text));
    hide(text);
    assert_string_equal(
        text, "{\"id\":\"" ID "\",\"object\":\"event\",\"api_version\":\"2026-10-28.endive\","
              "\"created\":0000000000,\"data\":{\"object\":{\"id\":\"ch_1\"},"
              "\"previous_attributes\":{\"amount_refunded\":0}},\"livemode\":false,"
              "\"pending_webhooks\":1,\"request\":{\"id\":\"req_9\",\"idempotency_key\":\"k\"},"
              "\"type\":\"charge.refunded\"}");
    stage_sql(g, "SELECT body FROM sandbox_events ORDER BY seq DESC", text, sizeof(text));
    hide(text);
    assert_string_equal(text, "{\"id\":\"" ID
                              "\",\"object\":\"event\",\"api_version\":\"2026-10-28.endive\","
                              "\"created\":0000000000,\"data\":{\"object\":{}},\"livemode\":false,"
                              "\"pending_webhooks\":0,\"request\":null,\"type\":\"payout.paid\"}");
}

static void the_receiver_hears_what_is_applied_and_no_more(void **state)
{
    static const struct {
        const char *type;
        bool wanted;
    } rows[] = {
        { "payment_intent.created", false }, { "payment_intent.succeeded", true },
        { "payment_intent.canceled", true }, { "charge.succeeded", true },
        { "charge.dispute.created", true },  { "charge.refund.updated", true },
        { "refund.created", true },          { "customer.created", false },
        { "charges.succeeded", false },      { "payment_intents", false },
        { "balance.available", false },
    };
    struct stage *g = *state;
    size_t wanted = 0;

    for (size_t i = 0; i < COUNT(rows); i++) {
        tell(g, rows[i].type, "{}");
        wanted += rows[i].wanted;
    }
    stage_heard(g, wanted);
    stage_until(g, "SELECT count(*) FROM message", 0);
    assert_int_equal(g->count, wanted);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events"), COUNT(rows));
}

static void without_a_receiver_there_is_only_the_row(void **state)
{
    struct stage *g = *state;

    g->s.o.webhook_url = S("");
    tell(g, "charge.succeeded", "{}");
    assert_int_equal(stage_int(g, "SELECT count(*) FROM message"), 0);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events"), 1);
}

static void ids_grow_with_time(void **state)
{
    struct stage *g = *state;

    for (int i = 0; i < 50; i++)
        tell(g, "payout.paid", "{}");
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events a JOIN sandbox_events b"
                                  " ON b.seq = a.seq + 1 WHERE b.created_at > a.created_at AND"
                                  " b.id <= a.id"),
                     0);
}

static void the_oldest_events_are_forgotten(void **state)
{
    struct stage *g = *state;
    char text[8];

    for (int i = 0; i < 3; i++)
        tell(g, "payout.paid", "{}");
    stage_sql(g,
              "INSERT INTO sandbox_events (seq, id, type, created_at, body)"
              " VALUES (64 * 3125 + 63, 'evt_x', 'x', 0, '{}')",
              text, sizeof(text));
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events"), 4);
    tell(g, "payout.paid", "{}");
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events"), 2);
}

/* --- as it is sent --- */

static void assert_signed(const struct heard *h)
{
    struct str secret = S(SECRET);
    struct stripe_keys *k = stripe_keys_new(&secret, 1);
    enum signature_verdict v = stripe_verify(k, str_of(h->signature), str_of(h->body), time(NULL));

    assert_string_equal(signature_reason(v), "ok");
    stripe_keys_free(k);
}

static void a_delivery_is_signed_and_indented_as_stripes(void **state)
{
    struct stage *g = *state;
    const struct heard *h = &g->heard[0];
    char text[2048];

    tell(g, "charge.succeeded",
         "{\"a\":{},\"b\":[],\"c\":[1,{\"d\":null}],\"e\":\"{\\\"x\\\":[1,2]}\\\\\",\"\\\"f\":-1."
         "5e3,"
         "\"領\":[[true],[\"\"]]}");
    stage_heard(g, 1);
    assert_signed(h);
    assert_string_equal(h->agent, "Stripe/1.0 (+https://stripe.com/docs/webhooks)");
    assert_string_equal(h->type, "application/json; charset=utf-8");
    snprintf(text, sizeof(text), "%s", h->body);
    memset(strstr(text, "evt_3") + 5, '#', 22);
    memset(strstr(text, "\"created\": ") + 11, '0', 10);
    assert_string_equal(text, "{\n"
                              "  \"id\": \"" ID "\",\n"
                              "  \"object\": \"event\",\n"
                              "  \"api_version\": \"2026-10-28.endive\",\n"
                              "  \"created\": 0000000000,\n"
                              "  \"data\": {\n"
                              "    \"object\": {\n"
                              "      \"a\": {},\n"
                              "      \"b\": [],\n"
                              "      \"c\": [\n"
                              "        1,\n"
                              "        {\n"
                              "          \"d\": null\n"
                              "        }\n"
                              "      ],\n"
                              "      \"e\": \"{\\\"x\\\":[1,2]}\\\\\",\n"
                              "      \"\\\"f\": -1.5e3,\n"
                              "      \"領\": [\n"
                              "        [\n"
                              "          true\n"
                              "        ],\n"
                              "        [\n"
                              "          \"\"\n"
                              "        ]\n"
                              "      ]\n"
                              "    }\n"
                              "  },\n"
                              "  \"livemode\": false,\n"
                              "  \"pending_webhooks\": 1,\n"
                              "  \"request\": {\n"
                              "    \"id\": \"req_1\",\n"
                              "    \"idempotency_key\": \"k\\\"1\"\n"
                              "  },\n"
                              "  \"type\": \"charge.succeeded\"\n"
                              "}");
}

static void an_event_that_is_far_too_large_fails_its_change(void **state)
{
    struct stage *g = *state;
    size_t n = LIMIT_SANDBOX_EVENT;
    char *big = malloc(n);
    struct sandbox_event e = { .type = S("charge.updated"), .object = { big, n } };

    memset(big, '1', n);
    assert_int_equal(stage_do(g, add, &e), ERR_NO_MEMORY);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events"), 0);
    free(big);
}

/* --- again --- */

static void what_fails_is_sent_again_until_it_is_taken(void **state)
{
    struct stage *g = *state;

    atomic_store(&g->s.faults->webhooks.factor, 1000000);
    memcpy(g->answers, (int[]){ 500, 302, 404, 429 }, 4 * sizeof(int));
    tell(g, "charge.succeeded", "{}");
    stage_heard(g, 5);
    stage_until(g, "SELECT count(*) FROM message", 0);
    assert_int_equal(g->count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_signed(&g->heard[i]);
        assert_string_equal(g->heard[i].body, g->heard[0].body);
    }
    assert_int_equal(stage_int(g, "SELECT count(*) FROM dead_letters"), 0);
}

static void after_three_days_it_is_a_dead_letter(void **state)
{
    struct stage *g = *state;

    atomic_store(&g->s.faults->webhooks.factor, 1000000);
    g->every = 500;
    tell(g, "charge.succeeded", "{}");
    stage_until(g, "SELECT count(*) FROM dead_letters WHERE reason = 'the receiver answered 500'",
                1);
    assert_int_equal(g->count, 11);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM message"), 0);
}

static void the_gaps_are_those_of_the_contract(void **state)
{
    static const int64_t seconds[] = { 300,   1800,  7200,  18000, 36000,
                                       36000, 36000, 36000, 36000, 36000 };
    struct stage *g = *state;
    int64_t sum = 0;

    for (size_t i = 0; i < COUNT(seconds); i++) {
        struct message m = { .attempt = (int64_t)i + 1 };
        struct job j = { .message = &m, .env = &g->s.env };
        struct why why = { 0 };
        int64_t before, gap;

        /* settle() needs a delivery that went wrong: the webhooks being off makes one. */
        g->s.faults->webhooks.on = false;
        atomic_store(&g->s.faults->webhooks.factor, 1);
        j.state = calloc(1, 4096);
        before = env_now_ms(&g->s.env);
        assert_int_equal(g->kind.settle(NULL, &j, g->kind.ctx, &why), OK);
        gap = j.again_ms - before;
        assert_in_range(gap, seconds[i] * 1000, seconds[i] * 1000 + 5000);
        sum += seconds[i];
        free(j.state);
    }
    assert_in_range(sum, 2 * 86400, 3 * 86400); /* the next ten hours would end the third day */
}

/* --- switches --- */

static void off_is_as_if_the_receiver_were_down(void **state)
{
    struct stage *g = *state;

    atomic_store(&g->s.faults->webhooks.factor, 1000000);
    g->s.faults->webhooks.drop_first = 4;
    tell(g, "charge.succeeded", "{}");
    stage_heard(g, 1);
    stage_until(g, "SELECT count(*) FROM message", 0);
    assert_int_equal(g->count, 1);
    assert_int_equal(g->s.faults->webhooks.drop_first, 0);
}

static void duplicates_have_the_same_text(void **state)
{
    struct stage *g = *state;

    atomic_store(&g->s.faults->webhooks.copies, 3);
    tell(g, "charge.succeeded", "{}");
    stage_heard(g, 4);
    for (size_t i = 1; i < 4; i++)
        assert_string_equal(g->heard[i].body, g->heard[0].body);
}

static enum err add_three(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    static const char *const types[] = { "charge.succeeded", "charge.captured", "charge.updated" };
    struct sandbox_event e = { .object = S("{}") };
    enum err err = OK;

    (void)ctx;
    for (size_t i = 0; i < COUNT(types) && !err; i++) {
        e.type = str_of(types[i]);
        err = sandbox_event_add(&g->s, tx, a, &e);
    }
    return err;
}

static void reorder_sends_the_last_first(void **state)
{
    struct stage *g = *state;

    atomic_store(&g->s.faults->webhooks.reorder, true);
    assert_int_equal(stage_do(g, add_three, NULL), OK);
    stage_heard(g, 3);
    assert_non_null(strstr(g->heard[0].body, "charge.updated"));
    assert_non_null(strstr(g->heard[1].body, "charge.captured"));
    assert_non_null(strstr(g->heard[2].body, "charge.succeeded"));
}

static enum err add_and_fail(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    enum err e = add_three(g, tx, a, ctx);

    return e ? e : ERR_CONFLICT;
}

static void a_change_that_rolls_back_tells_nothing(void **state)
{
    struct stage *g = *state;

    assert_int_equal(stage_do(g, add_and_fail, NULL), ERR_CONFLICT);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events"), 0);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM message"), 0);
}

#define ON_STAGE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(an_event_is_stripes_envelope_in_stripes_order),
        ON_STAGE(the_receiver_hears_what_is_applied_and_no_more),
        ON_STAGE(without_a_receiver_there_is_only_the_row),
        ON_STAGE(ids_grow_with_time),
        ON_STAGE(the_oldest_events_are_forgotten),
        ON_STAGE(a_delivery_is_signed_and_indented_as_stripes),
        ON_STAGE(an_event_that_is_far_too_large_fails_its_change),
        ON_STAGE(what_fails_is_sent_again_until_it_is_taken),
        ON_STAGE(after_three_days_it_is_a_dead_letter),
        ON_STAGE(the_gaps_are_those_of_the_contract),
        ON_STAGE(off_is_as_if_the_receiver_were_down),
        ON_STAGE(duplicates_have_the_same_text),
        ON_STAGE(reorder_sends_the_last_first),
        ON_STAGE(a_change_that_rolls_back_tells_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
