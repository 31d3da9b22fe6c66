/* view.c - reads the tables through SQLite alone, for the checker. */
#include "sim/view.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_MESSAGES, ASK_COUNTS, ASK_EVENT, ASK_OUTCOME, ASK_MESSAGE_OUTCOME, ASKS };

static const char *const texts[ASKS] = {
    [ASK_MESSAGES] =
        "SELECT seq, id, lane, ready, due_at, attempt, owner FROM message ORDER BY seq",
    [ASK_COUNTS] = "SELECT (SELECT count(*) FROM webhook_events),"
                   " (SELECT count(*) FROM webhook_outcomes),"
                   " (SELECT count(*) FROM webhook_outcomes WHERE outcome = 'dead'),"
                   " (SELECT count(*) FROM dead_letters)",
    [ASK_EVENT] = "SELECT message_id FROM webhook_events WHERE stripe_event_id = ?1",
    [ASK_OUTCOME] = "SELECT o.outcome, d.id IS NOT NULL FROM webhook_events e"
                    " LEFT JOIN webhook_outcomes o ON o.message_id = e.message_id"
                    " LEFT JOIN dead_letters d ON d.id = e.message_id"
                    " WHERE e.stripe_event_id = ?1",
    [ASK_MESSAGE_OUTCOME] = "SELECT o.outcome, d.id IS NOT NULL FROM (SELECT ?1 AS id) m"
                            " LEFT JOIN webhook_outcomes o ON o.message_id = m.id"
                            " LEFT JOIN dead_letters d ON d.id = m.id",
};

static const char *const dumps[] = {
    "SELECT * FROM webhook_events ORDER BY seq",
    "SELECT * FROM webhook_outcomes ORDER BY message_id",
    "SELECT * FROM webhook_duplicates ORDER BY stripe_event_id",
    "SELECT * FROM message ORDER BY seq",
    "SELECT * FROM dead_letters ORDER BY id",
    "SELECT * FROM audit ORDER BY seq",
};

struct view {
    sqlite3 *db;
    sqlite3_stmt *asks[ASKS];
};

struct view *view_new(void)
{
    struct view *v = calloc(1, sizeof(*v));

    if (!v)
        abort();
    return v;
}

void view_close(struct view *v)
{
    for (int i = 0; i < ASKS; i++) {
        sqlite3_finalize(v->asks[i]);
        v->asks[i] = NULL;
    }
    sqlite3_close(v->db);
    v->db = NULL;
}

void view_free(struct view *v)
{
    if (!v)
        return;
    view_close(v);
    free(v);
}

bool view_open(struct view *v, const char *vfs)
{
    bool fine;

    if (v->db)
        return true;
    fine = sqlite3_open_v2("ichido.db", &v->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs) ==
           SQLITE_OK;
    if (fine) /* to close must change nothing */
        sqlite3_db_config(v->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    for (int i = 0; i < ASKS && fine; i++)
        fine = sqlite3_prepare_v2(v->db, texts[i], -1, &v->asks[i], NULL) == SQLITE_OK;
    if (!fine)
        view_close(v);
    return fine;
}

static struct uuid uuid_column(sqlite3_stmt *s, int column)
{
    struct uuid id = { 0 };

    if (sqlite3_column_bytes(s, column) == (int)sizeof(id.b))
        memcpy(id.b, sqlite3_column_blob(s, column), sizeof(id.b));
    return id;
}

static struct seen_message *next_row(struct snapshot *s)
{
    if (s->n == s->size) {
        s->size = s->size ? s->size * 2 : 64;
        s->rows = realloc(s->rows, s->size * sizeof(*s->rows));
        if (!s->rows)
            abort();
    }
    return &s->rows[s->n++];
}

static void read_message(sqlite3_stmt *q, struct seen_message *m)
{
    *m = (struct seen_message){
        .seq = sqlite3_column_int64(q, 0),
        .id = uuid_column(q, 1),
        .has_lane = sqlite3_column_type(q, 2) != SQLITE_NULL,
        .lane = sqlite3_column_int64(q, 2),
        .ready = sqlite3_column_int(q, 3) != 0,
        .due_ms = sqlite3_column_int64(q, 4),
        .attempt = sqlite3_column_int64(q, 5),
        .has_owner = sqlite3_column_type(q, 6) != SQLITE_NULL,
        .owner = uuid_column(q, 6),
    };
}

bool view_snapshot(struct view *v, struct snapshot *s)
{
    sqlite3_stmt *q = v->asks[ASK_MESSAGES];
    int rc;

    s->n = 0;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW)
        read_message(q, next_row(s));
    sqlite3_reset(q);
    if (rc != SQLITE_DONE)
        return false;
    q = v->asks[ASK_COUNTS];
    rc = sqlite3_step(q);
    s->counts = (struct seen_counts){
        .events = sqlite3_column_int64(q, 0),
        .outcomes = sqlite3_column_int64(q, 1),
        .dead_outcomes = sqlite3_column_int64(q, 2),
        .dead_letters = sqlite3_column_int64(q, 3),
    };
    sqlite3_reset(q);
    return rc == SQLITE_ROW;
}

int64_t view_event(struct view *v, struct str event_id, struct uuid *ret_message)
{
    sqlite3_stmt *q = v->asks[ASK_EVENT];
    int64_t n = 0;

    sqlite3_bind_text(q, 1, event_id.p, (int)event_id.n, SQLITE_STATIC);
    for (; sqlite3_step(q) == SQLITE_ROW; n++)
        if (n == 0)
            *ret_message = uuid_column(q, 0);
    sqlite3_reset(q);
    return n;
}

static bool outcome_of(sqlite3_stmt *q, char ret_outcome[32], bool *ret_dead)
{
    bool found = sqlite3_step(q) == SQLITE_ROW;
    const char *outcome = found ? (const char *)sqlite3_column_text(q, 0) : NULL;

    snprintf(ret_outcome, 32, "%s", outcome ? outcome : "");
    *ret_dead = found && sqlite3_column_int(q, 1) != 0;
    sqlite3_reset(q);
    return found;
}

bool view_outcome(struct view *v, struct str event_id, char ret_outcome[32], bool *ret_dead)
{
    sqlite3_stmt *q = v->asks[ASK_OUTCOME];

    sqlite3_bind_text(q, 1, event_id.p, (int)event_id.n, SQLITE_STATIC);
    return outcome_of(q, ret_outcome, ret_dead);
}

bool view_message_outcome(struct view *v, struct uuid id, char ret_outcome[32], bool *ret_dead)
{
    sqlite3_stmt *q = v->asks[ASK_MESSAGE_OUTCOME];

    sqlite3_bind_blob(q, 1, id.b, sizeof(id.b), SQLITE_TRANSIENT);
    return outcome_of(q, ret_outcome, ret_dead);
}

static void hash_table(struct view *v, const char *sql, struct sim_trace *t)
{
    sqlite3_stmt *q = NULL;

    if (sqlite3_prepare_v2(v->db, sql, -1, &q, NULL))
        sim_trace_line(t, "cannot dump: %s", sqlite3_errmsg(v->db));
    while (sqlite3_step(q) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(q); i++) {
            int type = sqlite3_column_type(q, i), n = sqlite3_column_bytes(q, i);

            sim_trace_hash(t, &type, sizeof(type));
            if (n)
                sim_trace_hash(t, sqlite3_column_blob(q, i), (size_t)n);
        }
    sqlite3_finalize(q);
}

void view_hash(struct view *v, struct sim_trace *t)
{
    for (size_t i = 0; i < COUNT(dumps); i++)
        hash_table(v, dumps[i], t);
    sim_trace_line(t, "tables hashed");
}

bool view_is_sound(struct view *v)
{
    sqlite3_stmt *q = NULL;
    bool fine = sqlite3_prepare_v2(v->db, "PRAGMA integrity_check", -1, &q, NULL) == SQLITE_OK &&
                sqlite3_step(q) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(q, 0), "ok") == 0;

    sqlite3_finalize(q);
    return fine;
}
