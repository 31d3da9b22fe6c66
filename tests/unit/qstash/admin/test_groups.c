/* URL groups: who is a member, and in which order. */
#include "qstash/admin/groups.h"
#include "qstash/rows.h"
#include "unit/queue/rig.h"

/* --- the list --- */

enum { STEPS = 5 };

/* "put url name" or "drop url name"; - is nothing. */
static void step(struct members *m, const char *text)
{
    struct str rest = str_of(text), what = str_cut(&rest, ' ');
    struct member one = { .url = str_cut(&rest, ' '), .name = rest };

    if (str_eq(one.url, S("-")))
        one.url = (struct str){ 0 };
    if (str_eq(one.name, S("-")))
        one.name = (struct str){ 0 };
    if (str_eq(what, S("put")))
        assert_true(members_put(m, one));
    else
        members_drop(m, one);
}

static void show(const struct members *m, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < m->n; i++)
        n += (size_t)snprintf(text + n, size - n, "%s" STR_FMT ":" STR_FMT, i ? " " : "",
                              STR_ARG(m->all[i].url), STR_ARG(m->all[i].name));
}

static void a_list_holds_each_url_and_each_name_once(void **state)
{
    static const struct {
        const char *why, *steps[STEPS], *left;
    } rows[] = {
        { "they stand in the order they came in",
          { "put a -", "put b x", "put c -" },
          "a: b:x c:" },
        { "the same url is updated in place", { "put a x", "put b y", "put a z" }, "a:z b:y" },
        { "without a name it loses the one it had", { "put a x", "put a -" }, "a:" },
        { "the same name is updated in place", { "put a x", "put b y", "put c x" }, "c:x b:y" },
        { "the url of one and the name of another become one, at the first place",
          { "put a x", "put b y", "put c z", "put c x" },
          "c:x b:y" },
        { "no name is nobody's name", { "put a -", "put b -" }, "a: b:" },
        { "dropped by url", { "put a x", "put b y", "drop a -" }, "b:y" },
        { "dropped by name", { "put a x", "put b y", "drop - y" }, "a:x" },
        { "either key is enough", { "put a x", "put b y", "drop a y" }, "" },
        { "no name drops nobody without one", { "put a -", "drop b -" }, "a:" },
        { "who is not there is not missed", { "put a x", "drop - q" }, "a:x" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct member all[LIMIT_QSTASH_ENDPOINTS];
        struct members m = { .all = all };
        char text[256];

        for (size_t k = 0; k < STEPS && rows[i].steps[k]; k++)
            step(&m, rows[i].steps[k]);
        show(&m, text, sizeof(text));
        if (strcmp(text, rows[i].left) != 0)
            fail_msg("row %zu: %s: %s", i, rows[i].why, text);
    }
}

static void a_full_list_takes_only_who_is_in_it(void **state)
{
    struct member all[LIMIT_QSTASH_ENDPOINTS];
    struct members m = { .all = all };
    char urls[LIMIT_QSTASH_ENDPOINTS][16];

    (void)state;
    for (size_t i = 0; i < LIMIT_QSTASH_ENDPOINTS; i++) {
        snprintf(urls[i], sizeof(urls[i]), "u%zu", i);
        assert_true(members_put(&m, (struct member){ .url = str_of(urls[i]) }));
    }
    assert_false(members_put(&m, (struct member){ .url = S("one more") }));
    assert_int_equal(m.n, LIMIT_QSTASH_ENDPOINTS);
    assert_true(members_put(&m, (struct member){ .url = S("u7"), .name = S("seven") }));
    assert_int_equal(m.n, LIMIT_QSTASH_ENDPOINTS);
    assert_true(str_eq(m.all[7].name, S("seven")));
}

/* --- rows --- */

struct ask {
    const char *group;
    char text[256];
};

static enum err do_read(struct tx *tx, void *ctx)
{
    struct ask *ask = ctx;
    struct members m = { 0 };
    struct arena a;
    enum err e;

    arena_init(&a, 64 * 1024);
    e = group_members(tx, &a, str_of(ask->group), &m.all, &m.n);
    show(&m, ask->text, sizeof(ask->text));
    arena_release(&a);
    return e;
}

static void members_come_in_the_order_of_their_rows(void **state)
{
    struct ask ask = { .group = "g" };
    char unused[8];

    sql_text(*state,
             "INSERT INTO qstash_endpoints (group_name, url, name) VALUES ('g', 'z', 'first'),"
             " ('other', 'y', NULL), ('g', 'a', NULL), ('g', 'm', 'last')",
             unused, sizeof(unused));
    assert_int_equal(rig_do(*state, 0, do_read, &ask), OK);
    assert_string_equal(ask.text, "z:first a: m:last");
    ask.group = "nobody";
    assert_int_equal(rig_do(*state, 0, do_read, &ask), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest sqlite[] = {
        cmocka_unit_test(a_list_holds_each_url_and_each_name_once),
        cmocka_unit_test(a_full_list_takes_only_who_is_in_it),
        ON_SQLITE(members_come_in_the_order_of_their_rows),
    };
    const struct CMUnitTest postgres[] = { ON_POSTGRES(members_come_in_the_order_of_their_rows) };

    return RUN_BOTH(sqlite, postgres);
}
