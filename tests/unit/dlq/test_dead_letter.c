/* Dead letters as records: attempts, filters and pages, retrying and deleting, one and many (Q6).
 */
#include "dlq/dead_letter.h"
#include "unit/queue/rig.h"

enum { BUDGET = 2 }; /* retries, so three attempts */

static struct {
    struct rig *rig;
    struct arena arena;
    struct dead_letters letters;
    struct dead_kind kinds[1];
    bool broken; /* the job "work" fails */
    char ran[256];
} w;

static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;

/* --- the world --- */

static enum err work(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx, (void)ctx;
    if (w.broken)
        return why_err(why, ERR_UNAVAILABLE, "Broken, attempt %d", (int)m->attempt);
    pthread_mutex_lock(&at_work); /* PostgreSQL has several connections */
    snprintf(w.ran + strlen(w.ran), sizeof(w.ran) - strlen(w.ran), STR_FMT " ", STR_ARG(m->ref));
    pthread_mutex_unlock(&at_work);
    return OK;
}

static void begin(void **state)
{
    static struct job_kind kinds[3];
    static const struct retry_policy policy = { .retries = BUDGET, .first_ms = 1000, .factor = 2 };

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.broken = true;
    arena_init(&w.arena, 8 << 20);
    kinds[0] = (struct job_kind){ .name = "work", .run = work, .retry = policy };
    kinds[1] = (struct job_kind){ .name = "op", .run = work, .retry = policy };
    kinds[2] = (struct job_kind){ .name = "stripe.event", .run = work, .retry = policy };
    rig_queue(w.rig, 0,
              (struct queue_options){
                  .kinds = kinds, .kind_count = COUNT(kinds), .buried = dead_letter_note });
    w.letters =
        (struct dead_letters){ .env = &w.rig->env[0], .queue = w.rig->queue[0], .kinds = w.kinds };
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
}

static void end(void)
{
    arena_release(&w.arena);
}

struct adding {
    struct queue_new m[8];
    size_t n;
};

static enum err do_add(struct tx *tx, void *ctx)
{
    struct adding *a = ctx;

    return queue_add(w.rig->queue[0], tx, env_now_ms(&w.rig->env[0]), a->m, a->n);
}

static struct uuid add(const char *kind, const char *ref, int64_t lane, const char *body)
{
    struct env *env = &w.rig->env[0];
    struct adding a = { .n = 1 };

    a.m[0] = (struct queue_new){ .id = env_uuid(env),
                                 .kind = str_of(kind),
                                 .ref = str_of(ref),
                                 .body = str_of(body),
                                 .has_lane = lane,
                                 .lane = lane,
                                 .due_ms = env_now_ms(env) };
    assert_int_equal(rig_do(w.rig, 0, do_add, &a), OK);
    return a.m[0].id;
}

static void spend(void) /* until nothing waits for its next attempt */
{
    rig_settle(w.rig);
    for (int i = 0; i < 8; i++)
        rig_pass(w.rig, 1000);
}

static const char *hex_of(struct uuid id)
{
    static char text[64];
    size_t n = 0;

    for (size_t i = 0; i < sizeof(id.b); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", id.b[i]);
    return text;
}

/* Letter number i, straight into the table. */
static struct uuid put(int i, const char *kind, const char *ref, const char *reason, int64_t died)
{
    struct uuid id = { { 1, 2, 3, 4, 5, 6, 0x70, 0, 0x80, 0, 0, 0, 0, 0, (unsigned char)(i >> 8),
                         (unsigned char)i } };
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO dead_letters (id, kind, ref, body, reason, attempts, added_at, died_at)"
             " VALUES (%s%s%s, '%s', '%s', 'b', '%s', 3, 1, %lld)",
             w.rig->postgres ? "'\\x" : "x'", hex_of(id), w.rig->postgres ? "'::bytea" : "'", kind,
             ref, reason, (long long)died);
    sql_int(w.rig, sql);
    return id;
}

static int64_t dead(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM dead_letters");
}

static int64_t live(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message");
}

/* --- asking --- */

static enum err do_step(struct tx *tx, void *ctx)
{
    return dead_act_step(tx, ctx);
}

static struct dead_act act_with(enum dead_verb verb)
{
    return (struct dead_act){ .letters = &w.letters, .verb = verb, .limit = 1000, .by = "a test" };
}

static int act(struct dead_act *a) /* how many units it took */
{
    int units = 0;

    assert_int_equal(dead_act_begin(a, &w.arena), OK);
    do
        units++;
    while (dead_act_took(a, rig_do(w.rig, 0, do_step, a)));
    return units;
}

static struct dead_act retry_all(void)
{
    struct dead_act a = act_with(DEAD_RETRY);

    act(&a);
    assert_int_equal(a.err, OK);
    return a;
}

struct reading {
    struct dead_filter filter;
    const struct dead_cursor *cursor;
    int limit;
    struct uuid id;
    struct str json;
};

static enum err do_page(struct tx *tx, void *ctx)
{
    struct reading *g = ctx;

    return dead_page(tx, &w.arena, &g->filter, g->cursor, g->limit, &g->json);
}

static enum err do_show(struct tx *tx, void *ctx)
{
    struct reading *g = ctx;

    return dead_show(tx, &w.arena, &w.letters, g->id, &g->json);
}

static const char *page(struct dead_filter f)
{
    struct reading g = { .filter = f, .limit = 100 };

    assert_int_equal(rig_do(w.rig, 0, do_page, &g), OK);
    return arena_cstr(&w.arena, g.json);
}

static const char *shown(struct uuid id)
{
    struct reading g = { .id = id };

    assert_int_equal(rig_do(w.rig, 0, do_show, &g), OK);
    return arena_cstr(&w.arena, g.json);
}

static int count_of(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* --- attempts --- */

static void q6_every_failed_attempt_is_kept_and_none_of_what_goes_well(void **state)
{
    char text[256];
    struct uuid id;

    begin(state);
    id = add("work", "a", 0, "{\"x\":1}");
    spend();
    assert_int_equal(dead(), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_failures"), BUDGET + 1);
    sql_text(w.rig,
             "SELECT attempt || '/' || error FROM message_failures ORDER BY seq DESC LIMIT 1", text,
             sizeof(text));
    assert_string_equal(text, "3/Broken, attempt 3");
    assert_int_equal(sql_int(w.rig, "SELECT max(at) - min(at) FROM message_failures"), 3000);
    assert_non_null(strstr(shown(id), "\"payload\":{\"x\":1}"));
    assert_int_equal(count_of(shown(id), "\"error\":\"Broken, attempt "), BUDGET + 1);
    w.broken = false;
    add("work", "b", 0, "");
    spend();
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_failures"), BUDGET + 1);
    end();
}

static void a6_a_payload_that_is_no_json_shows_no_card(void **state)
{
    struct uuid id;

    begin(state);
    id = add("work", "c", 0, "no JSON 4242424242424242, cvc=123");
    spend();
    assert_non_null(strstr(shown(id), "\"payload\":\"no JSON ************4242, cvc=***\""));
    end();
}

/* What a kind keeps elsewhere; "gone": it has it no more. */
static enum err own_show(struct tx *tx, void *ctx, const struct dead_letter *d, struct buf *b)
{
    (void)tx, (void)ctx;
    if (str_eq(d->ref, S("gone")))
        return ERR_NOT_FOUND;
    if (str_eq(d->ref, S("broken"))) {
        buf_add(b, S("half a"));
        return ERR_UNAVAILABLE;
    }
    buf_add(b, S(",\"payload\":\"its own\",\"failures\":[]"));
    return OK;
}

static bool own_id(struct str text, struct uuid *ret_id)
{
    *ret_id = (struct uuid){ { 7 } };
    return str_eq(text, S("seven"));
}

static void q6_a_kind_shows_what_it_keeps_elsewhere(void **state)
{
    struct reading g;
    struct uuid id;

    begin(state);
    w.kinds[0] = (struct dead_kind){ .name = "work", .show = own_show, .parse = own_id };
    w.letters.kind_count = 1;
    assert_non_null(
        strstr(shown(put(1, "work", "here", "old", 1000)),
               "\"payload\":\"its own\",\"failures\":[],\"event\":null,\"editable\":false"));
    assert_non_null(strstr(shown(put(2, "work", "gone", "old", 1000)), "\"payload\":\"b\""));
    assert_non_null(strstr(shown(put(3, "op", "here", "old", 1000)), "\"payload\":\"b\""));
    g = (struct reading){ .id = put(4, "work", "broken", "old", 1000) };
    assert_int_equal(rig_do(w.rig, 0, do_show, &g), ERR_UNAVAILABLE);

    assert_true(dead_id_read(&w.letters, S("seven"), &id));
    assert_int_equal(id.b[0], 7);
    assert_true(dead_id_read(&w.letters, S("0199f3c0-0000-7000-8000-00000000000a"), &id));
    assert_int_equal(id.b[15], 10);
    assert_false(dead_id_read(&w.letters, S("eight"), &id));
    end();
}

static enum err do_expire(struct tx *tx, void *ctx)
{
    return dead_failures_expire(tx, 90 * INT64_C(86400000) + 1000, ctx);
}

static void q6_attempts_are_forgotten_after_90_days_some_at_a_time(void **state)
{
    bool more = false;

    begin(state);
    for (int i = 0; i < 210; i++) {
        char sql[160];

        snprintf(sql, sizeof(sql),
                 "INSERT INTO message_failures (message_id, attempt, at, error) VALUES (%s, 1, %d,"
                 " 'e')",
                 w.rig->postgres ? "'\\x00'" : "x'00'", i < 205 ? 999 : 1000);
        sql_int(w.rig, sql);
    }
    assert_int_equal(rig_do(w.rig, 0, do_expire, &more), OK);
    assert_true(more);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_failures"), 10);
    assert_int_equal(rig_do(w.rig, 0, do_expire, &more), OK);
    assert_false(more);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_failures"), 5);
    end();
}

/* --- retrying --- */

static void q6_a_retried_letter_keeps_its_id_and_has_a_fresh_budget(void **state)
{
    char before[64], after[64];
    struct dead_act a;

    begin(state);
    add("work", "a", 0, "body");
    spend();
    sql_text(w.rig, "SELECT id FROM dead_letters", before, sizeof(before));
    a = retry_all();
    assert_int_equal(a.matched, 1);
    assert_int_equal(a.done, 1);
    assert_int_equal(dead(), 0);
    spend();
    sql_text(w.rig, "SELECT id FROM dead_letters WHERE attempts = 3 AND body = 'body'", after,
             sizeof(after));
    assert_string_equal(before, after);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_failures"), 2 * (BUDGET + 1));
    w.broken = false;
    retry_all();
    spend();
    assert_string_equal(w.ran, "a ");
    assert_int_equal(dead() + live(), 0);
    assert_int_equal(
        sql_int(w.rig,
                "SELECT count(*) FROM audit WHERE operation = 'DLQ_RETRY' AND subject = 'a'"),
        2);
    end();
}

static void q8_letters_of_a_lane_come_back_in_their_order(void **state)
{
    begin(state);
    add("work", "a1", 7, "");
    add("work", "a2", 7, "");
    add("work", "b1", 9, "");
    spend();
    spend();
    assert_int_equal(dead(), 3);
    w.broken = false;
    retry_all();
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message WHERE lane = 7 AND ready = 1"),
                     1);
    spend();
    assert_true(strstr(w.ran, "a1 ") < strstr(w.ran, "a2 "));
    assert_int_equal(dead() + live(), 0);
    end();
}

/* SQLite gives the same seq again, and the attempts begin at 1 again. */
static void q7_a_worker_of_an_earlier_life_fails_at_the_fence(void **state)
{
    int64_t seq;

    begin(state);
    add("work", "a", 0, "");
    seq = sql_int(w.rig, "SELECT seq FROM message");
    spend();
    w.rig->queue[0]->o.kind_count = 0;
    retry_all();
    assert_true(sql_int(w.rig, "SELECT seq FROM message") > seq);
    end();
}

static void q6_what_dies_again_is_not_taken_twice_by_one_act(void **state)
{
    struct dead_act a;

    begin(state);
    for (int i = 0; i < 120; i++)
        put(i, "work", "r", "old", 1000 + i);
    a = act_with(DEAD_RETRY);
    assert_int_equal(dead_act_begin(&a, &w.arena), OK);
    assert_true(dead_act_took(&a, rig_do(w.rig, 0, do_step, &a)));
    assert_int_equal(a.done, LIMIT_DEAD_STEP);
    spend(); /* all of them are dead again, and later */
    assert_int_equal(dead(), 120);
    while (dead_act_took(&a, rig_do(w.rig, 0, do_step, &a)))
        ;
    assert_int_equal(a.done, 120);
    assert_false(a.more);
    end();
}

static void q6_an_event_that_is_tried_again_is_pending_again(void **state)
{
    struct uuid id;
    char sql[512];

    begin(state);
    id = add("stripe.event", "evt_1", 0, "{}");
    snprintf(sql, sizeof(sql),
             "INSERT INTO webhook_events (provider, stripe_event_id, type, received_at, message_id,"
             " request_id, trace, body) VALUES ('stripe', 'evt_1', 'a.b', 1, %s%s', '', '', %s)",
             w.rig->postgres ? "'\\x" : "x'", hex_of(id),
             w.rig->postgres ? "'\\x7b7d'" : "x'7b7d'");
    sql_int(w.rig, sql);
    spend();
    snprintf(sql, sizeof(sql),
             "INSERT INTO webhook_outcomes (message_id, outcome, at) VALUES (%s%s', 'dead', 1)",
             w.rig->postgres ? "'\\x" : "x'", hex_of(id));
    sql_int(w.rig, sql);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM failed_webhook_events WHERE event_id ="
                                    " 'evt_1' AND event_type = 'a.b' AND attempts = 3"),
                     1);
    w.broken = false;
    retry_all();
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM webhook_outcomes"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM failed_webhook_events"), 0);
    end();
}

/* --- many --- */

static void q6_an_act_goes_in_small_units_and_its_cursor_goes_on(void **state)
{
    struct dead_act a, b;

    begin(state);
    for (int i = 0; i < 250; i++)
        put(i, "elsewhere", "r", "old", 1000 + i / 7);
    a = act_with(DEAD_DELETE);
    a.limit = 120;
    assert_int_equal(act(&a), 2);
    assert_int_equal(a.done, 120);
    assert_true(a.more);
    assert_int_equal(sql_int(w.rig, "SELECT min(died_at) FROM dead_letters"), 1017);
    b = act_with(DEAD_DELETE);
    b.has_cursor = true;
    b.cursor = a.cursor;
    act(&b);
    assert_int_equal(b.done, 130);
    assert_false(b.more);
    assert_int_equal(dead(), 0);
    end();
}

static void q6_a_dry_run_counts_and_changes_nothing(void **state)
{
    struct dead_act a;

    begin(state);
    for (int i = 0; i < 250; i++)
        put(i, "work", "r", "old", 1000 + i);
    a = act_with(DEAD_RETRY);
    a.dry_run = true;
    assert_int_equal(act(&a), 1);
    assert_int_equal(a.matched, 250);
    assert_int_equal(a.done, 0);
    a = act_with(DEAD_DELETE);
    a.dry_run = true;
    a.limit = 7;
    act(&a);
    assert_int_equal(a.matched, 7);
    assert_true(a.more);
    assert_int_equal(dead(), 250);
    assert_int_equal(live(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit"), 0);
    end();
}

static void q6_ids_may_be_unknown_or_named_twice(void **state)
{
    struct dead_act a;
    struct uuid ids[3];

    begin(state);
    w.broken = false;
    ids[0] = ids[1] = put(1, "work", "r1", "old", 1000);
    ids[2] = (struct uuid){ { 9 } };
    put(2, "work", "r2", "old", 1000);
    a = act_with(DEAD_RETRY);
    a.ids = ids;
    a.id_count = 3;
    act(&a);
    assert_int_equal(a.err, OK);
    assert_int_equal(a.matched, 1);
    assert_int_equal(a.done, 1);
    assert_int_equal(dead(), 1);
    rig_settle(w.rig);
    assert_string_equal(w.ran, "r1 ");
    end();
}

static enum err own_way(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                        bool *ret_live, struct why *why)
{
    (void)tx, (void)ctx, (void)now_ms;
    if (str_eq(d->ref, S("refused")))
        return why_err(why, ERR_UNPROCESSABLE, "no: it is what it is");
    *ret_live = str_eq(d->ref, S("own"));
    return str_eq(d->ref, S("broken")) ? ERR_CONSTRAINT : OK;
}

static void q12_one_letter_does_not_keep_the_others(void **state)
{
    struct dead_act a;

    begin(state);
    w.broken = false;
    w.kinds[0] = (struct dead_kind){ .name = "work", .retry = own_way };
    w.letters.kind_count = 1;
    put(1, "work", "first", "old", 1000);
    put(2, "work", "refused", "old", 1001);
    put(3, "work", "broken", "old", 1002);
    put(4, "work", "own", "old", 1003);
    put(5, "work", "last", "old", 1004);
    a = retry_all();
    assert_int_equal(a.matched, 5);
    assert_int_equal(a.done, 3);
    assert_int_equal(a.refused, 2);
    assert_string_equal(a.refusals[0].why, "no: it is what it is");
    assert_string_equal(a.refusals[1].why, "The database refused the change.");
    assert_int_equal(dead(), 2);
    rig_settle(w.rig);
    assert_non_null(strstr(w.ran, "first "));
    assert_non_null(strstr(w.ran, "last "));
    assert_int_equal(strlen(w.ran), 11);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit"), 3);
    end();
}

static void q6_deleting_takes_the_attempts_along(void **state)
{
    struct dead_act a;

    begin(state);
    add("work", "a", 0, "");
    add("work", "b", 0, "");
    spend();
    a = act_with(DEAD_DELETE);
    a.filter.ref = S("a");
    act(&a);
    assert_int_equal(a.done, 1);
    assert_int_equal(dead(), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_failures"), BUDGET + 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'DLQ_DELETE' AND"
                                    " subject = 'a' AND detail LIKE 'by a test: work %'"),
                     1);
    end();
}

/* --- finding --- */

static void q6_a_letter_knows_its_payment(void **state)
{
    static const char payment[] = "0199f3c0-0000-7000-8000-00000000000a";
    struct dead_filter f = { .has_payment = true };

    begin(state);
    assert_true(uuid_parse(str_of(payment), &f.payment));
    add("op", payment, 0, "");
    add("stripe.event", "evt_1", 0, "{\"payment\":\"0199f3c0-0000-7000-8000-00000000000a\"}");
    add("stripe.event", "evt_2", 0, "{\"payment\":\"order 12\"}");
    add("stripe.event", "evt_3", 0, "not JSON");
    add("work", payment, 0, "");
    spend();
    assert_int_equal(dead(), 5);
    assert_int_equal(count_of(page(f), payment), 3); /* as paymentId twice, once as ref */
    assert_non_null(strstr(page(f), "\"eventId\":\"evt_1\""));
    f.kind = S("op");
    assert_int_equal(count_of(page(f), "\"id\":"), 1);
    end();
}

static void q6_filters_find_what_fits_and_nothing_else(void **state)
{
    static const struct {
        const char *why;
        struct dead_filter f;
        const char *refs;
    } rows[] = {
        { "all, newest first", { .from_ms = 0 }, "e5 e4 e3 e2 e1" },
        { "kind", { .kind = { "a", 1 } }, "e5 e3 e1" },
        { "no such kind", { .kind = { "c", 1 } }, "" },
        { "ref", { .ref = { "e2", 2 } }, "e2" },
        { "a part of the reason, in either case", { .reason = { "TIMEOUT", 7 } }, "e5 e2" },
        { "reason and kind", { .reason = { "timeout", 7 }, .kind = { "b", 1 } }, "e2" },
        { "from is part of it", { .from_ms = 1003 }, "e5 e4 e3" },
        { "to is not", { .to_ms = 1003 }, "e2 e1" },
        { "both", { .from_ms = 1002, .to_ms = 1005 }, "e4 e3 e2" },
        { "times and kind", { .from_ms = 1002, .to_ms = 1005, .kind = { "a", 1 } }, "e3" },
        { "a payment that nobody knows", { .has_payment = true }, "" },
    };
    char ref[8] = "e0";

    begin(state);
    for (int i = 1; i <= 5; i++) {
        ref[1] = (char)('0' + i);
        put(i, i % 2 ? "a" : "b", ref,
            i == 2   ? "Timeout of it"
            : i == 5 ? "a timeout"
                     : "else",
            1000 + i);
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *text = page(rows[i].f);
        struct dead_act a = act_with(DEAD_DELETE);
        char refs[64] = "";

        for (const char *at = text; (at = strstr(at, "\"ref\":\"")); at += 7)
            snprintf(refs + strlen(refs), sizeof(refs) - strlen(refs), "%s%.2s", refs[0] ? " " : "",
                     at + 7);
        if (strcmp(refs, rows[i].refs) != 0)
            fail_msg("%s: %s", rows[i].why, refs);
        a.filter = rows[i].f; /* an act means the same letters as a list */
        a.dry_run = true;
        act(&a);
        if ((size_t)a.matched != (strlen(rows[i].refs) + 1) / 3)
            fail_msg("%s: an act takes %d", rows[i].why, (int)a.matched);
    }
    end();
}

static bool next_cursor(struct str json, struct dead_cursor *ret_cursor)
{
    static const char name[] = "\"nextCursor\":\"";
    const char *at = strstr(arena_cstr(&w.arena, json), name);

    return at &&
           dead_cursor_read((struct str){ at + sizeof(name) - 1, DEAD_CURSOR_TEXT }, ret_cursor);
}

static void pages_show_each_once(struct dead_filter f, int limit, int letters)
{
    struct reading g = { .filter = f, .limit = limit };
    struct dead_cursor at;
    int seen = 0, pages = 0;

    do {
        arena_release(&w.arena);
        assert_int_equal(rig_do(w.rig, 0, do_page, &g), OK);
        seen += count_of(arena_cstr(&w.arena, g.json), "\"id\":");
        g.cursor = &at;
        pages++;
    } while (next_cursor(g.json, &at));
    assert_int_equal(seen, letters);
    assert_true(pages <= letters / limit + 3);
}

static void q6_pages_show_each_letter_once(void **state)
{
    begin(state);
    for (int i = 0; i < 23; i++)
        put(i, i % 2 ? "a" : "b", "r", i % 3 ? "one" : "other", 1000 + i / 5);
    pages_show_each_once((struct dead_filter){ 0 }, 5, 23);
    pages_show_each_once((struct dead_filter){ .kind = S("a") }, 2, 11);
    pages_show_each_once((struct dead_filter){ .reason = S("other") }, 3, 8);
    end();
}

/* What fits little is looked for in stretches; the cursor goes on through empty pages. */
static void q6_a_page_looks_at_a_stretch_and_no_further(void **state)
{
    struct reading g = { .filter = { .reason = S("needle") }, .limit = 10 };
    struct dead_cursor at;
    char sql[512];

    begin(state);
    snprintf(sql, sizeof(sql), "%s",
             w.rig->postgres
                 ? "INSERT INTO dead_letters (id, kind, reason, attempts, added_at, died_at)"
                   " SELECT decode(md5(i::text), 'hex'), 'k', 'hay', 1, 1, 5000 + i"
                   " FROM generate_series(1, 2500) i"
                 : "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)"
                   " INSERT INTO dead_letters (id, kind, reason, attempts, added_at, died_at)"
                   " SELECT randomblob(16), 'k', 'hay', 1, 1, 5000 + i FROM n");
    sql_int(w.rig, sql);
    put(1, "k", "r", "the needle", 1000);
    assert_int_equal(rig_do(w.rig, 0, do_page, &g), OK);
    assert_int_equal(count_of(arena_cstr(&w.arena, g.json), "\"id\":"), 0);
    assert_true(next_cursor(g.json, &at));
    g.cursor = &at;
    assert_int_equal(rig_do(w.rig, 0, do_page, &g), OK);
    assert_int_equal(count_of(arena_cstr(&w.arena, g.json), "\"id\":"), 1);
    assert_false(next_cursor(g.json, &at));
    end();
}

static void a_cursor_of_another_make_is_refused(void **state)
{
    static const char *const bad[] = { "", "x", "0000000000000000000000000000000000000000000000",
                                       "===========================================" };
    struct dead_cursor c;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(dead_cursor_read(str_of(bad[i]), &c));
}

#define ALL(ON)                                                                                    \
    ON(q6_every_failed_attempt_is_kept_and_none_of_what_goes_well),                                \
        ON(a6_a_payload_that_is_no_json_shows_no_card),                                            \
        ON(q6_a_kind_shows_what_it_keeps_elsewhere),                                               \
        ON(q6_attempts_are_forgotten_after_90_days_some_at_a_time),                                \
        ON(q6_a_retried_letter_keeps_its_id_and_has_a_fresh_budget),                               \
        ON(q8_letters_of_a_lane_come_back_in_their_order),                                         \
        ON(q7_a_worker_of_an_earlier_life_fails_at_the_fence),                                     \
        ON(q6_what_dies_again_is_not_taken_twice_by_one_act),                                      \
        ON(q6_an_event_that_is_tried_again_is_pending_again),                                      \
        ON(q6_an_act_goes_in_small_units_and_its_cursor_goes_on),                                  \
        ON(q6_a_dry_run_counts_and_changes_nothing), ON(q6_ids_may_be_unknown_or_named_twice),     \
        ON(q12_one_letter_does_not_keep_the_others), ON(q6_deleting_takes_the_attempts_along),     \
        ON(q6_a_letter_knows_its_payment), ON(q6_filters_find_what_fits_and_nothing_else),         \
        ON(q6_pages_show_each_letter_once), ON(q6_a_page_looks_at_a_stretch_and_no_further),       \
        ON(a_cursor_of_another_make_is_refused)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
