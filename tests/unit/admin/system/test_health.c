/* What /readyz does to the database. Its unit is static, so the file itself is included. */
#include "admin/system/health.c" // NOLINT(bugprone-suspicious-include)
#include "unit/queue/rig.h"

static enum err do_prove(struct tx *tx, void *ctx)
{
    return readiness_probe(tx, ctx);
}

static int64_t nodes(struct rig *r)
{
    return sql_int(r, "SELECT count(*) FROM node_seen");
}

static void o9_nodes_that_are_gone_for_a_day_are_forgotten(void **state)
{
    struct readiness c = { 0 };
    struct rig *r = *state;

    assert_int_equal(rig_do(r, 0, do_prove, &c.unit), OK);
    assert_int_equal(nodes(r), 1);
    for (int i = 0; i < 3; i++) { /* restarts: a new name each time */
        r->store_env[0].node = env_uuid(&r->env[0]);
        assert_int_equal(rig_do(r, 0, do_prove, &c.unit), OK);
    }
    assert_int_equal(nodes(r), 4);
    sql_int(r, "UPDATE node_seen SET at = at - 24 * 3600 * 1000 - 1");
    assert_int_equal(rig_do(r, 0, do_prove, &c.unit), OK);
    assert_int_equal(nodes(r), 1);
}

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        ON_SQLITE(o9_nodes_that_are_gone_for_a_day_are_forgotten),
    };
    static const struct CMUnitTest postgres[] = {
        ON_POSTGRES(o9_nodes_that_are_gone_for_a_day_are_forgotten),
    };

    return RUN_BOTH(sqlite, postgres);
}
