#include "base/limits.h"
#include "store/postgres/value.h"
#include "unit/cm.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

static PGconn *server(void)
{
    const char *url = getenv("TEST_POSTGRES");

    if (!url) {
        print_message("skipped: TEST_POSTGRES is not set (tests/with-postgres sets it)\n");
        skip();
    }
    return PQconnectdb(url);
}

static PGresult *ask(PGconn *c, const char *sql, const struct pg_params *p)
{
    PGresult *r = PQexecParams(c, sql, p->count, p->types, p->values, p->lengths, p->formats, 1);

    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    return r;
}

static void assert_same(const struct val *a, const struct val *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(a->i == b->i);
    assert_int_equal(a->s.n, b->s.n);
    if (a->s.n)
        assert_memory_equal(a->s.p, b->s.p, a->s.n);
}

static void values_are_sent_with_their_type_and_come_back_the_same(void **state)
{
    const struct val v[] = {
        V_INT(INT64_MIN), V_INT(INT64_MAX),      V_INT(-1),     V_TEXT(S("一度 \\ \"'")),
        V_TEXT(S("")),    V_BLOB(S("a\0b\xff")), V_BLOB(S("")), V_TEXT(S("plain text")),
    };
    PGconn *c = server();
    struct pg_params p;
    struct arena a;
    struct row row;
    PGresult *r;

    (void)state;
    arena_init(&a, 4096);
    assert_int_equal(pg_params_of(&p, v, COUNT(v)), OK);
    r = ask(c, "SELECT $1, $2, $3, $4, $5, $6, $7, $8", &p);
    assert_int_equal(pg_row(r, 0, &a, &row), OK);
    assert_int_equal(row.count, COUNT(v));
    for (size_t i = 0; i < COUNT(v); i++)
        assert_same(&row.col[i], &v[i]);
    PQclear(r);
    PQfinish(c);
    arena_release(&a);
}

static void every_integer_and_bool_is_read_as_a_number(void **state)
{
    static const int64_t want[] = { -2, 32767, -70000, 1, 0, 7 };
    struct pg_params none = { .count = 0 };
    PGconn *c = server();
    struct arena a;
    struct row row;
    PGresult *r;

    (void)state;
    arena_init(&a, 4096);
    r = ask(c, "SELECT -2::int2, 32767::int2, -70000::int4, true, false, 7::int8, NULL::int8",
            &none);
    assert_int_equal(pg_row(r, 0, &a, &row), OK);
    for (size_t i = 0; i < COUNT(want); i++)
        assert_true(row.col[i].type == VAL_INT && row.col[i].i == want[i]);
    assert_int_equal(row.col[COUNT(want)].type, VAL_NULL);
    PQclear(r);
    PQfinish(c);
    arena_release(&a);
}

static void a_type_without_a_twin_on_sqlite_is_refused(void **state)
{
    struct pg_params none = { .count = 0 };
    PGconn *c = server();
    struct arena a;
    struct row row;
    PGresult *r;

    (void)state;
    arena_init(&a, 4096);
    r = ask(c, "SELECT sum(1::bigint)", &none); /* numeric */
    assert_int_equal(pg_row(r, 0, &a, &row), ERR_INTERNAL);
    PQclear(r);
    PQfinish(c);
    arena_release(&a);
}

static void a_row_that_does_not_fit_is_no_memory(void **state)
{
    struct pg_params none = { .count = 0 };
    PGconn *c = server();
    struct arena a;
    struct row row;
    PGresult *r;

    (void)state;
    arena_init(&a, 64);
    r = ask(c, "SELECT repeat('x', 100)", &none);
    assert_int_equal(pg_row(r, 0, &a, &row), ERR_NO_MEMORY);
    PQclear(r);
    PQfinish(c);
    arena_release(&a);
}

static void columns_become_arrays_and_come_back_as_rows(void **state)
{
    const struct val v[] = {
        V_INT(1),
        V_TEXT(S("{,\"}")),
        V_BLOB(S("\0\1")),
        V_NULL, /**/
        V_NULL,
        V_TEXT(S("")),
        V_NULL,
        V_NULL, /**/
        V_INT(3),
        V_NULL,
        V_BLOB(S("")),
        V_NULL,
    };
    enum { ROWS = 3, COLUMNS = 4 };
    PGconn *c = server();
    struct pg_params p;
    struct buf bytes;
    struct arena a;
    PGresult *r;

    (void)state;
    arena_init(&a, 4096);
    buf_init(&bytes, 4096);
    assert_int_equal(pg_params_bulk(&p, &bytes, v, ROWS, COLUMNS), OK);
    r = ask(c, "SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[])", &p);
    assert_int_equal(PQntuples(r), ROWS);
    for (int i = 0; i < ROWS; i++) {
        struct row row;

        assert_int_equal(pg_row(r, i, &a, &row), OK);
        for (int j = 0; j < COLUMNS; j++)
            assert_same(&row.col[j], &v[i * COLUMNS + j]);
    }
    PQclear(r);
    PQfinish(c);
    buf_release(&bytes);
    arena_release(&a);
}

static void a_column_of_two_types_is_our_mistake(void **state)
{
    const struct val v[] = { V_INT(1), V_TEXT(S("1")) };
    struct pg_params p;
    struct buf bytes;

    (void)state;
    buf_init(&bytes, 4096);
    assert_int_equal(pg_params_bulk(&p, &bytes, v, 2, 1), ERR_INTERNAL);
    buf_release(&bytes);
}

static void more_bytes_than_a_statement_may_have_are_refused(void **state)
{
    struct val v[2];
    struct pg_params p;
    struct buf bytes;

    (void)state;
    v[0] = v[1] = V_BLOB(((struct str){ "", LIMIT_DB_STATEMENT_BYTES / 2 + 1 }));
    assert_int_equal(pg_params_of(&p, v, 2), ERR_TOO_LARGE);
    v[0] = v[1] = V_BLOB(S("0123456789"));
    buf_init(&bytes, 40);
    assert_int_equal(pg_params_bulk(&p, &bytes, v, 2, 1), ERR_TOO_LARGE);
    buf_release(&bytes);
}

static void a_parameter_is_eight_bytes_in_network_order(void **state)
{
    const struct val v[] = { V_INT(0x0102030405060708), V_INT(-2), V_NULL };
    struct pg_params p;

    (void)state;
    assert_int_equal(pg_params_of(&p, v, COUNT(v)), OK);
    assert_int_equal(p.types[0], PG_INT8);
    assert_memory_equal(p.values[0], "\1\2\3\4\5\6\7\10", 8);
    assert_memory_equal(p.values[1], "\xff\xff\xff\xff\xff\xff\xff\xfe", 8);
    assert_null(p.values[2]);
    assert_int_equal(p.types[2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_parameter_is_eight_bytes_in_network_order),
        TEST(a_column_of_two_types_is_our_mistake),
        TEST(more_bytes_than_a_statement_may_have_are_refused),
        TEST(values_are_sent_with_their_type_and_come_back_the_same),
        TEST(every_integer_and_bool_is_read_as_a_number),
        TEST(a_type_without_a_twin_on_sqlite_is_refused),
        TEST(a_row_that_does_not_fit_is_no_memory),
        TEST(columns_become_arrays_and_come_back_as_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
