/* A notification as FCM is sent it. */
#include "base/json/json.h"
#include "base/limits.h"
#include "notify/fcm/message.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "0190d5c2-7e1a-7b3c-8d4e-5f6071829304"
#define NOW_MS INT64_C(1760000000000)

struct written {
    struct arena arena;
    struct parcel_out p;
    enum err e;
    struct str json;
    struct why why;
    cJSON *tree;
};

static struct written *parcel(void)
{
    struct written *w = calloc(1, sizeof(*w));

    arena_init(&w->arena, 4 << 20);
    w->p = (struct parcel_out){ .type = S("purchase_confirmed"),
                                .title = S("購入が完了しました"),
                                .body = S("ポジションの購入が確定しました。"),
                                .data = S("{\"purchaseId\":\"p-1\"}"),
                                .target = S("tok\"en"),
                                .created_ms = NOW_MS,
                                .arena = &w->arena };
    assert_true(uuid_parse(S(ID), &w->p.notification));
    return w;
}

static struct written *write_it(struct written *w)
{
    w->e = fcm_message(&w->p, NOW_MS, &w->json, &w->why);
    if (!w->e)
        assert_int_equal(json_parse(w->json, &w->tree, NULL), OK);
    return w;
}

static void let_go(struct written *w)
{
    json_freep(&w->tree);
    arena_release(&w->arena);
    free(w);
}

static const char *data_of(const struct written *w, const char *name)
{
    const cJSON *message = cJSON_GetObjectItem(w->tree, "message");
    const cJSON *item =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItem(message, "data"), name);

    return cJSON_IsString(item) ? item->valuestring : NULL;
}

static const char *body_of(const struct written *w)
{
    const cJSON *message = cJSON_GetObjectItem(w->tree, "message");

    return cJSON_GetObjectItem(cJSON_GetObjectItem(message, "notification"), "body")->valuestring;
}

static void a_message_has_all_that_it_needs(void **state)
{
    static const char expected[] =
        "{\"message\":{\"token\":\"tok\\\"en\",\"notification\":{\"title\":\"購入が完了しました\","
        "\"body\":\"ポジションの購入が確定しました。\"},\"data\":{\"type\":\"purchase_confirmed\","
        "\"notificationId\":\"" ID "\",\"purchaseId\":\"p-1\"},\"android\":{\"priority\":\"high\","
        "\"ttl\":\"604800s\",\"collapse_key\":\"" ID "\",\"notification\":{\"tag\":\"" ID "\"}},"
        "\"apns\":{\"headers\":{\"apns-priority\":\"10\",\"apns-collapse-id\":\"" ID "\","
        "\"apns-expiration\":\"1760604800\"}},\"webpush\":{\"headers\":{\"TTL\":\"604800\","
        "\"Urgency\":\"high\"},\"notification\":{\"tag\":\"" ID "\"}}}}";
    struct written *w = write_it(parcel());

    (void)state;
    assert_int_equal(w->e, OK);
    assert_int_equal(w->json.n, strlen(expected));
    assert_memory_equal(w->json.p, expected, w->json.n);
    let_go(w);
}

static void every_value_of_the_data_is_a_text(void **state)
{
    static const struct {
        const char *json, *text; /* NULL: it is not there */
    } rows[] = {
        { "\"a \\\"b\\\"\"", "a \"b\"" },
        { "12", "12" },
        { "-7", "-7" },
        { "123456789012345", "123456789012345" },
        { "12345678901234567890", "12345678901234567890" },
        { "0.10", "0.10" },
        { "1e3", "1e3" },
        { "true", "true" },
        { "false", "false" },
        { "null", NULL },
        { "[1,\"x\"]", "[1,\"x\"]" },
        { "{\"a\":{}}", "{\"a\":{}}" },
    };
    char data[128];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct written *w = parcel();

        snprintf(data, sizeof(data), "{\"v\":%s}", rows[i].json);
        w->p.data = str_of(data);
        write_it(w);
        assert_int_equal(w->e, OK);
        if (rows[i].text)
            assert_string_equal(data_of(w, "v"), rows[i].text);
        else
            assert_null(data_of(w, "v"));
        let_go(w);
    }
}

static void our_own_names_win_and_reserved_ones_are_refused(void **state)
{
    static const char *const reserved[] = { "from", "message_type", "google.x",
                                            "gcm.notification.y" };
    struct written *w = parcel();
    char data[64];

    (void)state;
    w->p.data = S("{\"type\":\"other\",\"notificationId\":\"other\",\"fromage\":\"fine\"}");
    write_it(w);
    assert_string_equal(data_of(w, "type"), "purchase_confirmed");
    assert_string_equal(data_of(w, "notificationId"), ID);
    assert_string_equal(data_of(w, "fromage"), "fine");
    let_go(w);
    for (size_t i = 0; i < COUNT(reserved); i++) {
        w = parcel();
        snprintf(data, sizeof(data), "{\"%s\":\"x\"}", reserved[i]);
        w->p.data = str_of(data);
        assert_int_equal(write_it(w)->e, ERR_VALIDATION);
        assert_non_null(strstr(w->why.text, "name"));
        let_go(w);
    }
}

static void data_that_is_no_object_is_refused_and_none_is_fine(void **state)
{
    static const char *const bad[] = { "[]", "7", "{", "{\"a\":1,\"a\":2}" };
    struct written *w = parcel();

    (void)state;
    w->p.data = S("");
    assert_int_equal(write_it(w)->e, OK);
    assert_string_equal(data_of(w, "notificationId"), ID);
    let_go(w);
    for (size_t i = 0; i < COUNT(bad); i++) {
        w = parcel();
        w->p.data = str_of(bad[i]);
        assert_int_equal(write_it(w)->e, ERR_VALIDATION);
        let_go(w);
    }
}

static size_t payload(const struct written *w)
{
    const cJSON *message = cJSON_GetObjectItem(w->tree, "message");
    char *a = cJSON_PrintUnformatted(cJSON_GetObjectItem(message, "notification"));
    char *b = cJSON_PrintUnformatted(cJSON_GetObjectItem(message, "data"));
    size_t n = strlen(a) + strlen(b);

    cJSON_free(a);
    cJSON_free(b);
    return n;
}

/* Whatever the letters are, it ends with a whole one and three dots. */
static void a_body_too_long_for_a_phone_is_cut(void **state)
{
    static const char *const letters[] = { "a", "あ", "\"", "\n", "é", "😀" };
    char *text = calloc(1, 64 * 1024);

    (void)state;
    for (size_t i = 0; i < COUNT(letters); i++)
        for (size_t pad = 0; pad < 5; pad++) {
            struct written *w = parcel();
            const char *body;

            memset(text, 'x', pad);
            text[pad] = '\0';
            for (size_t n = pad; n < 20000; n += strlen(letters[i]))
                strcpy(text + n, letters[i]);
            w->p.body = str_of(text);
            assert_int_equal(write_it(w)->e, OK);
            body = body_of(w);
            assert_true(strlen(body) < 20000 && strlen(body) > 400);
            assert_true(str_is_utf8(str_of(body)));
            assert_true(str_ends(str_of(body), S("…")));
            assert_memory_equal(body, text, strlen(body) - strlen("…"));
            assert_true(payload(w) <= LIMIT_FCM_PAYLOAD);
            let_go(w);
        }
    free(text);
}

static void data_too_long_for_a_phone_is_refused(void **state)
{
    struct written *w = parcel();
    char data[LIMIT_FCM_PAYLOAD + 64];

    (void)state;
    snprintf(data, sizeof(data), "{\"v\":\"%0*d\"}", LIMIT_FCM_PAYLOAD, 0);
    w->p.data = str_of(data);
    assert_int_equal(write_it(w)->e, ERR_VALIDATION);
    assert_non_null(strstr(w->why.text, "4096"));
    let_go(w);
    w = parcel(); /* a title alone can be too long, too */
    memset(data, 't', sizeof(data));
    w->p.title = (struct str){ data, sizeof(data) };
    assert_int_equal(write_it(w)->e, ERR_VALIDATION);
    let_go(w);
}

static void news_is_kept_for_a_phone_that_is_off_as_long_as_it_is_news(void **state)
{
    static const struct {
        const char *type;
        int64_t age_ms;
        const char *ttl;
    } rows[] = {
        { "purchase_confirmed", 0, "\"604800s\"" },
        { "purchase_confirmed", -5000, "\"604800s\"" }, /* made by a clock ahead of ours */
        { "purchase_confirmed", 3600000, "\"601200s\"" },
        { "purchase_confirmed", INT64_C(8) * 24 * 3600000, "\"3600s\"" },
        { "reminder", 0, "\"86400s\"" },
        { "reminder", 2 * 3600000, "\"79200s\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct written *w = parcel();
        char *json;

        w->p.type = str_of(rows[i].type);
        w->p.created_ms = NOW_MS - rows[i].age_ms;
        assert_int_equal(write_it(w)->e, OK);
        json = strndup(w->json.p, w->json.n);
        if (!strstr(json, rows[i].ttl))
            fail_msg("row %zu: %s", i, json);
        free(json);
        let_go(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_has_all_that_it_needs),
        TEST(every_value_of_the_data_is_a_text),
        TEST(our_own_names_win_and_reserved_ones_are_refused),
        TEST(data_that_is_no_object_is_refused_and_none_is_fine),
        TEST(a_body_too_long_for_a_phone_is_cut),
        TEST(data_too_long_for_a_phone_is_refused),
        TEST(news_is_kept_for_a_phone_that_is_off_as_long_as_it_is_news),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
