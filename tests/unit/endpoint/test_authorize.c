/* Which callers a route's role lets through. */
#include "endpoint/authorize.h"
#include "unit/cm.h"

static void a_role_lets_through_whom_it_names(void **state)
{
    static const struct principal user = { 0 }, viewer = { .viewer = true },
                                  service = { .service = true }, admin = { .admin = true },
                                  operator_ = { .admin = true, .service = true },
                                  both = { .service = true, .viewer = true };
    static const struct {
        const char *why;
        enum role role;
        const struct principal *p;
        const char *method;
        bool allowed;
    } rows[] = {
        { "an owner decides nothing here", ROLE_OPERATOR, &user, "GET", false },
        { "a viewer looks", ROLE_OPERATOR, &viewer, "GET", true },
        { "HEAD is a look", ROLE_OPERATOR, &viewer, "HEAD", true },
        { "a viewer changes nothing", ROLE_OPERATOR, &viewer, "POST", false },
        { "nor removes anything", ROLE_OPERATOR, &viewer, "DELETE", false },
        { "a service is no operator", ROLE_OPERATOR, &service, "GET", false },
        { "a service that may look looks", ROLE_OPERATOR, &both, "GET", true },
        { "and changes nothing", ROLE_OPERATOR, &both, "POST", false },
        { "an admin token operates", ROLE_OPERATOR, &admin, "POST", true },
        { "an operator operates", ROLE_OPERATOR, &operator_, "PATCH", true },
        { "an owner is no service", ROLE_SERVICE, &user, "PUT", false },
        { "a viewer is no service", ROLE_SERVICE, &viewer, "PUT", false },
        { "a service is one", ROLE_SERVICE, &service, "PUT", true },
        { "an admin may what a service may", ROLE_SERVICE, &admin, "PUT", true },
        { "every token, by owner", ROLE_ANY_TOKEN, &user, "POST", true },
        { "every token, to look", ROLE_ANY_TOKEN, &viewer, "GET", true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (role_allows(rows[i].role, rows[i].p, str_of(rows[i].method)) != rows[i].allowed)
            fail_msg("row %zu: %s", i, rows[i].why);
}

static void handle(struct request *r, void *ctx, const struct principal *p)
{
    (void)r;
    (void)ctx;
    (void)p;
}

static void open_handle(struct request *r, void *ctx)
{
    (void)r;
    (void)ctx;
}

static void the_handler_behind_a_route_is_known(void **state)
{
    static const struct authorized_route row = { "GET", "/", handle, ROLE_OPERATOR, 0 };
    struct authorized a = { .route = &row };

    (void)state;
    assert_true(authorized_handler_of(&(struct route){ .handle = authorized_handle, .ctx = &a }) ==
                handle);
    assert_null(authorized_handler_of(&(struct route){ .handle = open_handle, .ctx = &a }));
}

static void a_row_without_a_role_is_for_operators(void **state)
{
    (void)state;
    assert_int_equal((struct authorized_route){ .method = "GET" }.role, ROLE_OPERATOR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_role_lets_through_whom_it_names),
        TEST(the_handler_behind_a_route_is_known),
        TEST(a_row_without_a_role_is_for_operators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
