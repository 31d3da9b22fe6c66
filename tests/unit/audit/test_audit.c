/* The audit log's chain (O6): bytes that never change, rows that are sealed once whatever order
 * they become visible in, and every way in which somebody may have had his hands on them. */
#include "audit/row.h"
#include "audit/seal.h"
#include "audit/verify.h"
#include "base/hex.h"
#include "unit/queue/rig.h"

static struct {
    struct rig *rig;
} w;

/* --- bytes --- */

static void o6_the_bytes_of_a_row_are_those_of_the_documentation(void **state)
{
    static const char user[] = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f";
    char payment[16], key[16], hex[2 * AUDIT_HASH + 1] = "";
    unsigned char hash[AUDIT_HASH] = { 0 };
    struct val first[AUDIT_COLUMNS], second[AUDIT_COLUMNS];

    (void)state;
    memset(payment, 0xff, sizeof(payment));
    memset(key, 7, sizeof(key));
    memcpy(first,
           (struct val[]){ V_INT(1), V_INT(1760000000000), V_TEXT(S("CREATE")), V_TEXT(S("p")),
                           V_TEXT(S("success")), V_INT(1), V_NULL,
                           V_BLOB(((struct str){ user, 16 })),
                           V_BLOB(((struct str){ payment, 16 })), V_INT(1200),
                           V_BLOB(((struct str){ key, 16 })) },
           sizeof(first));
    memcpy(second,
           (struct val[]){ V_INT(2), V_INT(-5), V_TEXT(S("支払い")), V_NULL, V_TEXT(S("failure")),
                           V_INT(3), V_TEXT(S("")), V_NULL, V_NULL, V_NULL, V_NULL },
           sizeof(second));
    /* by Python's hashlib, from the words in audit_row.h */
    audit_link(hash, first, hash);
    hex_put(hex, hash, AUDIT_HASH);
    assert_string_equal(hex, "c83360a09100e2ca599a8b7ed4f17dfdc3916cb949b6ba5214803e43997798fc");
    audit_link(hash, second, hash);
    hex_put(hex, hash, AUDIT_HASH);
    assert_string_equal(hex, "e801178ec828e9a42c6171beeee7e12cb1a227f0de706676d9ee579148bfaf68");
}

static void o6_no_two_rows_have_the_same_bytes(void **state)
{
    const struct val none = V_NULL;
    const struct {
        const char *why;
        struct val a_subject, a_detail, b_subject, b_detail;
    } rows[] = {
        { "NULL is not empty", none, V_TEXT(S("")), V_TEXT(S("")), none },
        { "text moves over", V_TEXT(S("ab")), V_TEXT(S("c")), V_TEXT(S("a")), V_TEXT(S("bc")) },
        { "bytes are no text", V_TEXT(S("ab")), none, V_BLOB(S("ab")), none },
        { "a number is no text", V_INT(0), none, V_TEXT(S("\0\0\0\0")), none },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct val v[AUDIT_COLUMNS] = { 0 };
        unsigned char zero[AUDIT_HASH] = { 0 }, a[AUDIT_HASH], b[AUDIT_HASH];

        v[AUDIT_SUBJECT] = rows[i].a_subject;
        v[AUDIT_DETAIL] = rows[i].a_detail;
        audit_link(zero, v, a);
        v[AUDIT_SUBJECT] = rows[i].b_subject;
        v[AUDIT_DETAIL] = rows[i].b_detail;
        audit_link(zero, v, b);
        if (memcmp(a, b, AUDIT_HASH) == 0)
            fail_msg("%s", rows[i].why);
    }
}

/* --- acts --- */

static enum err do_seal(struct tx *tx, void *ctx)
{
    struct audit_run run;

    return audit_seal_step(tx, atomic_load(&rig_now_ms), &run, ctx);
}

static void seal(void)
{
    bool more = true;

    while (more)
        assert_int_equal(rig_do(w.rig, 0, do_seal, &more), OK);
}

static void sql(const char *text)
{
    char answer[64];

    sql_text(w.rig, text, answer, sizeof(answer));
}

static void add_rows(int n)
{
    char text[512];

    snprintf(text, sizeof(text),
             w.rig->postgres
                 ? "INSERT INTO audit (at, operation, subject, result, detail) SELECT 1000 + i,"
                   " 'CREATE', 's' || i, 'success', 'd' FROM generate_series(1, %d) AS i"
                 : "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                   " INSERT INTO audit (at, operation, subject, result, detail) SELECT 1000 + i,"
                   " 'CREATE', 's' || i, 'success', 'd' FROM n",
             n);
    sql(text);
}

/* The guards are for accidents; who means it takes them away first. */
static void disarm(void)
{
    if (w.rig->postgres) {
        sql("ALTER TABLE audit DISABLE TRIGGER ALL");
        sql("ALTER TABLE audit_seals DISABLE TRIGGER ALL");
        return;
    }
    sql("DROP TRIGGER audit_keep");
    sql("DROP TRIGGER audit_hold");
    sql("DROP TRIGGER audit_seals_keep");
    sql("DROP TRIGGER audit_seals_hold");
}

struct verifying {
    struct audit_place place;
    struct audit_expect expect;
    struct arena arena;
    struct str json;
};

static enum err do_verify(struct tx *tx, void *ctx)
{
    struct verifying *v = ctx;

    return audit_verify_step(tx, &v->arena, &v->place, &v->expect, &v->json);
}

static void add_problems(const char *json, char *ret, size_t size)
{
    for (const char *p = json; (p = strstr(p, "{\"n\":")); p++) {
        char n[24], seq[24], kind[24];

        if (sscanf(p, "{\"n\":%23[^,],\"seq\":%23[^,],\"kind\":\"%23[^\"]", n, seq, kind) == 3)
            snprintf(ret + strlen(ret), size - strlen(ret), "%s%s %s %s", ret[0] ? "; " : "", kind,
                     strcmp(n, "null") ? n : "-", strcmp(seq, "null") ? seq : "-");
    }
}

/* "changed 2 2; missing 3 3": kind, seal, row. Empty: it is as it was sealed. */
static const char *verified(const char *expect, int *ret_unsealed)
{
    static char all[8192];
    struct verifying v = { 0 };
    const char *next;

    all[0] = '\0';
    if (ret_unsealed)
        *ret_unsealed = 0;
    if (expect)
        assert_true(audit_expect_read(str_of(expect), &v.expect));
    arena_init(&v.arena, 8 << 20);
    do {
        char text[16384];

        assert_int_equal(rig_do(w.rig, 0, do_verify, &v), OK);
        snprintf(text, sizeof(text), STR_FMT, STR_ARG(v.json));
        add_problems(text, all, sizeof(all));
        if (ret_unsealed && strstr(text, "\"unsealed\":"))
            *ret_unsealed += atoi(strstr(text, "\"unsealed\":") + 11);
        next = strstr(text, "\"nextCursor\":\"");
        if (next)
            assert_true(audit_place_read((struct str){ next + 14, AUDIT_PLACE_TEXT }, &v.place));
    } while (next);
    arena_release(&v.arena);
    return all;
}

static void head(char ret[128])
{
    sql_text(w.rig,
             w.rig->postgres
                 ? "SELECT n || ':' || encode(hash, 'hex') FROM audit_seals ORDER BY n"
                   " DESC LIMIT 1"
                 : "SELECT n || ':' || lower(hex(hash)) FROM audit_seals ORDER BY n DESC"
                   " LIMIT 1",
             ret, 128);
}

/* --- sealing --- */

static void o6_every_row_is_sealed_once_and_verifies(void **state)
{
    int unsealed = -1;

    w.rig = *state;
    assert_string_equal(verified(NULL, &unsealed), "");
    add_rows(1234);
    assert_string_equal(verified(NULL, &unsealed), "");
    assert_int_equal(unsealed, 1234);
    seal();
    seal();
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit_seals"), 1234);
    assert_int_equal(sql_int(w.rig, "SELECT max(n) FROM audit_seals"), 1234);
    add_rows(7);
    seal();
    assert_int_equal(sql_int(w.rig, "SELECT max(n) FROM audit_seals"), 1241);
    assert_string_equal(verified(NULL, &unsealed), "");
    assert_int_equal(unsealed, 0);
}

static void o6_a_row_is_neither_changed_nor_deleted_by_accident(void **state)
{
    static const char *const acts[] = { "UPDATE audit SET detail = 'x'", "DELETE FROM audit",
                                        "UPDATE audit_seals SET n = n + 10",
                                        "DELETE FROM audit_seals" };
    char before[128], after[128];

    w.rig = *state;
    add_rows(3);
    seal();
    head(before);
    for (size_t i = 0; i < COUNT(acts); i++) {
        if (w.rig->postgres) {
            PGconn *c = PQconnectdb(w.rig->url);
            PGresult *r = PQexec(c, acts[i]);

            assert_non_null(strstr(PQerrorMessage(c), "are never changed or deleted"));
            PQclear(r);
            PQfinish(c);
        } else {
            sqlite3 *db = NULL;

            assert_int_equal(sqlite3_open(w.rig->file, &db), SQLITE_OK);
            assert_int_equal(sqlite3_exec(db, acts[i], NULL, NULL, NULL), SQLITE_CONSTRAINT);
            sqlite3_close(db);
        }
    }
    head(after);
    assert_string_equal(before, after);
    assert_string_equal(verified(NULL, NULL), "");
}

static void put_row(int seq);

static void o6_a_row_is_not_replaced_either(void **state)
{
    static const char *const acts[] = {
        "INSERT OR REPLACE INTO audit (seq, at, operation, result) VALUES (2, 1, 'X', 'success')",
        "REPLACE INTO audit_seals VALUES (2, 9, zeroblob(32))",
        "REPLACE INTO audit_seals VALUES (9, 2, zeroblob(32))",
    };
    sqlite3 *db = NULL;

    w.rig = *state;
    add_rows(3);
    seal();
    assert_int_equal(sqlite3_open(w.rig->file, &db), SQLITE_OK);
    for (size_t i = 0; i < COUNT(acts); i++)
        assert_int_equal(sqlite3_exec(db, acts[i], NULL, NULL, NULL), SQLITE_CONSTRAINT);
    sqlite3_close(db);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'CREATE'"), 3);
    assert_string_equal(verified(NULL, NULL), "");
    put_row(-1);
    add_rows(1); /* who gives no number is not taken for that one */
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit"), 5);
}

static void restore(void)
{
    static const char *const names[] = { "audit", "audit_seals", "audit_chain" };
    char text[160];

    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(text, sizeof(text), "DELETE FROM %s", names[i]);
        sql(text);
        snprintf(text, sizeof(text), "INSERT INTO %s %s SELECT * FROM keep_%s", names[i],
                 w.rig->postgres && i == 0 ? "OVERRIDING SYSTEM VALUE" : "", names[i]);
        sql(text);
    }
}

static void put_row(int seq)
{
    char text[200];

    snprintf(text, sizeof(text),
             "INSERT INTO audit (seq, at, operation, result) %s VALUES (%d, 2000, 'X', 'success')",
             w.rig->postgres ? "OVERRIDING SYSTEM VALUE" : "", seq);
    sql(text);
}

/* Rows 1 to 10 and 20, sealed as 1 to 11, and all of them behind `low`. */
static void fill(void)
{
    add_rows(10);
    put_row(20);
    seal();
    for (int i = 0; i < 2; i++) {
        rig_pass(w.rig, LIMIT_AUDIT_SETTLE_MS);
        seal();
    }
    assert_int_equal(sql_int(w.rig, "SELECT low FROM audit_chain"), 20);
    disarm();
    sql("CREATE TABLE keep_audit AS SELECT * FROM audit");
    sql("CREATE TABLE keep_audit_seals AS SELECT * FROM audit_seals");
    sql("CREATE TABLE keep_audit_chain AS SELECT * FROM audit_chain");
}

static void o6_whatever_somebody_does_to_the_log_is_found_and_named(void **state)
{
    static const struct {
        const char *why, *acts[3];
        int put;
        const char *found;
    } rows[] = {
        { "nothing", { NULL }, 0, "" },
        { "a cell", { "UPDATE audit SET amount = 1 WHERE seq = 4" }, 0, "changed 4 4" },
        { "NULL becomes empty",
          { "UPDATE audit SET detail = '' WHERE seq = 20" },
          0,
          "changed 11 20" },
        { "a row is gone", { "DELETE FROM audit WHERE seq = 5" }, 0, "missing 5 5" },
        { "two rows change places",
          { "UPDATE audit SET subject = 's3', at = 1003 WHERE seq = 6",
            "UPDATE audit SET subject = 's6', at = 1006 WHERE seq = 3" },
          0,
          "reordered 3 3; reordered 6 6" },
        { "two seals change places",
          { "UPDATE audit_seals SET audit_seq = -1 WHERE n = 2",
            "UPDATE audit_seals SET audit_seq = 2 WHERE n = 3",
            "UPDATE audit_seals SET audit_seq = 3 WHERE n = 2" },
          0,
          "reordered 2 3; reordered 3 2" },
        { "a seal is another one",
          { "UPDATE audit_seals SET hash = (SELECT hash FROM audit_seals WHERE n = 1) WHERE n = "
            "4" },
          0,
          "changed 4 4; changed 5 5" },
        { "a seal is gone",
          { "DELETE FROM audit_seals WHERE n = 4" },
          0,
          "chain_broken 4 -; unsealed_old - 4" },
        { "a row and its seal are gone",
          { "DELETE FROM audit_seals WHERE n = 4", "DELETE FROM audit WHERE seq = 4" },
          0,
          "chain_broken 4 -" },
        { "the first seal is gone",
          { "DELETE FROM audit_seals WHERE n = 1" },
          0,
          "chain_broken 1 -; unsealed_old - 1" },
        { "the last seals are gone",
          { "DELETE FROM audit_seals WHERE n > 9" },
          0,
          "chain_broken 10 -; unsealed_old - 10; unsealed_old - 20" },
        { "the tail is gone",
          { "DELETE FROM audit_seals WHERE n > 9", "DELETE FROM audit WHERE seq > 9" },
          0,
          "chain_broken 10 -" },
        { "a row is put in between", { NULL }, 15, "unsealed_old - 15" },
        { "a row is put before all", { NULL }, -3, "unsealed_old - -3" },
        { "the last seal is another one",
          { "UPDATE audit_seals SET hash = (SELECT hash FROM audit_seals WHERE n = 10) WHERE n ="
            " 11" },
          0,
          "changed 11 20; chain_broken 11 -" },
        { "the chain's own row is another one",
          { "UPDATE audit_chain SET hash = (SELECT hash FROM audit_seals WHERE n = 10)" },
          0,
          "chain_broken 11 -" },
        { "the chain's own row is turned back",
          { "UPDATE audit_chain SET n = 10, hash = (SELECT hash FROM audit_seals WHERE n = 10)" },
          0,
          "chain_broken 11 -" },
        { "the chain's own row is gone", { "DELETE FROM audit_chain" }, 0, "chain_broken - -" },
    };

    w.rig = *state;
    fill();
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *found;

        for (int k = 0; k < 3 && rows[i].acts[k]; k++)
            sql(rows[i].acts[k]);
        if (rows[i].put)
            put_row(rows[i].put);
        found = verified(NULL, NULL);
        if (strcmp(found, rows[i].found) != 0)
            fail_msg("%s: %s", rows[i].why, found);
        restore();
    }
}

/* What was cut off, and what was made anew, only somebody knows who kept the head. */
static void o6_a_kept_head_finds_what_the_chain_alone_cannot(void **state)
{
    char kept[128], wrong[128];

    w.rig = *state;
    fill();
    head(kept);
    assert_string_equal(verified(kept, NULL), "");
    snprintf(wrong, sizeof(wrong), "%s", kept);
    wrong[strlen(wrong) - 1] = wrong[strlen(wrong) - 1] == '0' ? '1' : '0';
    assert_string_equal(verified(wrong, NULL), "chain_broken 11 -");

    sql("DELETE FROM audit_seals");
    sql("DELETE FROM audit_chain");
    sql("UPDATE audit SET amount = 7 WHERE seq = 2");
    seal();
    assert_string_equal(verified(NULL, NULL), "");
    assert_string_equal(verified(kept, NULL), "chain_broken 11 -");

    restore();
    sql("DELETE FROM audit_seals WHERE n > 9");
    sql("DELETE FROM audit WHERE seq > 9");
    sql("UPDATE audit_chain SET n = 9, hash = (SELECT hash FROM audit_seals WHERE n = 9)");
    assert_string_equal(verified(NULL, NULL), "");
    assert_string_equal(verified(kept, NULL), "chain_broken 11 -");
}

/* Whoever cuts seals off does not get new ones in their place. */
static void o6_sealing_goes_on_behind_what_was_taken_away(void **state)
{
    w.rig = *state;
    fill();
    sql("DELETE FROM audit_seals WHERE n > 9");
    put_row(30);
    seal();
    assert_int_equal(sql_int(w.rig, "SELECT max(n) FROM audit_seals"), 12);
    assert_string_equal(verified(NULL, NULL),
                        "chain_broken 10 -; unsealed_old - 10; unsealed_old - 20");
}

/* Seals that were made anew fit each other, and not what the chain was left with. */
static void o6_a_tail_that_was_made_anew_is_found_before_and_after_sealing_goes_on(void **state)
{
    w.rig = *state;
    fill();
    sql("UPDATE audit SET amount = 7 WHERE seq = 20");
    sql("DELETE FROM audit_seals WHERE n = 11");
    sql("UPDATE audit_chain SET n = 10, hash = (SELECT hash FROM audit_seals WHERE n = 10),"
        " low = 10, place = 10, sure = 10");
    seal();
    assert_string_equal(verified(NULL, NULL), "");
    sql("DELETE FROM audit_chain");
    sql("INSERT INTO audit_chain SELECT * FROM keep_audit_chain");
    assert_string_equal(verified(NULL, NULL), "chain_broken 11 -");
    put_row(30);
    seal();
    assert_string_equal(verified(NULL, NULL), "changed 12 30");
}

static void o6_very_many_problems_come_in_steps(void **state)
{
    const char *found;
    int changed = 0;

    w.rig = *state;
    add_rows(350);
    seal();
    disarm();
    sql("UPDATE audit SET detail = 'x' WHERE seq > 20");
    found = verified(NULL, NULL);
    for (const char *p = found; (p = strstr(p, "changed ")); p++)
        changed++;
    assert_int_equal(changed, 330);
}

/* --- rows that become visible in another order than they got their numbers (M14) --- */

enum { WRITERS = 4, MOVES = 60 };

static void say(PGconn *c, const char *text)
{
    PGresult *r = PQexec(c, text);

    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(c));
    PQclear(r);
}

static void move(PGconn *c, bool *open, unsigned dice)
{
    switch (dice % 6) {
    case 0: /* an xid before any number */
        say(c, *open ? "SELECT pg_current_xact_id()" : "BEGIN; SELECT pg_current_xact_id()");
        *open = true;
        return;
    case 1: /* a number that nobody will use */
        say(c,
            *open ? "SELECT nextval('audit_seq_seq')" : "BEGIN; SELECT nextval('audit_seq_seq')");
        *open = true;
        return;
    case 2: say(c, *open ? "COMMIT" : "BEGIN"); break;
    case 3: say(c, *open ? "ROLLBACK" : "BEGIN"); break;
    default: say(c, "INSERT INTO audit (at, operation, result) VALUES (1, 'X', 'success')"); return;
    }
    *open = !*open;
}

static void play(unsigned seed)
{
    PGconn *writers[WRITERS];
    bool open[WRITERS] = { false };

    for (int i = 0; i < WRITERS; i++)
        writers[i] = PQconnectdb(w.rig->url);
    for (int i = 0; i < MOVES; i++) {
        unsigned dice = (unsigned)rand_r(&seed), who = dice / 8 % WRITERS;

        if (dice / 64 % 5 == 0) {
            rig_pass(w.rig, (int64_t)(dice / 512 % 3) * 20000);
            seal();
        } else {
            move(writers[who], &open[who], dice / 4096);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        if (open[i])
            say(writers[i], "COMMIT");
        PQfinish(writers[i]);
    }
}

static void o6_nothing_is_skipped_however_long_a_transaction_lasts(void **state)
{
    w.rig = *state;
    for (unsigned seed = 1; seed <= 12; seed++) {
        play(seed);
        rig_pass(w.rig, LIMIT_AUDIT_SETTLE_MS);
        seal();
        if (sql_int(w.rig, "SELECT count(*) FROM audit a WHERE NOT EXISTS (SELECT 1 FROM"
                           " audit_seals s WHERE s.audit_seq = a.seq)"))
            fail_msg("seed %u: a row was skipped", seed);
        if (verified(NULL, NULL)[0])
            fail_msg("seed %u: %s", seed, verified(NULL, NULL));
    }
    assert_true(sql_int(w.rig, "SELECT low FROM audit_chain") > 0);
    assert_true(sql_int(w.rig,
                        "SELECT count(*) FROM audit_seals a JOIN audit_seals b ON b.n = a.n + 1"
                        " WHERE b.audit_seq < a.audit_seq") > 0); /* it did happen */
}

/* --- two nodes that seal at the same time --- */

/* Another node's batch: commits once somebody waits for the chain's row. */
static void *seal_elsewhere(void *ctx)
{
    PGconn *watch = PQconnectdb(w.rig->url);
    bool waited = false;

    while (!waited) {
        PGresult *r = PQexec(watch, "SELECT 1 FROM pg_stat_activity WHERE datname ="
                                    " current_database() AND wait_event_type = 'Lock'");

        waited = PQresultStatus(r) != PGRES_TUPLES_OK || PQntuples(r) > 0;
        PQclear(r);
    }
    PQfinish(watch);
    say(ctx, "COMMIT");
    return NULL;
}

static enum err do_one_batch(struct tx *tx, void *ctx)
{
    bool more;

    return audit_seal_step(tx, 1, ctx, &more);
}

static void o6_a_node_that_waited_for_another_does_not_think_that_the_chain_was_cut(void **state)
{
    PGconn *other;
    struct audit_run run;
    pthread_t thread;

    w.rig = *state;
    add_rows(3);
    other = PQconnectdb(w.rig->url);
    say(other, "BEGIN");
    say(other, "UPDATE audit_chain SET n = 1, hash = decode(repeat('5a', 32), 'hex')");
    say(other, "INSERT INTO audit_seals (n, audit_seq, hash) SELECT 1, min(seq),"
               " decode(repeat('5a', 32), 'hex') FROM audit");
    assert_int_equal(pthread_create(&thread, NULL, seal_elsewhere, other), 0);
    assert_int_equal(rig_do(w.rig, 0, do_one_batch, &run), OK);
    pthread_join(thread, NULL);
    PQfinish(other);
    assert_false(run.parted);
    assert_int_equal(run.n, 3);
}

/* A dump that is restored elsewhere has xids that are beyond all that cluster ever had. */
static void o6_a_restored_dump_is_sealed_on(void **state)
{
    w.rig = *state;
    add_rows(5);
    disarm();
    sql("UPDATE audit SET xid = '1000000000000'::xid8");
    seal();
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit_seals"), 5);
    sql("UPDATE audit_chain SET mark_xid = 1000000000000, mark_seq = 5");
    add_rows(3);
    seal();
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit_seals"), 8);
    for (int i = 0; i < 2; i++) {
        rig_pass(w.rig, LIMIT_AUDIT_SETTLE_MS);
        seal();
    }
    assert_int_equal(sql_int(w.rig, "SELECT low FROM audit_chain"), 8);
    assert_string_equal(verified(NULL, NULL), "");
}

/* --- the job, and nodes of an older version --- */

static struct audit_sealer sealer;
static struct runtime runtime;
static struct job_kind kinds[1];

/* The second node knows no kind at all. */
static void start_nodes(void)
{
    sealer = (struct audit_sealer){ .runtime = &runtime };
    kinds[0] = audit_seal_kind(&sealer);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = 1 });
    rig_queue(w.rig, 1, (struct queue_options){ 0 });
    runtime = (struct runtime){ .env = &w.rig->env[0],
                                .store = w.rig->store[0],
                                .queue = w.rig->queue[0] };
    queue_start(w.rig->queue[0]);
    queue_start(w.rig->queue[1]);
}

static enum err do_start(struct tx *tx, void *ctx)
{
    (void)ctx;
    return audit_seal_start(tx, &sealer, atomic_load(&rig_now_ms));
}

static void pass(int64_t ms)
{
    rig_pass(w.rig, ms);
    while (sealer.busy) {
        desk_next(&w.rig->den.desk);
        rig_settle(w.rig);
    }
}

static void stop_nodes(void)
{
    rig_settle(w.rig);
    for (int i = 0; i < DEN_TIMERS; i++)
        if (w.rig->den.timers[i] == &sealer.timer)
            w.rig->den.timers[i] = NULL;
    audit_seal_close(&sealer);
}

/* The rest follows without a look, however much there is. */
static int all_sealed_after(int64_t rows)
{
    int i = 0;

    for (pass(LIMIT_AUDIT_LOOK_MS); i < 100; i++, pass(LIMIT_AUDIT_PAUSE_MS))
        if (sql_int(w.rig, "SELECT count(*) FROM audit_seals") == rows)
            break;
    return i;
}

static void o6_sealing_goes_on_beside_a_node_that_does_not_know_it(void **state)
{
    w.rig = *state;
    add_rows(9000);
    start_nodes();
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    audit_seal_watch(&sealer, &w.rig->den.desk.executor);
    assert_in_range(all_sealed_after(9000), 17, 99); /* 500 at a time */
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 1);
    assert_string_equal(verified(NULL, NULL), "");
    stop_nodes();
}

static void o6_a_job_that_was_buried_or_taken_away_comes_back(void **state)
{
    int64_t rows = 0;

    w.rig = *state;
    start_nodes();
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    audit_seal_watch(&sealer, &w.rig->den.desk.executor);
    for (int letter = 0; letter < 2; letter++) {
        rig_settle(w.rig);
        if (letter)
            sql("INSERT INTO dead_letters (id, kind, reason, attempts, added_at, died_at)"
                " SELECT id, kind, 'r', 12, 1, 2 FROM message");
        sql("DELETE FROM message");
        add_rows(3);
        rows = sql_int(w.rig, "SELECT count(*) FROM audit");
        sealer.commits = -1; /* somebody committed them */
        sealer.seen_seq = -1;
        all_sealed_after(rows);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit_seals"), rows);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 1);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    }
    /* and a start does the same */
    sql("INSERT INTO dead_letters (id, kind, reason, attempts, added_at, died_at)"
        " SELECT id, kind, 'r', 12, 1, 2 FROM message");
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    stop_nodes();
}

#define TESTS(ON)                                                                                  \
    ON(o6_every_row_is_sealed_once_and_verifies),                                                  \
        ON(o6_a_row_is_neither_changed_nor_deleted_by_accident),                                   \
        ON(o6_whatever_somebody_does_to_the_log_is_found_and_named),                               \
        ON(o6_a_kept_head_finds_what_the_chain_alone_cannot),                                      \
        ON(o6_sealing_goes_on_behind_what_was_taken_away),                                         \
        ON(o6_a_tail_that_was_made_anew_is_found_before_and_after_sealing_goes_on),                \
        ON(o6_very_many_problems_come_in_steps),                                                   \
        ON(o6_sealing_goes_on_beside_a_node_that_does_not_know_it),                                \
        ON(o6_a_job_that_was_buried_or_taken_away_comes_back)

int main(void)
{
    const struct CMUnitTest sqlite[] = {
        cmocka_unit_test(o6_the_bytes_of_a_row_are_those_of_the_documentation),
        cmocka_unit_test(o6_no_two_rows_have_the_same_bytes),
        TESTS(ON_SQLITE),
        ON_SQLITE(o6_a_row_is_not_replaced_either),
    };
    const struct CMUnitTest postgres[] = {
        TESTS(ON_POSTGRES),
        ON_POSTGRES(o6_nothing_is_skipped_however_long_a_transaction_lasts),
        ON_POSTGRES(o6_a_node_that_waited_for_another_does_not_think_that_the_chain_was_cut),
        ON_POSTGRES(o6_a_restored_dump_is_sealed_on),
    };

    return RUN_BOTH(sqlite, postgres);
}
