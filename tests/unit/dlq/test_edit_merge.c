/* What an operator could not see goes back where it was, or the edit is refused: never something
 * else, and never to somebody else (Q6, A6). 1794953763007 is a time in ms that passes for a card.
 */
#include "base/buf.h"
#include "dlq/edit_merge.h"
#include "unit/cm.h"

#include <string.h>

struct edit {
    const char *why, *was, *shown, *edited, *stored; /* stored NULL: refused */
};

static void check(const struct edit *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct edit *r = &rows[i];
        struct str body = { 0 }, shown;
        struct arena a;
        struct why why = { 0 };
        enum err e;

        arena_init(&a, 4 << 20);
        shown = dead_shown(&a, str_of(r->was));
        if (!str_eq(shown, str_of(r->shown)))
            fail_msg("%s: shown as " STR_FMT, r->why, STR_ARG(shown));
        e = dead_merge(&a, str_of(r->was), str_of(r->edited), &body, &why);
        if (e != (r->stored ? OK : ERR_UNPROCESSABLE))
            fail_msg("%s: %d, " STR_FMT, r->why, e, STR_ARG(body));
        if (r->stored && !str_eq(body, str_of(r->stored)))
            fail_msg("%s: stored as " STR_FMT, r->why, STR_ARG(body));
        if (!r->stored && (!strstr(why.text, " / ") || strlen(why.text) > 250))
            fail_msg("%s: it says %s", r->why, why.text);
        arena_release(&a);
    }
}

#define T "1794953763007"
#define T_SHOWN "*********3007"

static void what_is_left_as_it_was_shown_is_as_it_was(void **state)
{
    static const struct edit rows[] = {
        { "all of it", "{\"email\":\"a@x\", \"n\":1}", "{\"email\":\"[redacted]\", \"n\":1}",
          "{\"email\":\"[redacted]\", \"n\":1}", "{\"email\":\"a@x\", \"n\":1}" },
        { "beside a change", "{\"email\":\"a@x\",\"n\":1}", "{\"email\":\"[redacted]\",\"n\":1}",
          "{\"email\":\"[redacted]\",\"n\":2}", "{\"email\":\"a@x\",\"n\":2}" },
        { "in another order", "{\"a\":{\"iban\":1},\"n\":1}",
          "{\"a\":{\"iban\":\"[redacted]\"},\"n\":1}", "{\"n\":2,\"a\":{\"iban\":\"[redacted]\"}}",
          "{\"n\":2,\"a\":{\"iban\":1}}" },
        { "a whole object", "{\"shipping\":{\"x\":[1]},\"n\":1}",
          "{\"shipping\":\"[redacted]\",\"n\":1}", "{\"shipping\":\"[redacted]\",\"n\":2}",
          "{\"shipping\":{\"x\":[1]},\"n\":2}" },
        { "written anew", "{\"email\":\"a@x\",\"n\":1}", "{\"email\":\"[redacted]\",\"n\":1}",
          "{\"email\":\"b@x\",\"n\":1}", "{\"email\":\"b@x\",\"n\":1}" },
        { "taken away", "{\"email\":\"a@x\",\"n\":1}", "{\"email\":\"[redacted]\",\"n\":1}",
          "{\"n\":1}", "{\"n\":1}" },
        { "a number", "{\"ts\":" T ",\"n\":1}", "{\"ts\":0,\"n\":1}", "{\"ts\":0,\"n\":0}",
          "{\"ts\":" T ",\"n\":0}" },
        { "a number, written anew", "{\"ts\":" T ",\"n\":1}", "{\"ts\":0,\"n\":1}",
          "{\"ts\":5,\"n\":1}", "{\"ts\":5,\"n\":1}" },
        { "a name", "{\"" T "\":1,\"n\":1}", "{\"" T_SHOWN "\":1,\"n\":1}",
          "{\"" T_SHOWN "\":3,\"n\":2}", "{\"" T "\":3,\"n\":2}" },
        { "nothing was hidden", "{\"n\":1}", "{\"n\":1}", "[redacted] ***", "[redacted] ***" },
        { "it says so itself", "{\"a\":\"[redacted]\",\"email\":\"a@x\",\"n\":1}",
          "{\"a\":\"[redacted]\",\"email\":\"[redacted]\",\"n\":1}",
          "{\"a\":\"[redacted]\",\"email\":\"[redacted]\",\"n\":2}",
          "{\"a\":\"[redacted]\",\"email\":\"a@x\",\"n\":2}" },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void a_mask_is_never_stored_whatever_it_looks_like(void **state)
{
    static const struct edit rows[] = {
        { "a number in a list that is shorter",
          "{\"items\":[{\"ts\":" T "},{\"ts\":" T "},{\"ts\":1}]}",
          "{\"items\":[{\"ts\":0},{\"ts\":0},{\"ts\":1}]}", "{\"items\":[{\"ts\":0},{\"ts\":1}]}",
          NULL },
        { "a number in a list that is longer", "[" T ",5]", "[0,5]", "[0,5,6]", NULL },
        { "a number that moved in its list", "[" T ",5]", "[0,5]", "[5,0]", NULL },
        { "a number under another name", "{\"ts\":" T "}", "{\"ts\":0}", "{\"time\":0}", NULL },
        { "a list without masks may change", "{\"ts\":" T ",\"l\":[1,2]}", "{\"ts\":0,\"l\":[1,2]}",
          "{\"ts\":0,\"l\":[0]}", "{\"ts\":" T ",\"l\":[0]}" },
        { "a text in a list that is shorter", "[\"" T "\",\"x\"]", "[\"" T_SHOWN "\",\"x\"]",
          "[\"" T_SHOWN "\"]", NULL },
        { "a text with words around it", "{\"a\":\"no " T " ok\"}", "{\"a\":\"no " T_SHOWN " ok\"}",
          "{\"a\":\"no " T_SHOWN " fine\"}", "{\"a\":\"no " T " fine\"}" },
        { "a text that moved", "{\"a\":\"no " T " ok\",\"b\":\"x\"}",
          "{\"a\":\"no " T_SHOWN " ok\",\"b\":\"x\"}", "{\"a\":\"\",\"b\":\"x " T_SHOWN "\"}",
          NULL },
        { "a value under another name", "{\"email\":\"a@x\",\"n\":1}",
          "{\"email\":\"[redacted]\",\"n\":1}", "{\"mail\":\"[redacted]\",\"n\":1}", NULL },
        { "a copy", "{\"email\":\"a@x\"}", "{\"email\":\"[redacted]\"}",
          "{\"email\":\"[redacted]\",\"b\":\"[redacted]\"}", NULL },
        { "half of one", "{\"email\":\"a@x\"}", "{\"email\":\"[redacted]\"}",
          "{\"email\":\"[redacted], b@x\"}", NULL },
        { "within what was one", "{\"email\":\"a@x\"}", "{\"email\":\"[redacted]\"}",
          "{\"email\":{\"a\":\"[redacted]\"}}", NULL },
        { "a name that moved", "{\"a\":{\"" T "\":1}}", "{\"a\":{\"" T_SHOWN "\":1}}",
          "{\"b\":{\"" T_SHOWN "\":1}}", NULL },
        { "two names that look the same", "{\"" T "\":1,\"1794953843007\":2}",
          "{\"" T_SHOWN "\":1,\"" T_SHOWN "\":2}", "{\"" T_SHOWN "\":1}", NULL },
        { "what is no JSON any more", "{\"ts\":" T "}", "{\"ts\":0}", "{\"ts\":0", NULL },
        { "another text altogether", "{\"ts\":" T "}", "{\"ts\":0}", "10 of 200", "10 of 200" },
        { "no JSON, with a mark", "{\"email\":\"a@x\"}", "{\"email\":\"[redacted]\"}",
          "email=[redacted]", NULL },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void what_is_hidden_of_one_is_never_given_to_another(void **state)
{
#define A "{\"id\":\"A\",\"email\":\"[redacted]\"}"
#define B "{\"id\":\"B\",\"email\":\"[redacted]\"}"
#define WAS "{\"u\":[{\"id\":\"A\",\"email\":\"a@x\"},{\"id\":\"B\",\"email\":\"b@x\"}],\"n\":1}"
#define SHOWN "{\"u\":[" A "," B "],\"n\":1}"
    static const struct edit rows[] = {
        { "both stay", WAS, SHOWN, "{\"u\":[" A "," B "],\"n\":2}",
          "{\"u\":[{\"id\":\"A\",\"email\":\"a@x\"},{\"id\":\"B\",\"email\":\"b@x\"}],\"n\":2}" },
        { "with members in another order", WAS, SHOWN,
          "{\"u\":[{\"email\":\"[redacted]\",\"id\":\"A\"}," B "],\"n\":2}",
          "{\"u\":[{\"email\":\"a@x\",\"id\":\"A\"},{\"id\":\"B\",\"email\":\"b@x\"}],\"n\":2}" },
        { "one is written", WAS, SHOWN,
          "{\"u\":[" A ",{\"id\":\"B\",\"email\":\"new@x\"}],\"n\":1}",
          "{\"u\":[{\"id\":\"A\",\"email\":\"a@x\"},{\"id\":\"B\",\"email\":\"new@x\"}],\"n\":1}" },
        { "another person, all written", WAS, SHOWN,
          "{\"u\":[" A ",{\"id\":\"C\",\"email\":\"c@x\"}],\"n\":1}",
          "{\"u\":[{\"id\":\"A\",\"email\":\"a@x\"},{\"id\":\"C\",\"email\":\"c@x\"}],\"n\":1}" },
        { "swapped", WAS, SHOWN, "{\"u\":[" B "," A "],\"n\":1}", NULL },
        { "one taken away, one put in", WAS, SHOWN,
          "{\"u\":[" B ",{\"id\":\"C\",\"email\":\"c@x\"}],\"n\":1}", NULL },
        { "another person in the same place", WAS, SHOWN,
          "{\"u\":[" A ",{\"id\":\"C\",\"email\":\"[redacted]\"}],\"n\":1}", NULL },
        { "one more member", WAS, SHOWN,
          "{\"u\":[{\"id\":\"A\",\"x\":1,\"email\":\"[redacted]\"}," B "],\"n\":1}", NULL },
        { "one member less", WAS, SHOWN, "{\"u\":[{\"email\":\"[redacted]\"}," B "],\"n\":1}",
          NULL },
        { "one taken away", WAS, SHOWN, "{\"u\":[" B "],\"n\":1}", NULL },
        { "all taken away", WAS, SHOWN, "{\"u\":[],\"n\":1}", "{\"u\":[],\"n\":1}" },
        { "deeper", "[[{\"c\":{\"last4\":\"1\",\"b\":1}}],[{\"c\":{\"last4\":\"2\",\"b\":2}}]]",
          "[[{\"c\":{\"last4\":\"[redacted]\",\"b\":1}}],[{\"c\":{\"last4\":\"[redacted]\",\"b\":2}"
          "}]]",
          "[[{\"c\":{\"last4\":\"[redacted]\",\"b\":2}}],[{\"c\":{\"last4\":\"[redacted]\",\"b\":1}"
          "}]]",
          NULL },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void in_a_string_of_json_the_same_holds(void **state)
{
    static const struct edit rows[] = {
        { "beside a change", "{\"m\":\"{\\\"email\\\":\\\"a@x\\\", \\\"n\\\":1}\",\"k\":1}",
          "{\"m\":\"{\\\"email\\\":\\\"[redacted]\\\", \\\"n\\\":1}\",\"k\":1}",
          "{\"m\":\"{\\\"email\\\":\\\"[redacted]\\\", \\\"n\\\":1}\",\"k\":2}",
          "{\"m\":\"{\\\"email\\\":\\\"a@x\\\", \\\"n\\\":1}\",\"k\":2}" },
        { "a change in it", "{\"m\":\"{\\\"email\\\":\\\"a@x\\\",\\\"ts\\\":" T "}\"}",
          "{\"m\":\"{\\\"email\\\":\\\"[redacted]\\\",\\\"ts\\\":0}\"}",
          "{\"m\":\"{\\\"email\\\":\\\"[redacted]\\\",\\\"ts\\\":0,\\\"k\\\":1}\"}",
          "{\"m\":\"{\\\"email\\\":\\\"a@x\\\",\\\"ts\\\":" T ",\\\"k\\\":1}\"}" },
        { "another name in it", "{\"m\":\"{\\\"ts\\\":" T "}\"}", "{\"m\":\"{\\\"ts\\\":0}\"}",
          "{\"m\":\"{\\\"t\\\":0}\"}", NULL },
        { "it is no JSON any more", "{\"m\":\"{\\\"ts\\\":" T "}\"}", "{\"m\":\"{\\\"ts\\\":0}\"}",
          "{\"m\":\"{\\\"ts\\\":0\"}", NULL },
        { "its list is shorter", "[{\"m\":\"{\\\"ts\\\":" T "}\"},{\"m\":\"\"}]",
          "[{\"m\":\"{\\\"ts\\\":0}\"},{\"m\":\"\"}]", "[{\"m\":\"{\\\"ts\\\":0}\"}]", NULL },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void in_a_text_the_same_holds(void **state)
{
    static const struct edit rows[] = {
        { "a change behind it", "order=" T "&qty=1", "order=" T_SHOWN "&qty=1",
          "order=" T_SHOWN "&qty=2", "order=" T "&qty=2" },
        { "a change before it", "qty=1&order=" T, "qty=1&order=" T_SHOWN, "qty=20&order=" T_SHOWN,
          "qty=20&order=" T },
        { "between two", "a=" T "&b=1&cvc=123", "a=" T_SHOWN "&b=1&cvc=***",
          "a=" T_SHOWN "&b=2&cvc=***", "a=" T "&b=2&cvc=123" },
        { "on both sides", "a=1&o=" T "&b=1", "a=1&o=" T_SHOWN "&b=1", "a=2&o=" T_SHOWN "&b=2",
          NULL },
        { "written anew", "a=1&o=" T "&b=1", "a=1&o=" T_SHOWN "&b=1", "a=2&o=77&b=2",
          "a=2&o=77&b=2" },
        { "a part of the mask", "o=" T, "o=" T_SHOWN, "o=*****3007", NULL },
        { "more than the mask", "o=" T, "o=" T_SHOWN, "o=*" T_SHOWN, NULL },
        { "a copy", "o=" T "\n", "o=" T_SHOWN "\n", "o=" T_SHOWN "\no=" T_SHOWN "\n", NULL },
        { "of two that look alike one is gone", "o=" T "\no=2794953763006\n",
          "o=" T_SHOWN "\no=*********3006\n", "o=" T_SHOWN "\n", "o=" T "\n" },
        { "of two that are masked alike one is gone", "cvc=123\ncvc=456\n", "cvc=***\ncvc=***\n",
          "cvc=***\n", NULL },
        { "lines that change places", "a " T "\nb 4242424242424242\n",
          "a " T_SHOWN "\nb ************4242\n", "b ************4242\na " T_SHOWN "\n", NULL },
        { "a number that is 0 now", "{\"cvc\":123,", "{\"cvc\":  0,", "{\"cvc\":  0,1",
          "{\"cvc\":123,1" },
        { "that moved", "{\"cvc\":123,", "{\"cvc\":  0,", "{\"b\": 0,", NULL },
        { "that is JSON now", "{\"cvc\":123,", "{\"cvc\":  0,", "{\"cvc\": 5}", "{\"cvc\": 5}" },
    };

    (void)state;
    check(rows, COUNT(rows));
}

/* More than LIMIT_JSON_NODES: no tree is made, so nothing can be put back. */
static void what_is_too_much_for_a_tree_is_refused_where_a_mask_is_left(void **state)
{
    struct buf was, edited;
    struct str body;
    struct arena a;
    struct why why;

    (void)state;
    buf_init(&was, 1 << 20);
    buf_init(&edited, 1 << 20);
    arena_init(&a, 8 << 20);
    buf_add(&was, S("{\"cvc\":\"123\",\"l\":["));
    for (int i = 0; i < 30000; i++)
        buf_add(&was, S("1,"));
    buf_add(&was, S("1]}"));
    buf_add(&edited, dead_shown(&a, buf_str(&was)));
    assert_non_null(memmem(edited.p, edited.n, "***", 3));
    edited.p[edited.n - 3] = '2';
    assert_int_equal(dead_merge(&a, buf_str(&was), buf_str(&edited), &body, &why), OK);
    assert_non_null(memmem(body.p, body.n, "\"123\"", 5));
    assert_true(str_ends(body, S(",2]}")));
    edited.p[2] = 'x'; /* on both sides of the mask */
    assert_int_equal(dead_merge(&a, buf_str(&was), buf_str(&edited), &body, &why),
                     ERR_UNPROCESSABLE);
    buf_release(&was);
    buf_release(&edited);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_left_as_it_was_shown_is_as_it_was),
        TEST(a_mask_is_never_stored_whatever_it_looks_like),
        TEST(what_is_hidden_of_one_is_never_given_to_another),
        TEST(in_a_string_of_json_the_same_holds),
        TEST(in_a_text_the_same_holds),
        TEST(what_is_too_much_for_a_tree_is_refused_where_a_mask_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
