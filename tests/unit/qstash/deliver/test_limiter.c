/* Queues and flow keys. The test is the worker: it leases what is given, begins, and settles as it
 * likes; after every step all counts are held against a recount. */
#include "base/limits.h"
#include "payment/rows.h"
#include "qstash/rows.h"
#include "unit/queue/rig.h"

enum { PARCELS = 6000, HELD = 1000, STEPS = 2000 };

struct held { /* a parcel whose message is ours */
    struct message message;
    struct arena arena;
    struct parcel parcel;
    struct live live;
    bool goes; /* its attempt is under way */
};

static struct {
    struct rig *rig;
    struct qstash q;
    struct arena texts;
    struct uuid ids[PARCELS];
    int count;
    struct held *held[HELD];
    int held_count;
    int64_t now_ms;
    sqlite3 *sqlite;
    PGconn *postgres;
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
    arena_init(&w.texts, 256 << 20);
    if (w.rig->postgres)
        w.postgres = PQconnectdb(w.rig->url);
    else
        assert_int_equal(sqlite3_open_v2(w.rig->file, &w.sqlite, SQLITE_OPEN_READWRITE, NULL), 0);
}

static void drop_held(int i)
{
    arena_release(&w.held[i]->arena);
    free(w.held[i]);
    w.held[i] = w.held[--w.held_count];
}

static void end(void)
{
    while (w.held_count)
        drop_held(0);
    arena_release(&w.texts);
    sqlite3_close(w.sqlite);
    PQfinish(w.postgres);
}

static void must(enum err (*run)(struct tx *, void *), void *ctx)
{
    enum err e = rig_do(w.rig, 0, run, ctx);

    if (e)
        fail_msg("%s", err_code(e));
}

/* --- time --- */

static enum err do_renew(struct tx *tx, void *ctx)
{
    const struct message *m[HELD];

    (void)ctx;
    for (int i = 0; i < w.held_count; i++)
        m[i] = &w.held[i]->message;
    return queue_renew(tx, m, (size_t)w.held_count, now() + LIMIT_LEASE_MS);
}

static void pass(int64_t ms)
{
    atomic_store(&rig_now_ms, now() + ms);
    if (w.held_count)
        must(do_renew, NULL);
}

static void crash(void) /* what was under way stays leased, and nobody says what became of it */
{
    while (w.held_count)
        drop_held(0);
    pass(LIMIT_LEASE_MS + 1);
}

/* --- the recount --- */

static int64_t ask(const char *sql)
{
    int64_t n = -1;

    if (w.postgres) {
        PGresult *r = PQexec(w.postgres, sql);

        if (PQresultStatus(r) != PGRES_TUPLES_OK)
            fail_msg("%s: %s", sql, PQresultErrorMessage(r));
        n = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
        PQclear(r);
    } else {
        sqlite3_stmt *s = NULL;

        if (sqlite3_prepare_v2(w.sqlite, sql, -1, &s, NULL))
            fail_msg("%s: %s", sql, sqlite3_errmsg(w.sqlite));
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        n = sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
    }
    return n;
}

static const struct {
    const char *rule, *broken; /* broken: SQL that counts who breaks it; %lld is the time */
} rules[] = {
    { "a queue's running is its slots",
      "SELECT count(*) FROM qstash_queues q WHERE q.running <> (SELECT coalesce(sum(slot), 0)"
      " FROM qstash_live l WHERE l.queue_id = q.id)" },
    { "its lag is its counts",
      "SELECT count(*) FROM qstash_queues q WHERE q.lag <> (SELECT coalesce(sum(counts), 0)"
      " FROM qstash_live l WHERE l.queue_id = q.id)" },
    { "a flow key's running is its tokens",
      "SELECT count(*) FROM qstash_flows f WHERE f.running <> (SELECT coalesce(sum(token), 0)"
      " FROM qstash_live l WHERE l.flow_key = f.key)" },
    { "its waiting is who waits",
      "SELECT count(*) FROM qstash_flows f WHERE f.waiting <> (SELECT count(*)"
      " FROM qstash_live l WHERE l.flow_key = f.key AND l.place = 2)" },
    { "who is given has a message",
      "SELECT count(*) FROM qstash_live l WHERE l.place = 0 AND NOT EXISTS"
      " (SELECT 1 FROM message m WHERE m.id = l.id)" },
    { "and who waits has none", "SELECT count(*) FROM qstash_live l WHERE l.place <> 0 AND EXISTS"
                                " (SELECT 1 FROM message m WHERE m.id = l.id)" },
    { "no message is left over",
      "SELECT count(*) FROM message m WHERE m.kind = 'qstash.deliver' AND NOT EXISTS"
      " (SELECT 1 FROM qstash_live l WHERE l.id = m.id)" },
    { "nobody waits for a slot that is there",
      "SELECT count(*) FROM qstash_queues q WHERE q.paused = 0 AND q.running < q.parallelism"
      " AND EXISTS (SELECT 1 FROM qstash_live l WHERE l.queue_id = q.id AND l.place = 1)" },
    { "nobody is held without a pause",
      "SELECT count(*) FROM qstash_live l WHERE l.place = 3"
      " AND (SELECT q.paused FROM qstash_queues q WHERE q.id = l.queue_id) = 0" },
    { "nobody waits for a token that is there, unless for a period to begin",
      "SELECT count(*) FROM qstash_flows f WHERE f.paused = 0 AND f.waiting > 0"
      " AND (f.parallelism = 0 OR f.running < f.parallelism)"
      " AND (f.rate = 0 OR f.started < f.rate) AND f.period_from + f.period_s * 1000 > %lld" },
    { "and then somebody will look",
      "SELECT count(*) FROM qstash_flows f WHERE f.paused = 0 AND f.waiting > 0 AND f.rate > 0"
      " AND f.started >= f.rate AND NOT EXISTS (SELECT 1 FROM message m"
      " WHERE m.kind = 'qstash.window' AND m.ref = f.key)" },
    { "all that was published is live or has ended",
      "SELECT abs((SELECT count(*) FROM qstash_messages) - (SELECT count(*) FROM qstash_live)"
      " - (SELECT count(*) FROM qstash_log WHERE state IN (5, 6, 8)))" },
    { "nobody ends twice",
      "SELECT count(*) - count(DISTINCT id) FROM qstash_log WHERE state IN (5, 6, 8)" },
    { "who failed is a dead letter, in both lists",
      "SELECT abs((SELECT count(*) FROM qstash_log WHERE state = 6) - (SELECT count(*)"
      " FROM qstash_dead)) + abs((SELECT count(*) FROM qstash_dead) - (SELECT count(*)"
      " FROM dead_letters))" },
};

static void check(const char *after)
{
    static char all[16384];
    size_t n = 0;

    for (size_t i = 0; i < COUNT(rules); i++) { /* one question, for speed */
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s(", i ? " + " : "SELECT ");
        n += (size_t)snprintf(all + n, sizeof(all) - n, rules[i].broken, (long long)now());
        n += (size_t)snprintf(all + n, sizeof(all) - n, ")");
    }
    if (!ask(all))
        return;
    for (size_t i = 0; i < COUNT(rules); i++) {
        char one[1024];

        snprintf(one, sizeof(one), rules[i].broken, (long long)now());
        if (ask(one))
            fail_msg("after %s: %s", after, rules[i].rule);
    }
}

/* --- publishing --- */

struct wish {
    const char *queue, *flow;
    struct flow_limits limits;
    int64_t delay_ms, retries;
    const char *callbacks;
    struct uuid id;
};

static enum err do_publish(struct tx *tx, void *ctx)
{
    const struct wish *h = ctx;
    struct parcel p = { .id = h->id,
                        .created_ms = now(),
                        .not_before_ms = now() + h->delay_ms,
                        .method = S("POST"),
                        .retries = h->retries,
                        .body = S("hello"),
                        .callbacks = str_of(h->callbacks),
                        .queue = str_of(h->queue),
                        .flow_key = str_of(h->flow),
                        .flow = h->limits,
                        .caller_ip = S("127.0.0.1") };

    p.flow.period_s = p.flow.period_s ? p.flow.period_s : 1;
    parcel_set_url(&p, S("http://a.test/in"));
    return parcel_post(&w.q, tx, &p);
}

static int publish(struct wish h)
{
    assert_true(w.count < PARCELS);
    h.id = w.ids[w.count] = env_uuid(w.q.env);
    must(do_publish, &h);
    return w.count++;
}

/* --- the worker --- */

static bool all_are_resumed(const void *ctx, struct str kind)
{
    (void)ctx, (void)kind;
    return true;
}

struct taking {
    struct lease lease;
    struct message messages[LIMIT_STATEMENT_ROWS];
};

static enum err do_lease(struct tx *tx, void *ctx)
{
    struct taking *t = ctx;

    t->lease = (struct lease){ .owner = w.q.env->node,
                               .now_ms = now(),
                               .max = LIMIT_STATEMENT_ROWS,
                               .idle = true,
                               .is_resumed = all_are_resumed };
    return queue_lease(tx, &w.texts, &t->lease, t->messages);
}

static enum err do_window(struct tx *tx, void *ctx)
{
    struct job_kind kind = qstash_window_kind(&w.q);
    struct why why;
    enum err e = kind.run(tx, ctx, kind.ctx, &why);

    return e ? e : queue_finish(NULL, tx, ctx);
}

static struct held *hold(const struct message *m)
{
    struct held *h = calloc(1, sizeof(*h));

    assert_true(w.held_count < HELD);
    h->message = *m;
    arena_init(&h->arena, 4 << 20);
    w.held[w.held_count++] = h;
    return h;
}

/* Leases all that is due; the windows are run. */
static void lease(void)
{
    static struct taking t;

    do {
        must(do_lease, &t);
        for (size_t i = 0; i < t.lease.count; i++)
            if (str_eq(t.messages[i].kind, QSTASH_WINDOW_KIND))
                must(do_window, &t.messages[i]);
            else
                hold(&t.messages[i]);
    } while (t.lease.count);
}

static struct held *held_of(int parcel)
{
    for (int i = 0; i < w.held_count; i++)
        if (uuid_eq(w.held[i]->message.id, w.ids[parcel]))
            return w.held[i];
    return NULL;
}

static int index_of(const struct held *h)
{
    for (int i = 0; i < w.held_count; i++)
        if (w.held[i] == h)
            return i;
    abort();
}

struct beginning {
    struct held *held;
    enum begin_verdict verdict;
};

static enum err do_begin(struct tx *tx, void *ctx)
{
    struct beginning *b = ctx;
    struct held *h = b->held;

    return parcel_begin(&w.q, tx, &h->arena, &h->message, &h->parcel, &h->live, &b->verdict);
}

static enum err finish_or_put_off(struct tx *tx, const struct message *m, int64_t again_ms)
{
    bool stale;

    return again_ms ? queue_put_off(NULL, tx, m, again_ms, &stale) : queue_finish(NULL, tx, m);
}

static enum err do_end_without_call(struct tx *tx, void *ctx)
{
    struct beginning *b = ctx;
    struct held *h = b->held;
    int64_t again_ms = 0;
    enum err e = OK;

    if (b->verdict == BEGIN_WAIT)
        e = parcel_park(&w.q, tx, &h->message, &h->parcel, &again_ms);
    if (b->verdict == BEGIN_CANCELED)
        e = parcel_end_canceled(&w.q, tx, &h->message, &h->parcel);
    return e ? e : finish_or_put_off(tx, &h->message, again_ms);
}

static enum begin_verdict begin_held(struct held *h)
{
    struct beginning b = { .held = h };

    must(do_begin, &b);
    h->goes = b.verdict == BEGIN_GO;
    if (h->goes)
        return b.verdict;
    must(do_end_without_call, &b);
    drop_held(index_of(h));
    return b.verdict;
}

struct settling {
    struct held *held;
    struct attempt attempt;
    enum settled settled;
};

static enum err do_settle(struct tx *tx, void *ctx)
{
    struct settling *s = ctx;
    struct held *h = s->held;
    int64_t again_ms;
    enum err e = parcel_settle(&w.q, tx, &h->arena, &h->message, &h->parcel, &s->attempt,
                               &s->settled, &again_ms);

    return e ? e : finish_or_put_off(tx, &h->message, again_ms);
}

static enum settled settle_held(struct held *h, int status, int64_t delay_ms)
{
    struct settling s = { .held = h,
                          .attempt = { .status = status,
                                       .delivered = status == 200,
                                       .fatal = status == 489,
                                       .next_delay_ms = delay_ms,
                                       .callback_id = env_uuid(w.q.env),
                                       .failure_id = env_uuid(w.q.env) } };

    assert_true(h->goes);
    must(do_settle, &s);
    drop_held(index_of(h));
    return s.settled;
}

static enum err do_yield(struct tx *tx, void *ctx)
{
    struct held *h = ctx;
    enum err e = parcel_yield(&w.q, tx, &h->message);

    return e ? e : finish_or_put_off(tx, &h->message, now() + 5000);
}

static void yield_held(struct held *h)
{
    must(do_yield, h);
    drop_held(index_of(h));
}

/* --- by the parcels' numbers --- */

/* True: it was given to the worker, and its attempt is under way now. */
static bool starts(int parcel)
{
    struct held *h;

    lease();
    h = held_of(parcel);
    return h && !h->goes && begin_held(h) == BEGIN_GO;
}

static void try_all(void) /* whoever may, goes; the others wait where they have to */
{
    lease();
    for (int i = w.held_count; i-- > 0;)
        if (i < w.held_count && !w.held[i]->goes)
            begin_held(w.held[i]);
}

static void ends(int parcel, int status)
{
    settle_held(held_of(parcel), status, 1000);
}

static int under_way(void)
{
    int n = 0;

    for (int i = 0; i < w.held_count; i++)
        n += w.held[i]->goes;
    return n;
}

/* --- gates --- */

struct gate_wish {
    const char *queue, *flow;
    int64_t parallelism;
    bool paused;
    struct flow_limits limits;
};

static enum err do_set_queue(struct tx *tx, void *ctx)
{
    const struct gate_wish *h = ctx;
    struct gates g;
    int64_t id;
    enum err e = queue_id_of(tx, str_of(h->queue), now(), &id);

    if (!e)
        e = gates_lock(tx, id, (struct str){ 0 }, &g);
    if (!e)
        e = TX_DO(tx, STMT_qstash_queue_set, 1, V_INT(h->parallelism), V_INT(h->paused),
                  V_INT(now()), V_INT(id));
    g.queue.parallelism = h->parallelism;
    g.queue.paused = h->paused;
    return e ? e : gates_settle(&w.q, tx, &g, now());
}

static void set_queue(const char *name, int64_t parallelism, bool paused)
{
    must(do_set_queue,
         &(struct gate_wish){ .queue = name, .parallelism = parallelism, .paused = paused });
}

static enum err do_set_flow(struct tx *tx, void *ctx)
{
    const struct gate_wish *h = ctx;
    struct gates g;
    enum err e = gates_lock(tx, 0, str_of(h->flow), &g);

    if (e || !g.flow.key.n)
        return e;
    if (h->limits.period_s)
        g.flow.limits = h->limits;
    g.flow.paused = h->paused;
    e = TX_DO(tx, STMT_qstash_flow_set, 1, V_INT(g.flow.limits.parallelism),
              V_INT(g.flow.limits.rate), V_INT(g.flow.limits.period_s), V_INT(h->paused), V_INT(0),
              V_INT(0), V_TEXT(g.flow.key));
    return e ? e : gates_settle(&w.q, tx, &g, now());
}

static void pause_flow(const char *key, bool paused)
{
    must(do_set_flow, &(struct gate_wish){ .flow = key, .paused = paused });
}

static enum err do_cancel(struct tx *tx, void *ctx)
{
    int64_t count;

    return parcels_cancel(&w.q, tx, ctx, 1, &count);
}

static void cancel(int parcel)
{
    must(do_cancel, &w.ids[parcel]);
}

/* --- queues --- */

#define CALLBACK "{\"callback\":{\"url\":\"http://back.test/\"}}"

static void q9_in_a_queue_the_next_one_waits_for_the_head_and_its_retries(void **state)
{
    int a, b, c;

    begin(state);
    a = publish((struct wish){ .queue = "q", .retries = 2 });
    b = publish((struct wish){ .queue = "q" });
    c = publish((struct wish){ .queue = "q" });
    check("publish");
    assert_true(starts(a));
    assert_false(starts(b));
    ends(a, 500);
    check("a failed try");
    assert_false(starts(b));
    assert_false(starts(a)); /* not before its time */
    pass(1000);
    assert_true(starts(a));
    ends(a, 200);
    check("the end");
    assert_false(starts(c));
    assert_true(starts(b));
    ends(b, 489);
    assert_true(starts(c));
    ends(c, 200);
    check("all");
    assert_int_equal(ask("SELECT lag + running FROM qstash_queues"), 0);
    end();
}

static void q9_a_delayed_head_holds_the_queue(void **state)
{
    int a, b;

    begin(state);
    a = publish((struct wish){ .queue = "q", .delay_ms = 5000 });
    b = publish((struct wish){ .queue = "q" });
    assert_false(starts(b));
    assert_false(starts(a));
    pass(5000);
    assert_false(starts(b));
    assert_true(starts(a));
    ends(a, 200);
    assert_true(starts(b));
    end();
}

static void q9_parallelism_goes_up_and_down(void **state)
{
    begin(state);
    for (int i = 0; i < 12; i++)
        publish((struct wish){ .queue = "q" });
    try_all();
    assert_int_equal(under_way(), 1);
    set_queue("q", 3, false);
    check("up");
    try_all();
    assert_int_equal(under_way(), 3);
    set_queue("q", 2, false);
    check("down");
    ends(0, 200);
    try_all();
    assert_int_equal(under_way(), 2); /* whoever runs goes on; nobody joins them */
    ends(1, 200);
    try_all();
    assert_int_equal(under_way(), 2);
    assert_non_null(held_of(3)); /* in order */
    set_queue("q", 100, false);
    try_all();
    assert_int_equal(under_way(), 10);
    check("wide open");
    end();
}

static void q9_a_pause_holds_what_waits_and_what_is_between_two_tries(void **state)
{
    int a, b;

    begin(state);
    a = publish((struct wish){ .queue = "q", .retries = 3 });
    b = publish((struct wish){ .queue = "q" });
    assert_true(starts(a));
    set_queue("q", 1, true);
    ends(a, 500); /* what is under way ends */
    pass(1000);
    try_all();
    check("held between two tries");
    assert_int_equal(under_way(), 0);
    assert_int_equal(ask("SELECT count(*) FROM qstash_live WHERE place = 3"), 1);
    publish((struct wish){ .queue = "q" });
    set_queue("q", 1, true); /* again: nothing changes */
    check("twice");
    set_queue("q", 1, false);
    check("resumed");
    assert_false(starts(b));
    assert_true(starts(a)); /* it still has its slot */
    assert_int_equal(held_of(a)->live.retried, 1);
    ends(a, 200);
    assert_true(starts(b));
    end();
}

static void q9_callbacks_hold_the_slot_of_their_source(void **state)
{
    int a, b;

    begin(state);
    a = publish((struct wish){ .queue = "q", .callbacks = CALLBACK });
    b = publish((struct wish){ .queue = "q" });
    assert_true(starts(a));
    ends(a, 200);
    check("a callback was born");
    assert_false(starts(b));
    assert_int_equal(w.held_count, 1); /* the callback */
    assert_int_equal(ask("SELECT lag FROM qstash_queues"), 1);
    set_queue("q", 1, true);
    assert_int_equal(begin_held(w.held[0]), BEGIN_GO); /* it belongs to an attempt that was made */
    set_queue("q", 1, false);
    settle_held(w.held[0], 200, 0);
    check("it ended");
    assert_true(starts(b));
    end();
}

/* --- flow keys --- */

static const struct flow_limits two_at_a_time = { .parallelism = 2, .period_s = 1 };
static const struct flow_limits two_a_second = { .rate = 2, .period_s = 1 };

static void q9_a_flow_key_has_so_many_attempts_at_a_time(void **state)
{
    begin(state);
    for (int i = 0; i < 5; i++)
        publish((struct wish){ .flow = "k", .limits = two_at_a_time, .retries = 1 });
    assert_true(starts(0));
    assert_true(starts(1));
    try_all();
    check("three wait");
    assert_int_equal(ask("SELECT waiting FROM qstash_flows"), 3);
    ends(1, 500); /* the token is free between two tries */
    check("a failed try");
    assert_true(starts(2));
    ends(0, 200);
    assert_true(starts(3)); /* in order */
    pass(1000);
    assert_false(starts(1)); /* its retry waits like everybody else, */
    ends(2, 200);
    assert_true(starts(1)); /* but it came before number 4 */
    ends(3, 200);
    assert_true(starts(4));
    check("all under way");
    end();
}

static void q9_a_rate_is_so_many_starts_in_a_period(void **state)
{
    begin(state);
    for (int i = 0; i < 7; i++)
        publish((struct wish){ .flow = "k", .limits = two_a_second });
    for (int second = 0; second < 3; second++) {
        try_all();
        check("a period");
        assert_int_equal(under_way(), 2 * second + 2);
        pass(999);
        try_all();
        assert_int_equal(under_way(), 2 * second + 2);
        pass(1);
    }
    try_all();
    assert_int_equal(under_way(), 7);
    for (int i = 0; i < 7; i++)
        assert_non_null(held_of(i));
    end();
}

/* The window's message may be late: whoever comes after the period's end must not overtake. */
static void q9_a_period_that_is_over_serves_those_who_waited_first(void **state)
{
    int late, other;

    begin(state);
    late = publish((struct wish){ .flow = "k", .limits = two_a_second, .retries = 5 });
    publish((struct wish){ .flow = "k", .limits = two_a_second });
    assert_true(starts(late));
    assert_true(starts(1));
    settle_held(held_of(late), 500, 3000); /* it will be the oldest of all, and come last */
    for (int i = 0; i < 5; i++)
        publish((struct wish){ .flow = "k", .limits = two_a_second });
    other = publish((struct wish){ .flow = "k", .limits = two_a_second });
    try_all();
    pass(5000);
    check("nobody has looked at the new period yet");
    { /* lease without running the window: as if that message were on another node */
        static struct taking t;

        must(do_lease, &t);
        for (size_t i = 0; i < t.lease.count; i++)
            if (uuid_eq(t.messages[i].id, w.ids[late]))
                assert_int_equal(begin_held(hold(&t.messages[i])), BEGIN_WAIT);
        check("it met a closed gate");
        for (size_t i = 0; i < t.lease.count; i++)
            if (str_eq(t.messages[i].kind, QSTASH_WINDOW_KIND))
                must(do_window, &t.messages[i]);
    }
    check("the window");
    try_all();
    for (int i = 0; i < 10; i++) {
        pass(1000);
        try_all();
        check("a period");
    }
    assert_non_null(held_of(late));
    assert_non_null(held_of(other));
    assert_int_equal(under_way(), w.count);
    end();
}

/* PostgreSQL's clock was measured anew: between the fetch and the run of the window the time went
 * back. */
static void q9_a_window_before_its_time_is_followed_by_another(void **state)
{
    static struct taking t;
    int64_t due_ms;

    begin(state);
    for (int i = 0; i < 4; i++)
        publish((struct wish){ .flow = "k", .limits = two_a_second });
    try_all();
    assert_int_equal(under_way(), 2);
    pass(1000);
    due_ms = now();
    must(do_lease, &t);
    assert_int_equal(t.lease.count, 1);
    atomic_store(&rig_now_ms, due_ms - 60);
    must(do_window, &t.messages[0]);
    check("the early window");
    try_all();
    assert_int_equal(under_way(), 2);
    atomic_store(&rig_now_ms, due_ms);
    try_all();
    assert_int_equal(under_way(), 4);
    end();
}

static enum err do_drop_due(struct tx *tx, void *ctx)
{
    struct taking *t = ctx;
    enum err e = do_lease(tx, t);

    for (size_t i = 0; i < t->lease.count && !e; i++)
        e = queue_finish(NULL, tx, &t->messages[i]);
    return e;
}

/* However it was lost (a dead letter that somebody deleted), the next one who comes sees to it. */
static void q9_a_window_that_never_came_is_not_waited_for(void **state)
{
    const struct flow_limits two_an_hour = { .rate = 2, .period_s = 3600 };
    static struct taking t;

    begin(state);
    for (int i = 0; i < 9; i++)
        publish((struct wish){ .flow = "k", .limits = two_an_hour });
    try_all();
    pass(3600 * 1000);
    must(do_drop_due, &t);
    assert_int_equal(t.lease.count, 1);
    pass(6000);
    publish((struct wish){ .flow = "k", .limits = two_an_hour });
    check("somebody came");
    for (int hour = 2; hour <= 5; hour++) {
        try_all();
        assert_int_equal(under_way(), 2 * hour);
        pass(3600 * 1000);
    }
    end();
}

/* A window that is late is planned again by whoever comes; then there are two, but not for ever. */
static void q9_windows_do_not_multiply(void **state)
{
    static struct taking t;

    begin(state);
    for (int i = 0; i < 100; i++)
        publish((struct wish){ .flow = "k", .limits = two_a_second });
    try_all();
    for (int i = 0; i < 5; i++) {
        pass(1000);
        must(do_lease, &t);
        pass(6000);
        publish((struct wish){ .flow = "k", .limits = two_a_second });
        for (size_t k = 0; k < t.lease.count; k++)
            if (str_eq(t.messages[k].kind, QSTASH_WINDOW_KIND))
                must(do_window, &t.messages[k]);
        check("a late window");
        assert_int_equal(ask("SELECT count(*) FROM message WHERE kind = 'qstash.window'"), 1);
    }
    end();
}

static void q9_a_flow_key_can_be_paused(void **state)
{
    begin(state);
    for (int i = 0; i < 3; i++)
        publish((struct wish){ .flow = "k", .limits = two_a_second });
    pause_flow("k", true);
    try_all();
    check("paused");
    assert_int_equal(under_way(), 0);
    pause_flow("k", false);
    check("resumed");
    try_all();
    assert_int_equal(under_way(), 2);
    pass(1000);
    try_all();
    assert_int_equal(under_way(), 3);
    end();
}

/* Killed between begin and settle: the attempt goes on with what it had. */
static void q7_slots_and_tokens_survive_a_crash(void **state)
{
    begin(state);
    for (int i = 0; i < 4; i++)
        publish((struct wish){ .queue = "q", .flow = "k", .limits = { 1, 100, 3600 } });
    set_queue("q", 2, false);
    assert_true(starts(0));
    assert_false(starts(1)); /* it has a slot and no token */
    for (int i = 0; i < 5; i++) {
        crash();
        check("a crash");
        lease();
        assert_int_equal(begin_held(held_of(0)), BEGIN_GO);
        assert_int_equal(held_of(0)->live.retried, 0);
        assert_int_equal(ask("SELECT running FROM qstash_flows"), 1);
        assert_int_equal(ask("SELECT started FROM qstash_flows"), 1);
        assert_int_equal(ask("SELECT running FROM qstash_queues"), 2);
    }
    ends(0, 200);
    assert_true(starts(1));
    check("on it goes");
    end();
}

/* A destination that is down must not keep the key's tokens, nor eat up its rate. */
static void q9_who_is_put_off_gives_its_token_back(void **state)
{
    begin(state);
    for (int i = 0; i < 3; i++)
        publish((struct wish){ .flow = "k", .limits = { 1, 2, 60 } });
    assert_true(starts(0));
    try_all(); /* 1 and 2 wait */
    ends(0, 200);
    lease();
    assert_non_null(held_of(1)); /* it was given the token, */
    yield_held(held_of(1));      /* but its destination is not to be called now */
    check("a yield");
    assert_int_equal(ask("SELECT started FROM qstash_flows"), 2);
    assert_true(starts(2));
    ends(2, 200);
    pass(5000);
    assert_false(starts(1)); /* two starts this minute */
    pass(60000);
    assert_true(starts(1));
    ends(1, 200);
    check("all");
    end();
}

static void who_was_cancelled_meanwhile_does_not_wait_at_a_gate(void **state)
{
    struct beginning b = { .verdict = BEGIN_WAIT };

    begin(state);
    publish((struct wish){ .flow = "k", .limits = { 1, 0, 1 } });
    publish((struct wish){ .flow = "k", .limits = { 1, 0, 1 } });
    assert_true(starts(0));
    lease();
    b.held = held_of(1);
    must(do_begin, &b);
    assert_int_equal(b.verdict, BEGIN_WAIT);
    cancel(1);
    must(do_end_without_call, &b);
    drop_held(index_of(b.held));
    check("cancelled");
    assert_int_equal(ask("SELECT count(*) FROM qstash_live"), 1);
    end();
}

/* --- anything, in any order --- */

static struct rng dice;

static int roll(int n)
{
    return (int)rng_below(&dice, (uint64_t)n);
}

static void random_publish(void)
{
    static const char *const queues[] = { NULL, "q1", "q2" }, *const keys[] = { NULL, "k1", "k2" };
    static const struct flow_limits limits[] = {
        { 2, 0, 1 }, { 0, 3, 2 }, { 2, 4, 1 }, { 1, 0, 1 }
    };
    static const char *const callbacks[] = {
        NULL, NULL, CALLBACK, "{\"failure\":{\"url\":\"http://back.test/\",\"retries\":1}}"
    };

    publish((struct wish){ .queue = queues[roll(3)],
                           .flow = keys[roll(3)],
                           .limits = limits[roll(COUNT(limits))],
                           .delay_ms = roll(4) ? 0 : roll(3000),
                           .retries = roll(3),
                           .callbacks = callbacks[roll(COUNT(callbacks))] });
}

static void random_end(void)
{
    static const int statuses[] = { 200, 200, 200, 500, 489, 0 };
    struct held *h;

    if (!w.held_count)
        return;
    h = w.held[roll(w.held_count)];
    if (h->goes)
        settle_held(h, statuses[roll(COUNT(statuses))], roll(2000));
    else if (roll(4))
        begin_held(h);
    else
        yield_held(h);
}

static const char *random_step(void)
{
    switch (roll(16)) {
    case 0:
    case 1:
    case 2:
    case 3: random_publish(); return "publish";
    case 4:
    case 5: lease(); return "lease";
    case 6: try_all(); return "begin";
    case 7:
        if (w.count)
            cancel(roll(w.count));
        return "cancel";
    case 8: set_queue(roll(2) ? "q1" : "q2", 1 + roll(4), roll(3) == 0); return "upsert";
    case 9: pause_flow(roll(2) ? "k1" : "k2", roll(3) == 0); return "flow pause";
    case 10: pass(roll(1500)); return "time";
    case 11:
        if (roll(20) == 0)
            crash();
        return "crash";
    default: random_end(); return "end";
    }
}

static void open_all(void)
{
    set_queue("q1", 3, false);
    set_queue("q2", 1, false);
    pause_flow("k1", false);
    pause_flow("k2", false);
}

static void q9_counts_agree_after_every_step_and_nobody_waits_for_ever(void **state)
{
    int steps = STEPS;

    begin(state);
    if (w.rig->postgres)
        steps /= 2;
    rng_init_seeded(&dice, 2026);
    for (int i = 0; i < steps; i++) {
        const char *step = random_step();
        char after[64];

        snprintf(after, sizeof(after), "step %d: %s", i, step);
        check(after);
    }
    open_all();
    for (int round = 0; ask("SELECT count(*) FROM qstash_live"); round++) {
        if (round == 5000)
            fail_msg("%lld parcels wait for ever",
                     (long long)ask("SELECT count(*) FROM qstash_live"));
        try_all();
        for (int i = w.held_count; i-- > 0;)
            if (i < w.held_count && w.held[i]->goes)
                settle_held(w.held[i], 200, 0);
        check("the end");
        pass(1000);
    }
    assert_true(ask("SELECT count(*) FROM qstash_log WHERE state = 5") > steps / 10);
    assert_int_equal(ask("SELECT coalesce(sum(running + lag), 0) FROM qstash_queues"), 0);
    assert_int_equal(ask("SELECT coalesce(sum(running + waiting), 0) FROM qstash_flows"), 0);
    end();
}

#define ALL(ON)                                                                                    \
    ON(q9_in_a_queue_the_next_one_waits_for_the_head_and_its_retries),                             \
        ON(q9_a_delayed_head_holds_the_queue), ON(q9_parallelism_goes_up_and_down),                \
        ON(q9_a_pause_holds_what_waits_and_what_is_between_two_tries),                             \
        ON(q9_callbacks_hold_the_slot_of_their_source),                                            \
        ON(q9_a_flow_key_has_so_many_attempts_at_a_time),                                          \
        ON(q9_a_rate_is_so_many_starts_in_a_period),                                               \
        ON(q9_a_period_that_is_over_serves_those_who_waited_first),                                \
        ON(q9_a_window_before_its_time_is_followed_by_another),                                    \
        ON(q9_a_window_that_never_came_is_not_waited_for), ON(q9_windows_do_not_multiply),         \
        ON(q9_a_flow_key_can_be_paused), ON(q7_slots_and_tokens_survive_a_crash),                  \
        ON(q9_who_is_put_off_gives_its_token_back),                                                \
        ON(who_was_cancelled_meanwhile_does_not_wait_at_a_gate),                                   \
        ON(q9_counts_agree_after_every_step_and_nobody_waits_for_ever)

int main(void)
{
    const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
