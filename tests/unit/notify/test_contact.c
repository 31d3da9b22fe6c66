/* How people want to be told: replaced as a whole, devices in one hand, nothing left of who goes.
 */
#include "notify/contact.h"
#include "unit/queue/rig.h"

static struct {
    struct rig *rig;
} w;

struct act {
    struct contact contact;
    struct arena arena;
    struct contact_put put;
};

static enum err do_put(struct tx *tx, void *ctx)
{
    struct act *a = ctx;

    return contact_put(tx, &a->arena, &a->contact, env_now_ms(&w.rig->env[0]), &a->put);
}

static enum err do_read(struct tx *tx, void *ctx)
{
    struct act *a = ctx;

    return contact_read(tx, &a->arena, a->contact.user, &a->contact);
}

static enum err do_forget(struct tx *tx, void *ctx)
{
    struct act *a = ctx;

    struct contact_forget f = { .user = a->contact.user,
                                .by = a->contact.user,
                                .job = env_uuid(&w.rig->env[0]) };

    return contact_forget(tx, w.rig->queue[0], &f, env_now_ms(&w.rig->env[0]));
}

static bool put(struct uuid user, const char *email, const char *language, unsigned channels,
                const char *tokens)
{
    struct act a = { .contact = { .user = user,
                                  .email = str_of(email),
                                  .language = str_of(language),
                                  .channels = channels } };
    struct str list = str_of(tokens), all[LIMIT_DEVICES];

    while (list.n)
        all[a.contact.token_count++] = str_cut(&list, ',');
    a.contact.tokens = all;
    arena_init(&a.arena, 1 << 20);
    assert_int_equal(rig_do(w.rig, 0, do_put, &a), OK);
    arena_release(&a.arena);
    return a.put.is_new;
}

/* As the API would show it, without its id and times. */
static const char *shown(struct uuid user)
{
    static char text[2048];
    struct act a = { .contact = { .user = user } };
    struct str json;

    arena_init(&a.arena, 1 << 20);
    snprintf(text, sizeof(text), "none");
    if (!rig_do(w.rig, 0, do_read, &a)) {
        json = contact_json(&a.arena, &a.contact, true);
        snprintf(text, sizeof(text), STR_FMT, STR_ARG(json));
        *strstr(text, ",\"createdAt\"") = '\0';
        memmove(text, strstr(text, "\"email\""), strlen(strstr(text, "\"email\"")) + 1);
    }
    arena_release(&a.arena);
    return text;
}

static void n1_a_contact_is_replaced_as_a_whole(void **state)
{
    struct uuid user;

    w.rig = *state;
    user = env_uuid(&w.rig->env[0]);
    assert_string_equal(shown(user), "none");
    assert_true(put(user, "a@b.jp", "ja", 7, "one,two"));
    assert_string_equal(shown(user),
                        "\"email\":\"a@b.jp\",\"language\":\"ja\",\"channels\":[\"mail\","
                        "\"push\",\"webhook\"],\"deviceTokens\":[\"one\",\"two\"]");
    assert_false(put(user, NULL, NULL, 0, "three"));
    assert_string_equal(shown(user), "\"email\":null,\"language\":null,\"channels\":[],"
                                     "\"deviceTokens\":[\"three\"]");
    assert_false(put(user, "c@b.jp", "en", 1, NULL));
    assert_string_equal(shown(user),
                        "\"email\":\"c@b.jp\",\"language\":\"en\",\"channels\":[\"mail\"],"
                        "\"deviceTokens\":[]");
}

static void n1_the_same_again_changes_nothing(void **state)
{
    struct uuid user;
    int64_t at;

    w.rig = *state;
    user = env_uuid(&w.rig->env[0]);
    put(user, "a@b.jp", "ja", 3, "one,two");
    at = sql_int(w.rig, "SELECT updated_at FROM contacts");
    rig_pass(w.rig, 1000);
    assert_false(put(user, "a@b.jp", "ja", 3, "one,two"));
    assert_int_equal(sql_int(w.rig, "SELECT updated_at FROM contacts"), at);
    assert_false(put(user, "a@b.jp", "ja", 3, "one,three"));
    assert_int_equal(sql_int(w.rig, "SELECT updated_at FROM contacts"), at + 1000);
    assert_int_equal(sql_int(w.rig, "SELECT created_at FROM contacts"), at);
    assert_int_equal(sql_int(w.rig, "SELECT created_at FROM devices WHERE token = 'one'"), at);
}

static void n1_a_device_is_in_the_hand_of_who_named_it_last(void **state)
{
    struct uuid one, other;

    w.rig = *state;
    one = env_uuid(&w.rig->env[0]);
    other = env_uuid(&w.rig->env[0]);
    put(one, NULL, NULL, 2, "mine,shared");
    put(other, NULL, NULL, 2, "shared");
    assert_non_null(strstr(shown(one), "\"deviceTokens\":[\"mine\"]"));
    assert_non_null(strstr(shown(other), "\"deviceTokens\":[\"shared\"]"));
    put(one, NULL, NULL, 2, NULL);
    assert_non_null(strstr(shown(other), "\"deviceTokens\":[\"shared\"]"));
}

static void n1_forgetting_takes_all_of_it_and_nobody_elses(void **state)
{
    struct uuid other;
    struct act a = { 0 };

    w.rig = *state;
    a.contact.user = env_uuid(&w.rig->env[0]);
    other = env_uuid(&w.rig->env[0]);
    put(a.contact.user, "a@b.jp", "ja", 3, "one");
    put(other, "b@b.jp", "ja", 3, "two");
    for (int i = 0; i < 2; i++)
        assert_int_equal(rig_do(w.rig, 0, do_forget, &a), OK);
    assert_string_equal(shown(a.contact.user), "none");
    assert_non_null(strstr(shown(other), "[\"two\"]"));
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit"), 1);
}

/* Of one who came after: PostgreSQL shows its devices to the rest of the removal. */
static void n1_a_removal_that_found_no_contact_takes_no_devices(void **state)
{
    struct act a = { 0 };

    w.rig = *state;
    a.contact.user = env_uuid(&w.rig->env[0]);
    put(a.contact.user, "a@b.jp", "ja", 2, "one");
    sql_text(w.rig, "DELETE FROM contacts", (char[8]){ 0 }, 8);
    assert_int_equal(rig_do(w.rig, 0, do_forget, &a), OK);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM devices"), 1);
}

/* --- many --- */

enum { TOLD = 450, TOLD_AS_PARTICIPANT = 300, OTHERS = 5 };

static const char *user_sql(struct uuid user)
{
    static char text[64];
    int n = snprintf(text, sizeof(text), "%s", w.rig->postgres ? "'\\x" : "x'");

    for (size_t i = 0; i < sizeof(user.b); i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x", user.b[i]);
    snprintf(text + n, sizeof(text) - (size_t)n, "'");
    return text;
}

#define NUMBERS "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
#define SENDS                                                                                      \
    " INTO sends (id, notification_id, channel, target, user_id, status, tries, created_at,"       \
    " updated_at) "

/* Of each second one nobody has been told yet. */
static void tell(struct uuid user, int times, const char *target, int64_t at_ms)
{
    const char *id = w.rig->postgres ? "decode(md5(random()::text), 'hex')" : "randomblob(16)";
    char sql[1024];

    snprintf(sql, sizeof(sql),
             NUMBERS "INSERT" SENDS "SELECT %s, %s, 'mail', '%s', %s,"
                     " CASE WHEN i %% 2 = 0 THEN 'sent' ELSE 'waiting' END, 1, %lld, 1 FROM n",
             times, id, id, target, user_sql(user), (long long)at_ms);
    sql_int(w.rig, sql);
}

static void tell_participant(struct uuid user, int times, const char *target)
{
    const char *id = w.rig->postgres ? "decode(md5(random()::text), 'hex')" : "randomblob(16)";
    char sql[1024];

    snprintf(
        sql, sizeof(sql),
        "INSERT INTO participants (participant_id, collection_id, name, email, user_id, amount,"
        " status, created_at, updated_at) VALUES (%s, %s, 'n', 'e', %s, 1, 'unpaid', 1, 1)",
        id, id, user_sql(user));
    sql_int(w.rig, sql);
    snprintf(sql, sizeof(sql),
             NUMBERS "INSERT INTO notifications (id, dedupe, participant_id, type, language, title,"
                     " body, data, created_at) SELECT %s, 'd' || i, (SELECT participant_id FROM"
                     " participants), 't', 'ja', 't', 'b', '{}', 1 FROM n",
             times, id);
    sql_int(w.rig, sql);
    snprintf(sql, sizeof(sql),
             "INSERT" SENDS "SELECT %s, id, 'mail', '%s', NULL, 'waiting', 0, 1, 1"
             " FROM notifications",
             id, target);
    sql_int(w.rig, sql);
}

/* A removal changes no more rows at once than a statement may (M2), and yet leaves none. */
static void m2_a_person_who_was_told_often_is_forgotten_some_at_a_time(void **state)
{
    static struct job_kind kinds[1];
    struct act a = { 0 };

    w.rig = *state;
    kinds[0] = contact_forget_kind();
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = 1 });
    a.contact.user = env_uuid(&w.rig->env[0]);
    put(a.contact.user, "a@b.jp", "ja", 3, "one");
    tell(a.contact.user, TOLD, "a@b.jp", 1);
    tell(env_uuid(&w.rig->env[0]), OTHERS, "other@b.jp", 1);
    tell_participant(a.contact.user, TOLD_AS_PARTICIPANT, "p@b.jp");
    assert_int_equal(rig_do(w.rig, 0, do_forget, &a), OK);
    assert_string_equal(shown(a.contact.user), "none");
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM sends WHERE target IN ('a@b.jp', "
                                    "'p@b.jp')"),
                     TOLD + TOLD_AS_PARTICIPANT - 2 * LIMIT_STATEMENT_ROWS);
    tell(a.contact.user, 2, "back@b.jp", env_now_ms(&w.rig->env[0]) + 1); /* he came back */
    queue_start(w.rig->queue[0]);
    for (int i = 0; i < 10; i++)
        rig_pass(w.rig, 1000);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM sends WHERE target = 'back@b.jp'"), 2);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM sends WHERE target = 'other@b.jp'"),
                     OTHERS);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM sends WHERE target LIKE '%@%'"),
                     OTHERS + 2);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM sends WHERE status = 'skipped'"),
                     TOLD / 2 + TOLD_AS_PARTICIPANT);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
}

static void a_target_is_masked_so_that_it_can_be_known_again(void **state)
{
    static const struct {
        const char *channel, *target, *want;
    } rows[] = {
        { "mail", "taro@example.com", "t***@example.com" },
        { "mail", "t@example.com", "t***@example.com" },
        { "mail", "\xe5\xa4\xaa@example.com", "***@example.com" },
        { "mail", "0123456789ABCDEF0123456789ABCDEF", "" },
        { "mail", "", "" },
        { "push", "fcm:abcdef", "fcm:***" },
        { "push", "ab", "ab***" },
        { "push", "0123456789ABCDEF0123456789ABCDEF", "" },
        { "webhook", "", "" },
    };
    char text[MASKED_MAX];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!str_eq(target_masked(str_of(rows[i].channel), str_of(rows[i].target), text),
                    str_of(rows[i].want)))
            fail_msg("row %zu: %s", i, text);
}

static void channels_are_a_list_of_known_names(void **state)
{
    char text[CHANNELS_TEXT];

    (void)state;
    for (unsigned c = 0; c < 8; c++)
        assert_int_equal(channels_of(channels_text(c, text)), c);
    assert_true(str_eq(channels_text(7, text), S("mail,push,webhook")));
    assert_int_equal(channels_of(S("sms,push,,Mail")), CHANNEL_BIT(CHANNEL_PUSH));
}

#define ALL(ON)                                                                                    \
    ON(n1_a_contact_is_replaced_as_a_whole), ON(n1_the_same_again_changes_nothing),                \
        ON(n1_a_device_is_in_the_hand_of_who_named_it_last),                                       \
        ON(n1_forgetting_takes_all_of_it_and_nobody_elses),                                        \
        ON(n1_a_removal_that_found_no_contact_takes_no_devices),                                   \
        ON(m2_a_person_who_was_told_often_is_forgotten_some_at_a_time)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        TEST(a_target_is_masked_so_that_it_can_be_known_again),
        TEST(channels_are_a_list_of_known_names),
        ALL(ON_SQLITE),
    };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
