#include "unit/sandbox/stage.h"

#define JSON "application/json"
#define FORM "application/x-www-form-urlencoded"

static int setup(void **state)
{
    *state = stage_new(true);
    return 0;
}

static int teardown(void **state)
{
    stage_free(*state);
    return 0;
}

/* The answer has that status, and holds the text. */
static void expect(struct stage *g, const char *method, const char *path, const char *type,
                   const char *body, int status, const char *holds)
{
    char *answer = stage_ask(g, method, path, type, body);

    if (atoi(answer + 9) != status || !strstr(answer, holds))
        fail_msg("%s %s %s: not %d %s but %s", method, path, body, status, holds, answer);
    free(answer);
}

static void get(struct stage *g, const char *path, int status, const char *holds)
{
    expect(g, "GET", path, JSON, "", status, holds);
}

static void post(struct stage *g, const char *path, const char *body, int status, const char *holds)
{
    expect(g, "POST", path, JSON, body, status, holds);
}

/* --- switches --- */

static void a_rule_is_read_listed_and_cleared(void **state)
{
    struct stage *g = *state;
    const struct call_rule *r = &g->s.faults->rules[0];

    get(g, "/_sandbox/faults", 200, "{\"faults\":[]}");
    post(g, "/_sandbox/faults",
         "{\"path\":\"/v1/refunds\",\"method\":\"POST\",\"times\":3,\"skip\":2,\"delayMs\":5,"
         "\"statusBefore\":429,\"statusAfter\":500,\"dropBefore\":true,\"dropAfter\":true,"
         "\"hangMs\":7,\"declineCode\":\"lost_card\",\"answer\":\"cut\",\"shouldRetry\":false}",
         200,
         "{\"faults\":[{\"method\":\"POST\",\"path\":\"/v1/refunds\",\"delayMs\":5,"
         "\"statusBefore\":429,\"statusAfter\":500,\"hangMs\":7,\"dropBefore\":true,"
         "\"dropAfter\":true,\"answer\":\"cut\",\"shouldRetry\":false,"
         "\"declineCode\":\"lost_card\",\"skip\":2,\"times\":3}]}");
    assert_int_equal(r->fault.status_after, 500);
    assert_int_equal(r->fault.hang_ms, 7);
    post(g, "/_sandbox/faults", "{\"dropAfter\":true}", 200,
         ",{\"dropAfter\":true,\"skip\":0,\"times\":1}]}");
    expect(g, "DELETE", "/_sandbox/faults", JSON, "", 200, "{\"faults\":[]}");
    get(g, "/_sandbox/faults", 200, "{\"faults\":[]}");
}

static void a_wrong_rule_is_refused_with_its_field(void **state)
{
    static const struct {
        const char *body, *holds;
    } rows[] = {
        { "", "VALIDATION_ERROR" },
        { "[]", "VALIDATION_ERROR" },
        { "3", "VALIDATION_ERROR" },
        { "{}", "something to do" },
        { "{\"delayMs\":0}", "something to do" },
        { "{\"delay\":1}", "\"field\":\"delay\"" },
        { "{\"delayMs\":-1}", "\"field\":\"delayMs\"" },
        { "{\"delayMs\":120001}", "\"field\":\"delayMs\"" },
        { "{\"delayMs\":\"5\"}", "\"field\":\"delayMs\"" },
        { "{\"statusBefore\":200}", "\"field\":\"statusBefore\"" },
        { "{\"statusAfter\":600}", "\"field\":\"statusAfter\"" },
        { "{\"dropAfter\":1}", "\"field\":\"dropAfter\"" },
        { "{\"dropAfter\":true,\"times\":0}", "\"field\":\"times\"" },
        { "{\"answer\":\"pdf\"}", "\"field\":\"answer\"" },
        { "{\"answer\":1}", "\"field\":\"answer\"" },
        { "{\"shouldRetry\":true}", "something to do" },
        { "{\"statusBefore\":429,\"shouldRetry\":1}", "\"field\":\"shouldRetry\"" },
        { "{\"dropAfter\":true,\"path\":\"v1\"}", "\"field\":\"path\"" },
        { "{\"dropAfter\":true,\"method\":\"PROPFINDX\"}", "\"field\":\"method\"" },
        { "{\"dropAfter\":true,\"dropAfter\":true}", "VALIDATION_ERROR" },
    };
    struct stage *g = *state;

    for (size_t i = 0; i < COUNT(rows); i++)
        post(g, "/_sandbox/faults", rows[i].body, 400, rows[i].holds);
    assert_int_equal(g->s.faults->count, 0);
}

static void webhook_switches_keep_what_is_not_named(void **state)
{
    struct stage *g = *state;

    get(g, "/_sandbox/webhooks", 200,
        "{\"url\":\"\",\"on\":true,\"duplicate\":0,\"reorder\":false,\"delayMs\":0,"
        "\"dropFirst\":0,\"factor\":300,\"burst\":false,\"offBySetting\":false}");
    post(g, "/_sandbox/webhooks", "{\"on\":false,\"duplicate\":2}", 200,
         "\"on\":false,\"duplicate\":2,\"reorder\":false");
    post(g, "/_sandbox/webhooks",
         "{\"reorder\":true,\"delayMs\":9,\"dropFirst\":4,\"factor\":7,"
         "\"url\":\"http://127.0.0.1:9/x\"}",
         200,
         "{\"url\":\"http://127.0.0.1:9/x\",\"on\":false,\"duplicate\":2,\"reorder\":true,"
         "\"delayMs\":9,\"dropFirst\":4,\"factor\":7,\"burst\":false,\"offBySetting\":false}");
    post(g, "/_sandbox/webhooks", "{\"on\":true,\"url\":\"ftp://x\"}", 400, "\"field\":\"url\"");
    post(g, "/_sandbox/webhooks", "{\"duplicate\":11}", 400, "\"field\":\"duplicate\"");
    post(g, "/_sandbox/webhooks", "{\"of\":true}", 400, "\"field\":\"of\"");
    get(g, "/_sandbox/webhooks", 200, "\"on\":false");
    post(g, "/_sandbox/webhooks", "{\"url\":\"\"}", 200, "{\"url\":\"\"");
}

static enum err add(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    return sandbox_event_add(&g->s, tx, a, ctx);
}

static void events_are_listed_by_type_newest_first(void **state)
{
    struct sandbox_event one = { .type = S("charge.updated"), .object = S("{\"n\":1}") };
    struct sandbox_event two = { .type = S("refund.created"), .object = S("{\"n\":2}") };
    struct stage *g = *state;

    get(g, "/_sandbox/events", 200,
        "{\"object\":\"list\",\"data\":[],\"has_more\":false,\"url\":\"/_sandbox/events\"}");
    assert_int_equal(stage_do(g, add, &one), OK);
    assert_int_equal(stage_do(g, add, &two), OK);
    get(g, "/_sandbox/events?limit=1", 200, "{\"n\":2}},");
    get(g, "/_sandbox/events?limit=1", 200, "\"has_more\":true");
    get(g, "/_sandbox/events?type=charge.updated", 200, "{\"n\":1}},");
    get(g, "/_sandbox/events?type=charge.updated", 200, "\"has_more\":false");
    get(g, "/_sandbox/events?type=nothing", 200, "\"data\":[]");
    for (int i = 0; i < 3; i++) {
        static const char *const wrong[] = { "0", "101", "x" };
        char path[64];

        snprintf(path, sizeof(path), "/_sandbox/events?limit=%s", wrong[i]);
        get(g, path, 400, "limit");
    }
}

/* --- books --- */

static void put(struct stage *g, const char *sql)
{
    char text[8];

    stage_sql(g, sql, text, sizeof(text));
}

#define INTENT(id, status, amount, capturable, received, more, values)                             \
    "INSERT INTO sandbox_intents (id, created_at, amount, amount_capturable, amount_received,"     \
    " currency, status, capture_method, confirmation_method, client_secret, metadata,"             \
    " authenticated, method_types, automatic_methods" more ") VALUES ('" id                        \
    "', 1760000000000, " #amount ", " #capturable ", " #received ", 'jpy', '" status               \
    "', 'manual', 'automatic', '" id                                                               \
    "_secret_x', '{\"payment_id\":\"p1\"}', 0, '[\"card\"]', 0" values ")"

#define CHARGE(id, intent, captured_amount, refunded, captured, status)                            \
    "INSERT INTO sandbox_charges (id, intent, created_at, amount, amount_captured,"                \
    " amount_refunded, captured, status, currency, payment_method, card, authenticated, metadata)" \
    " VALUES ('" id "', '" intent "', 1760000000000, 1000, " #captured_amount ", " #refunded       \
    ", " #captured ", '" status "', 'jpy', 'pm_1', 'visa', 0, '{}')"

#define REFUND(id, intent, charge, amount, status)                                                 \
    "INSERT INTO sandbox_refunds (id, charge, intent, created_at, amount, currency, status,"       \
    " metadata, payment_method) VALUES ('" id "', '" charge "', '" intent                          \
    "', 1760000000000, " #amount ", 'jpy', '" status "', '{}', 'pm_1')"

#define STEM_A "3aaaaaaaaaaaaaaaa"
#define STEM_B "3bbbbbbbbbbbbbbbb"

static void the_books_count_what_moved_and_nothing_else(void **state)
{
    struct stage *g = *state;

    put(g, INTENT("pi_" STEM_A "x", "succeeded", 1000, 0, 800, "", ""));
    put(g, CHARGE("ch_" STEM_A "1", "pi_" STEM_A "x", 0, 0, 0, "failed"));
    put(g, CHARGE("ch_" STEM_A "2", "pi_" STEM_A "x", 800, 100, 1, "succeeded"));
    put(g, REFUND("re_" STEM_A "1", "pi_" STEM_A "x", "ch_" STEM_A "2", 100, "succeeded"));
    put(g, REFUND("re_" STEM_A "2", "pi_" STEM_A "x", "ch_" STEM_A "2", 300, "failed"));
    put(g, INTENT("pi_" STEM_B "x", "requires_capture", 1000, 1000, 0, "", ""));
    put(g, CHARGE("ch_" STEM_B "1", "pi_" STEM_B "x", 0, 0, 0, "succeeded"));
    get(g, "/_sandbox/books?payment_id=p1", 200,
        "{\"intents\":[{\"id\":\"pi_" STEM_A "x\",\"payment_id\":\"p1\",\"status\":\"succeeded\","
        "\"currency\":\"jpy\",\"amount\":1000,\"held\":0,\"captured\":800,\"refunded\":100,"
        "\"charges\":1,\"refunds\":1},{\"id\":\"pi_" STEM_B "x\",\"payment_id\":\"p1\","
        "\"status\":\"requires_capture\",\"currency\":\"jpy\",\"amount\":1000,\"held\":1000,"
        "\"captured\":0,\"refunded\":0,\"charges\":0,\"refunds\":0}],\"has_more\":false,"
        "\"totals\":{\"intents\":2,\"held\":1000,\"captured\":800,\"refunded\":100,\"net\":700,"
        "\"charges\":1,\"refunds\":1}}");
    get(g, "/_sandbox/books?after=pi_" STEM_A "x", 200, "\"totals\":{\"intents\":1,");
    get(g, "/_sandbox/books?payment_id=p2", 200, "{\"intents\":[],");
}

/* --- the page --- */

static void the_page_asks_in_two_languages_and_escapes_everything(void **state)
{
    struct stage *g = *state;
    char *page;

    put(g, INTENT("pi_3ask", "requires_action", 1200, 0, 0, ", description, card",
                  ", '<script>alert(\"x\")</script>&''', 'threeDSecure2Required'"));
    page = stage_ask(g, "GET", "/_sandbox/authenticate/pi_3ask", JSON, "");
    assert_int_equal(atoi(page + 9), 200);
    assert_non_null(strstr(page, "Content-Type: text/html; charset=utf-8"));
    assert_non_null(strstr(page, "Content-Security-Policy: default-src 'none';"));
    assert_non_null(strstr(page, ">Authorise<"));
    assert_non_null(strstr(page, "<a href=\"?lang=ja\""));
    assert_non_null(strstr(page, "¥1,200"));
    assert_non_null(strstr(page, "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;"));
    assert_null(strstr(page, "<script"));
    free(page);
    page = stage_ask(g, "GET", "/_sandbox/authenticate/pi_3ask?lang=ja", JSON, "");
    assert_non_null(strstr(page, "<html lang=\"ja\">"));
    assert_non_null(strstr(page, ">認証する<"));
    assert_non_null(strstr(page, ">失敗させる<"));
    free(page);
}

static void the_answer_is_checked_before_anything_is_done(void **state)
{
    struct stage *g = *state;
    const char *where = "/_sandbox/authenticate/pi_3done";

    put(g, INTENT("pi_3done", "succeeded", 1200, 0, 1200, "", ""));
    get(g, "/_sandbox/authenticate/pi_3nobody", 404, "NOT_FOUND");
    get(g, where, 200, "You may close this page");
    expect(g, "POST", where, FORM, "result=maybe", 400, "success or fail");
    expect(g, "POST", where, FORM, "", 400, "success or fail");
    expect(g, "POST", where, FORM, "result=success&result=fail", 400, "success or fail");
    post(g, where, "{\"result\":true}", 400, "success or fail");
    post(g, where, "{\"result\":\"success\"", 400, "success or fail");
    post(g, where, "{\"result\":\"success\"}", 422, "UNPROCESSABLE");
    post(g, "/_sandbox/authenticate/pi_3nobody", "{\"result\":\"success\"}", 404, "NOT_FOUND");
}

#define ON_STAGE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(a_rule_is_read_listed_and_cleared),
        ON_STAGE(a_wrong_rule_is_refused_with_its_field),
        ON_STAGE(webhook_switches_keep_what_is_not_named),
        ON_STAGE(events_are_listed_by_type_newest_first),
        ON_STAGE(the_books_count_what_moved_and_nothing_else),
        ON_STAGE(the_page_asks_in_two_languages_and_escapes_everything),
        ON_STAGE(the_answer_is_checked_before_anything_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
