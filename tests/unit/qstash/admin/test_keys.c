/* The signing keys: what the settings say, what a rotation left, and how other nodes learn of it.
 */
#include "auth/upstash.h"
#include "qstash/admin/keys.h"
#include "unit/queue/rig.h"

#define A "sig_aaaaaaaaaaaaaaaa"
#define B "sig_bbbbbbbbbbbbbbbb"
#define C "sig_cccccccccccccccc"
#define D "sig_dddddddddddddddd"

static struct {
    struct rig *rig;
    struct upstash_keys holder[RIG_NODES];
    struct qstash qstash[RIG_NODES];
} w;

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    for (int i = 0; i < RIG_NODES; i++) {
        upstash_keys_init(&w.holder[i]);
        w.qstash[i].env = &w.rig->env[i];
        w.qstash[i].store = w.rig->store[i];
        w.qstash[i].keys = &w.holder[i];
    }
}

static enum err do_begin(struct tx *tx, void *ctx)
{
    return keys_begin(tx, ctx);
}

static enum err do_follow(struct tx *tx, void *ctx)
{
    return keys_follow(ctx, tx);
}

/* The program is started anew with these settings. */
static void start(int node, const char *current, const char *next)
{
    upstash_keys_set(&w.holder[node], S(""), S(""));
    w.qstash[node].keys_begun = false;
    w.qstash[node].current_key = str_of(current);
    w.qstash[node].next_key = str_of(next);
    assert_int_equal(rig_do(w.rig, node, do_begin, &w.qstash[node]), OK);
}

/* What POST /v2/keys/rotate leaves behind. */
static void rotate_to(const char *current, const char *next)
{
    char sql[256], unused[8];

    snprintf(sql, sizeof(sql), "UPDATE qstash_keys SET current = '%s', next = '%s', rotated_at = 5",
             current, next);
    sql_text(w.rig, sql, unused, sizeof(unused));
}

static void signs_with(int node, const char *current, const char *next)
{
    struct upstash_pair pair;
    char stored[128];

    upstash_keys_get(&w.holder[node], &pair);
    assert_string_equal(pair.current, current);
    assert_string_equal(pair.next, next);
    sql_text(w.rig, "SELECT current || ' ' || next FROM qstash_keys", stored, sizeof(stored));
    if (current[0]) {
        char want[128];

        snprintf(want, sizeof(want), "%s %s", current, next);
        assert_string_equal(stored, want);
    }
}

static void the_first_start_takes_the_keys_of_the_settings(void **state)
{
    begin(state);
    start(0, A, B);
    signs_with(0, A, B);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_keys"), 1);
}

static void a_rotation_outlives_the_program(void **state)
{
    begin(state);
    start(0, A, B);
    rotate_to(B, C);
    start(0, A, B);
    signs_with(0, B, C);
}

static void settings_that_were_changed_win(void **state)
{
    begin(state);
    start(0, A, B);
    rotate_to(B, C);
    start(0, A, D);
    signs_with(0, A, D);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_keys WHERE rotated_at IS NULL"),
                     1);
    start(0, A, D);
    signs_with(0, A, D);
}

static void without_keys_in_the_settings_what_was_published_is_still_signed(void **state)
{
    begin(state);
    start(0, "", "");
    signs_with(0, "", "");
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_keys"), 0);
    start(0, A, B);
    rotate_to(B, C);
    start(0, "", "");
    signs_with(0, B, C);
    start(0, A, B); /* the same settings as before: they have nothing new to say */
    signs_with(0, B, C);
}

static void another_node_follows_a_rotation_within_a_second(void **state)
{
    begin(state);
    start(0, A, B);
    start(1, A, B);
    assert_int_equal(rig_do(w.rig, 1, do_follow, &w.qstash[1]), OK);
    rotate_to(B, C);
    atomic_fetch_add(&rig_now_ms, LIMIT_QSTASH_KEYS_MS - 1);
    assert_int_equal(rig_do(w.rig, 1, do_follow, &w.qstash[1]), OK);
    assert_string_equal(w.holder[1].pair.current, A);
    atomic_fetch_add(&rig_now_ms, 1);
    assert_int_equal(rig_do(w.rig, 1, do_follow, &w.qstash[1]), OK);
    signs_with(1, B, C);
}

static enum err do_begin_and_fail(struct tx *tx, void *ctx)
{
    enum err e = keys_begin(tx, ctx);

    return e ? e : ERR_UNPROCESSABLE;
}

static void whoever_signs_first_begins_where_the_start_did_not(void **state)
{
    begin(state);
    w.qstash[0].current_key = S(A);
    w.qstash[0].next_key = S(B);
    assert_int_equal(rig_do(w.rig, 0, do_begin_and_fail, &w.qstash[0]), ERR_UNPROCESSABLE);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_keys"), 0);
    assert_int_equal(rig_do(w.rig, 0, do_follow, &w.qstash[0]), OK);
    signs_with(0, A, B);
}

static void an_only_node_does_not_ask(void **state)
{
    begin(state);
    start(0, A, B);
    rotate_to(B, C); /* nobody else can, on SQLite: so this is never read */
    atomic_fetch_add(&rig_now_ms, 10 * LIMIT_QSTASH_KEYS_MS);
    assert_int_equal(rig_do(w.rig, 0, do_follow, &w.qstash[0]), OK);
    assert_string_equal(w.holder[0].pair.current, A);
}

int main(void)
{
    const struct CMUnitTest sqlite[] = {
        ON_SQLITE(the_first_start_takes_the_keys_of_the_settings),
        ON_SQLITE(a_rotation_outlives_the_program),
        ON_SQLITE(settings_that_were_changed_win),
        ON_SQLITE(without_keys_in_the_settings_what_was_published_is_still_signed),
        ON_SQLITE(whoever_signs_first_begins_where_the_start_did_not),
        ON_SQLITE(an_only_node_does_not_ask),
    };
    const struct CMUnitTest postgres[] = {
        ON_POSTGRES(the_first_start_takes_the_keys_of_the_settings),
        ON_POSTGRES(a_rotation_outlives_the_program),
        ON_POSTGRES(settings_that_were_changed_win),
        ON_POSTGRES(without_keys_in_the_settings_what_was_published_is_still_signed),
        ON_POSTGRES(whoever_signs_first_begins_where_the_start_did_not),
        ON_POSTGRES(another_node_follows_a_rotation_within_a_second),
    };

    return RUN_BOTH(sqlite, postgres);
}
