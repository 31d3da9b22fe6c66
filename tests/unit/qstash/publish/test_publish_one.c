/* Parcels on their way into the store, several in a unit: who is new, who is a duplicate, and what
 * a unit that is run again makes of its own rows. */
#include "base/buf.h"
#include "qstash/publish/publish_one.h"
#include "unit/queue/rig.h"

enum { WINDOW_MS = 60 * 1000, MOST = LIMIT_QSTASH_ENDPOINTS };

static struct {
    struct rig *rig;
    struct qstash q;
    struct posting all[MOST];
    struct posting *each[MOST];
    size_t n;
} w;

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.q = (struct qstash){ .env = &w.rig->env[0], .store = w.rig->store[0], .dedup_ms = WINDOW_MS };
}

/* One more for the next unit; key "": none. */
static struct posting *add(const char *key, const char *queue, const char *flow)
{
    struct posting *p = &w.all[w.n];
    struct input in = { .parcel = { .method = S("POST"), .queue = str_of(queue), .retries = 3 } };

    assert_true(w.n < MOST);
    *p = (struct posting){ .parcel = in.parcel };
    assert_true(parcel_set_url(&p->parcel, S("https://example.com/x")));
    p->parcel.caller_ip = S("192.0.2.1");
    p->parcel.flow_key = str_of(flow);
    p->parcel.flow = (struct flow_limits){ .parallelism = 1, .period_s = 1 };
    posting_init(p, &in, env_uuid(w.q.env), env_now_ms(w.q.env));
    p->has_key = key[0];
    memset(p->key, 0, sizeof(p->key));
    memcpy(p->key, key, strlen(key));
    w.each[w.n++] = p;
    return p;
}

static enum err store(struct tx *tx, void *ctx)
{
    (void)ctx;
    return postings_store(&w.q, tx, w.each, w.n);
}

static enum err run(void)
{
    return rig_do(w.rig, 0, store, NULL);
}

static enum err count_rows(struct tx *tx, void *ctx)
{
    struct row row;
    enum err e = OK;

    *(int64_t *)ctx = 0;
    for (size_t i = 0; i < w.n && !e; i++) {
        e = TX_ROW(tx, STMT_qstash_live_read, &row, V_BLOB(uuid_bytes(&w.all[i].parcel.id)));
        *(int64_t *)ctx += !e;
        e = e == ERR_NOT_FOUND ? OK : e;
    }
    return e;
}

/* How many of the last unit's are live. */
static int64_t stored(void)
{
    int64_t n;

    assert_int_equal(rig_do(w.rig, 0, count_rows, &n), OK);
    return n;
}

static void is(const struct posting *p, const struct posting *answer)
{
    assert_true(uuid_eq(p->answer, answer->parcel.id));
    assert_int_equal(p->duplicate, p != answer);
}

static void q9_equal_ones_of_a_unit_are_the_first(void **state)
{
    struct posting *first, *other, *none;

    begin(state);
    first = add("a", "", "");
    add("a", "", "");
    other = add("b", "q", "");
    add("b", "", "");
    add("a", "q", "f");
    none = add("", "", "");
    add("", "", "");
    assert_int_equal(run(), OK);
    is(&w.all[0], first);
    is(&w.all[1], first);
    is(&w.all[2], other);
    is(&w.all[3], other);
    is(&w.all[4], first);
    is(&w.all[5], none);
    is(&w.all[6], &w.all[6]);
    assert_int_equal(stored(), 4);
}

static void q9_a_claim_holds_until_its_window_is_over(void **state)
{
    struct posting first;

    begin(state);
    first = *add("c", "", "");
    assert_int_equal(run(), OK);
    w.n = 0;
    add("c", "q", "f");
    add("d", "", "");
    assert_int_equal(run(), OK);
    assert_true(w.all[0].duplicate && uuid_eq(w.all[0].answer, first.parcel.id));
    assert_false(w.all[1].duplicate);
    assert_int_equal(stored(), 1);

    atomic_fetch_add(&rig_now_ms, WINDOW_MS - 1);
    w.n = 0;
    add("c", "", "");
    assert_int_equal(run(), OK);
    assert_true(w.all[0].duplicate);
    atomic_fetch_add(&rig_now_ms, 1);
    w.n = 0;
    add("c", "", "");
    add("c", "", "");
    assert_int_equal(run(), OK);
    is(&w.all[0], &w.all[0]);
    is(&w.all[1], &w.all[0]);
    assert_int_equal(stored(), 1);
}

static void q9_a_unit_that_is_run_again_meets_its_own_rows(void **state)
{
    begin(state);
    add("e", "", "");
    add("f", "q", "f");
    add("e", "", "");
    assert_int_equal(run(), OK);
    assert_int_equal(run(), OK); /* its commit was sent, and its answer lost */
    is(&w.all[0], &w.all[0]);
    is(&w.all[1], &w.all[1]);
    is(&w.all[2], &w.all[0]);
    assert_int_equal(stored(), 2);

    w.n = 0;
    add("", "", "");
    add("g", "", "");
    assert_int_equal(run(), OK);
    assert_int_equal(run(), ERR_CONFLICT);
    is(&w.all[0], &w.all[0]);
    is(&w.all[1], &w.all[1]);
    assert_int_equal(stored(), 2);
}

static void fill_queues(int n)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "%sINSERT INTO qstash_queues (name, parallelism, created_at, updated_at)"
             " SELECT 'full-' || i, 1, 1, 1 FROM %s",
             w.rig->postgres
                 ? ""
                 : "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 9999) ",
             w.rig->postgres ? "generate_series(1, 9999) c(i)" : "c");
    sql_int(w.rig, sql);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_queues"), n);
}

static void is_refused(const struct posting *p, bool refused)
{
    assert_int_equal(p->refused, refused);
}

static void q9_one_queue_too_many_is_refused_and_takes_nobody_along(void **state)
{
    begin(state);
    fill_queues(LIMIT_QSTASH_QUEUES - 1);
    add("k1", "last", "");
    add("k2", "too-many", "");
    add("", "", "");
    add("", "full-7", "f");
    add("", "last", "");
    add("", "too-many", "g");
    add("k2", "", "");
    assert_int_equal(run(), OK);
    for (size_t i = 0; i < w.n; i++)
        is_refused(&w.all[i], i == 1 || i == 5);
    is(&w.all[6], &w.all[6]); /* what was refused claims nothing */
    assert_int_equal(stored(), 5);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_queues"), LIMIT_QSTASH_QUEUES);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_flows"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_dedup"), 2);
    for (int i = 0; i < 2; i++) { /* alone, with a claim and without one */
        w.n = 0;
        add(i ? "k3" : "", "too-many", "");
        assert_int_equal(run(), OK);
        is_refused(&w.all[0], true);
        assert_int_equal(stored(), 0);
    }
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_dedup"), 2);
    sql_int(w.rig, "UPDATE qstash_queues SET name = NULL WHERE name = 'full-8'");
    assert_int_equal(run(), OK); /* there is room for one again */
    is_refused(&w.all[0], false);
    assert_int_equal(stored(), 1);
}

static void q9_a_hundred_at_once(void **state)
{
    char key[32];

    begin(state);
    for (int i = 0; i < MOST; i++) {
        snprintf(key, sizeof(key), "hundred %d", i);
        add(key, i % 2 ? "q" : "", i % 2 ? "f" : "");
    }
    assert_int_equal(run(), OK);
    assert_int_equal(stored(), MOST);
    for (int i = 0; i < MOST; i++)
        is(&w.all[i], &w.all[i]);
}

static void an_answer_is_json(void **state)
{
    struct posting p = { .answer = { .b = { 0x01, 0xab } }, .duplicate = true };
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    parcel_set_url(&p.parcel, S("https://e.com/\"?x"));
    posting_write(&b, &p, true);
    p.duplicate = false;
    posting_write(&b, &p, false);
    assert_true(str_eq(buf_str(&b), S("{\"messageId\":\"msg_01ab0000000000000000000000000000\","
                                      "\"url\":\"https://e.com/\\\"?x\",\"deduplicated\":true}"
                                      "{\"messageId\":\"msg_01ab0000000000000000000000000000\"}")));
    buf_release(&b);
}

#define ALL(ON)                                                                                    \
    ON(q9_equal_ones_of_a_unit_are_the_first), ON(q9_a_claim_holds_until_its_window_is_over),      \
        ON(q9_a_unit_that_is_run_again_meets_its_own_rows), ON(q9_a_hundred_at_once),              \
        ON(q9_one_queue_too_many_is_refused_and_takes_nobody_along), ON(an_answer_is_json)

int main(void)
{
    const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
