/* Cancelling: many at once, however large they are, and what a deleted queue left. */
#include "base/limits.h"
#include "payment/rows.h"
#include "qstash/rows.h"
#include "unit/queue/rig.h"

enum { HEADER = 32 * 1024, MANY = LIMIT_QSTASH_CANCEL };

static struct {
    struct rig *rig;
    struct qstash q;
    struct uuid ids[MANY];
    char header[HEADER + 32];
} w;

static int64_t now(void)
{
    return atomic_load(&rig_now_ms);
}

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.q.env = &w.rig->env[0];
    w.q.store = w.rig->store[0];
    strcpy(w.header, "{\"X-Big\":[\"");
    memset(w.header + strlen(w.header), 'a', HEADER);
    strcat(w.header, "\"]}");
}

static void must(enum err (*run)(struct tx *, void *), void *ctx)
{
    enum err e = rig_do(w.rig, 0, run, ctx);

    if (e)
        fail_msg("%s", err_code(e));
}

/* --- parcels --- */

struct wish {
    const char *queue, *flow;
    int64_t holds_queue_id;
    struct uuid id;
};

static enum err do_post(struct tx *tx, void *ctx)
{
    const struct wish *h = ctx;
    struct parcel p = { .id = h->id,
                        .created_ms = now(),
                        .not_before_ms = now() + 1000,
                        .method = S("POST"),
                        .header = str_of(w.header),
                        .body = S("hello"),
                        .labels = S("large,old"),
                        .queue = str_of(h->queue),
                        .flow_key = str_of(h->flow),
                        .flow = { .parallelism = 7, .period_s = 1 },
                        .holds_queue_id = h->holds_queue_id,
                        .caller_ip = S("127.0.0.1") };

    parcel_set_url(&p, S("http://a.test/in"));
    return parcel_post(&w.q, tx, &p);
}

static struct uuid post(struct wish h)
{
    h.id = env_uuid(w.q.env);
    must(do_post, &h);
    return h.id;
}

static void post_many(struct wish h, int n)
{
    for (int i = 0; i < n; i++)
        w.ids[i] = post(h);
}

static int64_t ask(const char *sql)
{
    return sql_int(w.rig, sql);
}

static int64_t live(void)
{
    return ask("SELECT count(*) FROM qstash_live");
}

/* --- many at once --- */

static enum err do_cancel(struct tx *tx, void *ctx)
{
    return parcels_cancel(&w.q, tx, w.ids, MANY, ctx);
}

static void a_hundred_with_large_headers_are_cancelled_in_one_unit(void **state)
{
    static const struct wish wishes[] = {
        { .queue = NULL }, { .queue = "q" }, { .flow = "k" }, { .queue = "q", .flow = "k" }
    };
    int64_t count;

    begin(state);
    for (size_t i = 0; i < COUNT(wishes); i++) {
        post_many(wishes[i], MANY);
        assert_int_equal(live(), MANY);
        must(do_cancel, &count);
        assert_int_equal(count, MANY);
        assert_int_equal(live(), 0);
    }
    assert_int_equal(ask("SELECT count(*) FROM message"), 0);
    assert_int_equal(ask("SELECT count(*) FROM qstash_labels"), 0);
    assert_int_equal(ask("SELECT running + lag FROM qstash_queues"), 0);
    assert_int_equal(ask("SELECT running + waiting FROM qstash_flows"), 0);
    assert_int_equal(ask("SELECT count(*) FROM qstash_log WHERE state = 8"), COUNT(wishes) * MANY);
    must(do_cancel, &count);
    assert_int_equal(count, 0);
}

/* --- what a deleted queue left --- */

static enum err do_delete(struct tx *tx, void *ctx)
{
    (void)ctx;
    return TX_DO(tx, STMT_qstash_queue_unname, 1, V_INT(now()), V_INT(1));
}

static enum err do_sweep(struct tx *tx, void *ctx)
{
    struct message m = { .ref = S("1"), .attempt = *(int64_t *)ctx };
    struct job_kind kind = qstash_sweep_kind(&w.q);
    struct why why;

    return kind.run(tx, &m, kind.ctx, &why);
}

static void sweep(int64_t attempt)
{
    must(do_sweep, &attempt);
}

static int64_t sweeps(void)
{
    return ask("SELECT count(*) FROM message WHERE kind = 'qstash.sweep'");
}

static void the_sweep_takes_less_after_trouble(void **state)
{
    static const struct {
        int64_t attempt, takes;
    } rows[] = { { 1, 100 }, { 2, 50 }, { 4, 12 }, { 7, 1 }, { 8, 1 }, { 70, 1 }, { 900, 1 } };

    begin(state);
    post_many((struct wish){ .queue = "q" }, MANY);
    post_many((struct wish){ .queue = "q" }, MANY);
    must(do_delete, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t before = live();

        sweep(rows[i].attempt);
        assert_int_equal(before - live(), rows[i].takes);
        assert_int_equal(sweeps(), i + 1); /* and another one follows */
    }
}

static enum err do_cancel_one(struct tx *tx, void *ctx)
{
    int64_t count;

    return parcels_cancel(&w.q, tx, ctx, 1, &count);
}

/* What they tell of has happened. */
static void q9_callbacks_outlive_their_queue_and_its_row_goes_with_the_last(void **state)
{
    struct uuid callbacks[2];
    int64_t left;

    begin(state);
    post_many((struct wish){ .queue = "q" }, 10);
    callbacks[0] = post((struct wish){ .holds_queue_id = 1 });
    callbacks[1] = post((struct wish){ .holds_queue_id = 1 });
    must(do_delete, NULL);
    sweep(1);
    sweep(1);
    left = sweeps();
    assert_int_equal(live(), 2);
    assert_int_equal(ask("SELECT count(*) FROM qstash_live WHERE counts = 0 AND cancel = 0"), 2);
    assert_int_equal(ask("SELECT lag * 100 + running FROM qstash_queues"), 2);
    sweep(1);
    assert_int_equal(sweeps(), left); /* nobody looks for its end: */
    must(do_cancel_one, &callbacks[0]);
    assert_int_equal(ask("SELECT count(*) FROM qstash_queues"), 1);
    must(do_cancel_one, &callbacks[1]);
    assert_int_equal(live(), 0);
    assert_int_equal(ask("SELECT count(*) FROM qstash_queues"), 0); /* it comes with the last one */
}

static void a_queue_that_was_empty_goes_with_the_first_sweep(void **state)
{
    begin(state);
    post_many((struct wish){ .queue = "q" }, MANY);
    must(do_cancel, &(int64_t){ 0 });
    assert_int_equal(ask("SELECT count(*) FROM qstash_queues"), 1); /* it has its name */
    must(do_delete, NULL);
    sweep(1);
    assert_int_equal(ask("SELECT count(*) FROM qstash_queues"), 0);
    assert_int_equal(sweeps(), 0);
}

/* --- a row that does not fit --- */

struct reading {
    struct uuid id;
    size_t room;
};

static enum err do_read(struct tx *tx, void *ctx)
{
    const struct reading *x = ctx;
    struct parcel p;
    struct arena a;
    enum err e;

    memset(&p, 0xa5, sizeof(p));
    arena_init(&a, x->room);
    e = parcel_read(tx, &a, x->id, true, &p);
    if (!e)
        assert_int_equal(p.flow.parallelism, 7);
    arena_release(&a);
    return e;
}

static void a_parcel_is_read_whole_or_not_at_all(void **state)
{
    struct reading x;
    enum err e = ERR_NO_MEMORY;

    begin(state);
    strcpy(w.header, "{}");
    x.id = post((struct wish){ .queue = "q", .flow = "k" });
    for (x.room = 0; e; x.room += 16) {
        e = rig_do(w.rig, 0, do_read, &x);
        if (e)
            assert_int_equal(e, ERR_NO_MEMORY);
        assert_true(x.room < 4096);
    }
}

#define ALL(ON)                                                                                    \
    ON(a_hundred_with_large_headers_are_cancelled_in_one_unit),                                    \
        ON(the_sweep_takes_less_after_trouble),                                                    \
        ON(q9_callbacks_outlive_their_queue_and_its_row_goes_with_the_last),                       \
        ON(a_queue_that_was_empty_goes_with_the_first_sweep),                                      \
        ON(a_parcel_is_read_whole_or_not_at_all)

int main(void)
{
    const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
