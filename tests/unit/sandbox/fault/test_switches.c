/* The switches through a whole sandbox: what a spoiled answer looks like on the wire, what a new
 * start still knows, who may press the buttons, and the page. */
#include "unit/sandbox/shop.h"

#define JSON "Content-Type: application/json\r\n"
#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"

static struct reply ask(struct shop *shop, const char *method, const char *path,
                        const char *headers, const char *body)
{
    return shop_hear(shop, shop_send(shop, method, path, headers, body));
}

static struct reply rule(struct shop *shop, const char *body)
{
    struct reply r = ask(shop, "POST", "/_sandbox/faults", JSON, body);

    expect_status(r, 200);
    return r;
}

static void again(struct shop *shop)
{
    sandbox_free(shop->s);
    shop_start(shop);
}

static size_t promised(struct reply r)
{
    const char *length = strcasestr(r.headers, "content-length: ");

    return length ? (size_t)atoi(length + 16) : 0;
}

/* --- answers --- */

static void a_spoiled_answer_was_true_and_is_kept_so(void **state)
{
    static const struct {
        const char *how;
        int status;
        const char *header, *holds;
        bool whole;
    } rows[] = {
        { "html", 200, "text/html", "<!doctype html>", true },
        { "content_type", 200, "text/html", "\"object\":\"payment_intent\"", true },
        { "redirect", 302, "location: /v1/payment_intents", "<!doctype html>", true },
        { "currency", 200, "application/json", ",\"currency\":\"usd\",", true },
        { "half_json", 200, "application/json", "{\"id\":\"pi_", true },
        { "cut", 200, "application/json", "{\"id\":\"pi_", false },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[128];
        struct reply r, kept;

        snprintf(body, sizeof(body), "{\"answer\":\"%s\"}", rows[i].how);
        rule(shop, body);
        r = shop_call(shop, "POST", "/v1/payment_intents", PAY "pm_card_visa", rows[i].how);
        if (r.status != rows[i].status || !says(r, rows[i].header) ||
            !strstr(r.body, rows[i].holds) || (strlen(r.body) == promised(r)) != rows[i].whole)
            fail_msg("row %zu: %s: %s\n%s", i, rows[i].how, r.headers, r.body);
        kept = shop_call(shop, "POST", "/v1/payment_intents", PAY "pm_card_visa", rows[i].how);
        expect_status(kept, 200);
        assert_true(says(kept, "idempotent-replayed: true"));
        expect(shop, kept, "currency", "jpy");
        expect(shop, kept, "status", "succeeded");
    }
}

static void a_proxy_s_page_is_an_error_that_did_nothing(void **state)
{
    struct shop *shop = *state;
    struct reply r;

    rule(shop, "{\"statusBefore\":502,\"answer\":\"html\"}");
    r = shop_call(shop, "POST", "/v1/payment_intents", PAY "pm_card_visa", "k");
    expect_status(r, 502);
    assert_true(says(r, "text/html"));
    r = shop_get(shop, "/_sandbox/books");
    expect(shop, r, "totals.intents", "0");
}

static void the_word_on_trying_again_can_be_chosen(void **state)
{
    static const struct {
        const char *rule, *word; /* NULL: none */
    } rows[] = {
        { "{\"statusBefore\":429}", NULL },
        { "{\"statusBefore\":429,\"shouldRetry\":true}", "stripe-should-retry: true" },
        { "{\"statusBefore\":409,\"shouldRetry\":false}", "stripe-should-retry: false" },
        { "{\"statusBefore\":409}", "stripe-should-retry: true" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r;

        rule(shop, rows[i].rule);
        r = shop_pay(shop, "pm_card_visa", "");
        if (says(r, rows[i].word ? rows[i].word : "stripe-should-retry") != !!rows[i].word)
            fail_msg("row %zu: %s", i, r.headers);
    }
}

/* --- what a restart knows --- */

static void a_new_start_knows_the_switches(void **state)
{
    struct shop *shop = *state;
    struct reply r;

    rule(shop, "{\"path\":\"/v1/refunds\",\"delayMs\":1,\"times\":3}");
    rule(shop, "{\"method\":\"GET\",\"statusBefore\":500,\"skip\":1,\"times\":3}");
    r = ask(shop, "POST", "/_sandbox/webhooks", JSON,
            "{\"on\":false,\"duplicate\":3,\"burst\":true,\"url\":\"http://127.0.0.1:9/x\"}");
    expect_status(r, 200);
    r = ask(shop, "POST", "/_sandbox/chaos", JSON,
            "{\"seed\":42,\"calls\":{\"html\":0.000001},\"webhooks\":{\"drop\":1},"
            "\"until\":\"2126-01-02T03:04:05.678+09:00\"}");
    expect_status(r, 200);
    expect_status(shop_get(shop, "/v1/payment_intents"), 200);
    expect_status(shop_get(shop, "/v1/payment_intents"), 500);
    again(shop);
    r = shop_get(shop, "/_sandbox/faults");
    assert_string_equal(r.body, "{\"faults\":[{\"path\":\"/v1/refunds\",\"delayMs\":1,\"skip\":0,"
                                "\"times\":3},{\"method\":\"GET\",\"statusBefore\":500,\"skip\":0,"
                                "\"times\":2}]}\n");
    r = shop_get(shop, "/_sandbox/webhooks");
    assert_non_null(strstr(r.body, "{\"url\":\"http://127.0.0.1:9/x\",\"on\":false,"
                                   "\"duplicate\":3,"));
    expect(shop, r, "burst", "true");
    r = shop_get(shop, "/_sandbox/chaos");
    assert_non_null(strstr(r.body, "{\"on\":true,\"seed\":42,\"calls\":{\"html\":0.000001},"
                                   "\"webhooks\":{\"drop\":1.000000},\"delayMs\":200,"
                                   "\"hangMs\":500,\"until\":\"2126-01-01T18:04:05.678Z\","));
    expect_status(shop_get(shop, "/v1/payment_intents"), 500);
    expect_status(shop_get(shop, "/v1/payment_intents"), 500);
    expect_status(shop_get(shop, "/v1/payment_intents"), 200);
    expect_status(ask(shop, "DELETE", "/_sandbox/chaos", "", ""), 200);
    again(shop);
    expect(shop, shop_get(shop, "/_sandbox/chaos"), "on", "false");
    r = shop_get(shop, "/_sandbox/faults");
    assert_null(strstr(r.body, "statusBefore"));
    expect_status(ask(shop, "DELETE", "/_sandbox/faults", "", ""), 200);
    again(shop);
    r = shop_get(shop, "/_sandbox/faults");
    assert_string_equal(r.body, "{\"faults\":[]}\n");
}

static void many_rules_at_once_are_all_kept(void **state)
{
    struct shop *shop = *state;
    struct reply r;
    int fd[LIMIT_SANDBOX_RULES + 3], refused = 0;

    for (size_t i = 0; i < COUNT(fd); i++)
        fd[i] = shop_send(shop, "POST", "/_sandbox/faults", JSON,
                          "{\"path\":\"/never\",\"delayMs\":1}");
    for (size_t i = 0; i < COUNT(fd); i++)
        refused += shop_hear(shop, fd[i]).status != 200;
    assert_int_equal(refused, 3);
    again(shop);
    r = shop_get(shop, "/_sandbox/faults");
    for (int i = 0; i < LIMIT_SANDBOX_RULES; i++) {
        r.body = strstr(r.body, "/never");
        assert_non_null(r.body);
        r.body++;
    }
    assert_null(strstr(r.body, "/never"));
}

/* --- chaos by API --- */

static void a_wrong_chaos_is_refused_with_its_field(void **state)
{
    static const struct {
        const char *body, *holds;
    } rows[] = {
        { "", "VALIDATION_ERROR" },
        { "{}", "\"field\":\"seed\"" },
        { "{\"seed\":1}", "a rate above 0" },
        { "{\"seed\":1,\"calls\":{}}", "a rate above 0" },
        { "{\"seed\":-1,\"calls\":{\"html\":0.1}}", "\"field\":\"seed\"" },
        { "{\"seed\":1.5,\"calls\":{\"html\":0.1}}", "\"field\":\"seed\"" },
        { "{\"seed\":1,\"calls\":{\"htlm\":0.1}}", "\"field\":\"calls.htlm\"" },
        { "{\"seed\":1,\"calls\":{\"html\":1.1}}", "\"field\":\"calls.html\"" },
        { "{\"seed\":1,\"calls\":{\"html\":-0.1}}", "\"field\":\"calls.html\"" },
        { "{\"seed\":1,\"calls\":{\"html\":\"0.1\"}}", "\"field\":\"calls.html\"" },
        { "{\"seed\":1,\"calls\":{\"duplicate\":0.1}}", "\"field\":\"calls.duplicate\"" },
        { "{\"seed\":1,\"webhooks\":{\"html\":0.1}}", "\"field\":\"webhooks.html\"" },
        { "{\"seed\":1,\"calls\":[0.1]}", "\"field\":\"calls\"" },
        { "{\"seed\":1,\"call\":{\"html\":0.1}}", "\"field\":\"call\"" },
        { "{\"seed\":1,\"calls\":{\"html\":0.1},\"until\":\"soon\"}", "\"field\":\"until\"" },
        { "{\"seed\":1,\"calls\":{\"delay\":0.1},\"delayMs\":0}", "\"field\":\"delayMs\"" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r = ask(shop, "POST", "/_sandbox/chaos", JSON, rows[i].body);

        if (r.status != 400 || !strstr(r.body, rows[i].holds))
            fail_msg("row %zu: %d %s", i, r.status, r.body);
    }
    expect(shop, shop_get(shop, "/_sandbox/chaos"), "on", "false");
}

static void chaos_strikes_and_counts(void **state)
{
    struct shop *shop = *state;
    struct reply r =
        ask(shop, "POST", "/_sandbox/chaos", JSON, "{\"seed\":1,\"calls\":{\"error_before\":1}}");

    expect_status(r, 200);
    for (int i = 0; i < 3; i++)
        expect_status(shop_pay(shop, "pm_card_visa", ""), 500);
    r = shop_get(shop, "/_sandbox/chaos");
    expect(shop, r, "happened.calls.error_before", "3");
    expect(shop, r, "happened.calls.html", "0");
    expect_status(ask(shop, "DELETE", "/_sandbox/chaos", "", ""), 200);
    expect_status(shop_pay(shop, "pm_card_visa", ""), 200);
    expect(shop, shop_get(shop, "/_sandbox/chaos"), "happened.calls.error_before", "3");
}

/* --- whose page --- */

static void only_our_own_pages_and_programs_change_something(void **state)
{
    static const struct {
        const char *headers; /* behind the Host of shop.h, which is no loopback name */
        const char *host;
        int status;
    } rows[] = {
        { "", "127.0.0.1:12111", 200 },
        { "", "sandbox", 200 },
        { "Origin: http://127.0.0.1:12111\r\n", "127.0.0.1:12111", 200 },
        { "Origin: http://localhost:12111\r\n", "localhost:12111", 200 },
        { "Origin: http://[::1]:12111\r\n", "[::1]:12111", 200 },
        { "Origin: http://localhost:3000\r\n", "localhost:12111", 403 },
        { "Origin: http://evil.example\r\n", "127.0.0.1:12111", 403 },
        { "Origin: null\r\n", "127.0.0.1:12111", 403 },
        { "Origin: http://evil.example:12111\r\n", "evil.example:12111", 403 },
        { "Origin: http://localhost.evil.example\r\n", "localhost.evil.example", 403 },
        { "Origin: https://localhost:12111\r\n", "localhost:12111", 403 },
        { "Sec-Fetch-Site: same-origin\r\n", "localhost:12111", 200 },
        { "Sec-Fetch-Site: none\r\n", "localhost:12111", 200 },
        { "Sec-Fetch-Site: same-site\r\nOrigin: http://localhost:3000\r\n", "localhost:12111",
          403 },
        { "Sec-Fetch-Site: cross-site\r\n", "localhost:12111", 403 },
        { "Sec-Fetch-Site: same-origin\r\n", "evil.example:12111", 403 },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        static const char *const paths[] = { "/_sandbox/webhooks", "/_sandbox" };
        static const char *const bodies[] = { "{\"on\":true}", "hook=on" };

        for (size_t j = 0; j < COUNT(paths); j++) {
            int fd = shop_connect(shop);
            int wanted = rows[i].status == 200 && j ? 303 : rows[i].status;
            struct reply r;

            dprintf(fd,
                    "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s%s"
                    "Content-Length: %zu\r\n\r\n%s",
                    paths[j], rows[i].host, rows[i].headers, j ? FORM : JSON, strlen(bodies[j]),
                    bodies[j]);
            r = shop_hear(shop, fd);
            if (r.status != wanted)
                fail_msg("row %zu, %s: %d %s", i, paths[j], r.status, r.body);
        }
    }
}

/* --- the page --- */

static struct reply press(struct shop *shop, const char *body)
{
    struct reply r = ask(shop, "POST", "/_sandbox?lang=en", FORM, body);

    expect_status(r, 303);
    return r;
}

static struct reply page(struct shop *shop, const char *query, const char *headers)
{
    struct reply r = ask(shop, "GET", shop_path(shop, "/_sandbox", query, ""), headers, "");

    expect_status(r, 200);
    assert_null(strstr(r.body, "<script"));
    return r;
}

static void the_page_speaks_both_languages(void **state)
{
    static const struct {
        const char *query, *header, *holds;
    } rows[] = {
        { "", "", "<html lang=\"en\">" },
        { "", "Accept-Language: ja,en;q=0.5\r\n", "<html lang=\"ja\">" },
        { "?lang=en", "Accept-Language: ja\r\n", "What goes wrong with the next calls" },
        { "?lang=ja", "Accept-Language: en\r\n", "次の呼び出しで起こす障害" },
        { "?lang=xx", "Accept-Language: ja\r\n", "サンドボックス" },
        { "?note=%3Cscript%3E", "", "Sandbox" },
        { "?lang=en&note=number", "", "role=\"alert\"" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strstr(page(shop, rows[i].query, rows[i].header).body, rows[i].holds))
            fail_msg("row %zu", i);
}

static void the_page_escapes_what_came_from_outside(void **state)
{
    struct shop *shop = *state;
    struct reply r;

    r = shop_pay(shop, "pm_card_authenticationRequired",
                 "&description=%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27%26");
    expect(shop, r, "status", "requires_action");
    r = page(shop, "?lang=en", "");
    assert_non_null(
        strstr(r.body, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;</td></tr>"));
    assert_non_null(strstr(r.body, "Answer 3-D Secure</a> ¥1,000"));
    assert_true(says(r, "content-security-policy: default-src 'none'; style-src 'sha256-"));
}

static void active_faults_stand_in_the_words_of_their_buttons(void **state)
{
    static const struct {
        const char *button, *words;
    } rows[] = {
        { "rate_limit_retry", "<li>429, should retry × 2" },
        { "hang", "<li>Charged, silent for 20 s × 2" },
        { "decline", "<li>Decline × 2" },
        { "cut", "<li>Closed in the middle × 2" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        char form[64];

        snprintf(form, sizeof(form), "times=2&rule=%s", rows[i].button);
        press(shop, form);
        if (!strstr(page(shop, "?lang=en", "").body, rows[i].words))
            fail_msg("%s", rows[i].button);
        press(shop, "rules=clear");
    }
    ask(shop, "POST", "/_sandbox/faults", JSON,
        "{\"statusBefore\":503,\"path\":\"/v1/<x>\",\"method\":\"POST\",\"skip\":3}");
    assert_non_null(
        strstr(page(shop, "?lang=en", "").body, "POST /v1/&lt;x&gt; after 3 more calls</span>"));
    press(shop, "rules=clear");
}

static void the_page_switches_paypay(void **state)
{
    struct shop *shop = *state;
    struct reply r = press(shop, "times=3&pp_fault=hang");

    assert_true(says(r, "location: /_sandbox?lang=en#paypay"));
    press(shop, "pp_switch=delay");
    press(shop, "pp_switch=confirm");
    press(shop, "pp_switch=many");
    r = shop_get(shop, "/_sandbox/paypay/switches");
    assert_non_null(strstr(r.body, "\"webhooks\":\"delay\""));
    assert_non_null(strstr(r.body, "\"refunds\":\"many\""));
    assert_non_null(strstr(r.body, "\"confirm_capture\":true"));
    assert_non_null(strstr(r.body, "{\"fault\":\"hang\",\"method\":\"\",\"path\":\"\",\"skip\":0,"
                                   "\"times\":3,\"ms\":20000}"));
    r = page(shop, "?lang=en", "");
    assert_non_null(strstr(r.body, "<li>Done, silent for 20 s × 3"));
    assert_non_null(strstr(r.body, "value=\"delay\" aria-pressed=\"true\""));
    r = press(shop, "times=0&pp_fault=hang");
    assert_true(says(r, "note=number#paypay"));
    assert_true(says(press(shop, "pp_switch=nonsense"), "note=number#paypay"));
    assert_true(says(press(shop, "times=1&pp_fault=nonsense"), "note=number#paypay"));
    press(shop, "pp_faults=clear");
    press(shop, "pp_switch=on");
    press(shop, "pp_switch=confirm");
    press(shop, "pp_switch=many");
    r = shop_get(shop, "/_sandbox/paypay/switches");
    assert_non_null(strstr(r.body, "\"faults\":[]"));
    assert_non_null(strstr(r.body, "\"webhooks\":\"on\""));
}

static void a_click_sets_a_switch_and_leads_back(void **state)
{
    struct shop *shop = *state;
    struct reply r = press(shop, "times=2&rule=rate_limit_retry");

    assert_true(says(r, "location: /_sandbox?lang=en#calls"));
    r = shop_get(shop, "/_sandbox/faults");
    assert_string_equal(r.body, "{\"faults\":[{\"statusBefore\":429,\"shouldRetry\":true,"
                                "\"skip\":0,\"times\":2}]}\n");
    press(shop, "rules=clear");
    assert_string_equal(shop_get(shop, "/_sandbox/faults").body, "{\"faults\":[]}\n");
    press(shop, "hook=duplicate");
    press(shop, "hook=burst");
    press(shop, "hook=on");
    r = shop_get(shop, "/_sandbox/webhooks");
    expect(shop, r, "duplicate", "1");
    expect(shop, r, "burst", "true");
    expect(shop, r, "on", "false");
    press(shop, "hook=on");
    expect(shop, shop_get(shop, "/_sandbox/webhooks"), "on", "true");
    press(shop, "chaos=start&seed=9&c_html=2.5&c_cut=.0001&w_drop=100");
    r = shop_get(shop, "/_sandbox/chaos");
    assert_non_null(strstr(r.body, "\"seed\":9,\"calls\":{\"html\":0.025000,\"cut\":0.000001},"
                                   "\"webhooks\":{\"drop\":1.000000}"));
    assert_non_null(strstr(page(shop, "?lang=en", "").body, "Chaos is on."));
    press(shop, "chaos=stop");
    expect(shop, shop_get(shop, "/_sandbox/chaos"), "on", "false");
}

static void a_click_that_says_nothing_right_changes_nothing(void **state)
{
    static const char *const rows[] = {
        "times=0&rule=html",
        "times=x&rule=html",
        "rule=html",
        "times=1&rule=nothing",
        "hook=nothing",
        "chaos=start&seed=1",
        "chaos=start&c_html=1",
        "chaos=start&seed=1&c_html=101",
        "chaos=start&seed=-1&c_html=1",
        "chaos=start&seed=1&c_html=1x",
    };
    struct shop *shop = *state;
    struct reply r;

    for (size_t i = 0; i < COUNT(rows); i++) {
        r = press(shop, rows[i]);
        if (!says(r, "note=number"))
            fail_msg("row %zu: %s", i, r.headers);
    }
    assert_true(says(press(shop, "resend=evt_nobody"), "note=gone"));
    expect_status(ask(shop, "POST", "/_sandbox", FORM, ""), 400);
    expect_status(ask(shop, "POST", "/_sandbox", FORM, "%zz"), 400);
    expect_status(ask(shop, "POST", "/_sandbox", JSON, "{}"), 415);
    assert_string_equal(shop_get(shop, "/_sandbox/faults").body, "{\"faults\":[]}\n");
    expect(shop, shop_get(shop, "/_sandbox/chaos"), "on", "false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHOP_TEST(a_spoiled_answer_was_true_and_is_kept_so),
        SHOP_TEST(a_proxy_s_page_is_an_error_that_did_nothing),
        SHOP_TEST(the_word_on_trying_again_can_be_chosen),
        SHOP_TEST(a_new_start_knows_the_switches),
        SHOP_TEST(many_rules_at_once_are_all_kept),
        SHOP_TEST(a_wrong_chaos_is_refused_with_its_field),
        SHOP_TEST(chaos_strikes_and_counts),
        SHOP_TEST(only_our_own_pages_and_programs_change_something),
        SHOP_TEST(the_page_speaks_both_languages),
        SHOP_TEST(the_page_escapes_what_came_from_outside),
        SHOP_TEST(active_faults_stand_in_the_words_of_their_buttons),
        SHOP_TEST(the_page_switches_paypay),
        SHOP_TEST(a_click_sets_a_switch_and_leads_back),
        SHOP_TEST(a_click_that_says_nothing_right_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
