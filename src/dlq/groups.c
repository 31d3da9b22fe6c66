/* groups.c - dead letters counted by failure cause, and causes for dead letters without one.
 *
 * The scan jumps over the index (kind, cause) from pair to pair, so it costs what it counts, not
 * what is stored. It stops at limits of groups, of examined pairs and of counted rows. A crash
 * leaves nothing behind: the job "dlq.causes" goes on with the dead letters that still have no
 * cause. */
#include "auth/base64url.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "dlq/find.h"
#include "domain/cause.h"
#include "store/json_values.h"

#include <string.h>

enum { GROUPS_MAX = 1024 * 1024, CURSOR_MAX = 1024, CAUSES_PAUSE_MS = 20 };

struct dead_groups_scan {
    const struct dead_groups *ask;
    struct buf out;
    struct str kind, cause; /* the next pair */
    bool end;               /* there is no next pair */
    int64_t shown, looked, counted;
    size_t rows, wanted; /* of the statement */
};

/* --- a page --- */

static void dead_group_out(struct dead_groups_scan *w, const struct val *v)
{
    bool exact = v[2].i < LIMIT_DEAD_GROUP + 1;

    buf_add(&w->out, w->shown ? S(",{") : S("{"));
    out_val_text(&w->out, "kind", &v[0]);
    out_text(&w->out, "cause", v[1].s); /* empty: null */
    out_int(&w->out, "count", exact ? v[2].i : LIMIT_DEAD_GROUP);
    out_bool(&w->out, "exact", exact);
    out_time(&w->out, "oldestAt", v[3].i);
    out_time(&w->out, "newestAt", v[4].i);
    out_val_uuid(&w->out, "sampleId", &v[5]);
    buf_char(&w->out, '}');
    w->shown++;
}

/* The last row of a full statement only says where to go on. */
static enum err dead_groups_take(void *ctx, const struct row *row)
{
    struct dead_groups_scan *w = ctx;

    w->kind = row->col[0].s;
    w->cause = row->col[1].s;
    if (++w->rows == w->wanted)
        return OK;
    w->looked++;
    w->counted += row->col[2].i;
    if (row->col[2].i) /* 0: none died in that range of time */
        dead_group_out(w, row->col);
    return OK;
}

static enum err dead_groups_step(struct tx *tx, struct dead_groups_scan *w)
{
    const struct dead_groups *g = w->ask;
    int64_t left = g->limit - w->shown;
    enum err e;

    w->wanted = 1 + (size_t)(left < LIMIT_DEAD_GROUPS_STEP ? left : LIMIT_DEAD_GROUPS_STEP);
    w->rows = 0;
    struct val v[] = { V_TEXT(w->kind),
                       V_TEXT(w->cause),
                       V_INT((int64_t)w->wanted),
                       V_TEXT(g->kind),
                       V_INT(g->from_ms),
                       V_INT(g->to_ms ? g->to_ms : INT64_MAX),
                       V_INT(LIMIT_DEAD_GROUP + 1) };
    e = tx_each(tx, STMT_letter_groups, v, COUNT(v), dead_groups_take, w);
    w->end = w->rows < w->wanted;
    return e;
}

static bool dead_groups_goes_on(const struct dead_groups_scan *w)
{
    return !w->end && w->shown < w->ask->limit && w->looked < LIMIT_DEAD_GROUPS_LOOKED &&
           w->counted < LIMIT_DEAD_GROUPS_SUM;
}

static void dead_groups_out_cursor(struct dead_groups_scan *w)
{
    struct buf key;

    out_name(&w->out, "nextCursor");
    if (w->end) {
        buf_add(&w->out, S("null"));
        return;
    }
    buf_init(&key, CURSOR_MAX);
    buf_add(&key, w->kind);
    buf_char(&key, '\n'); /* no kind has one */
    buf_add(&key, w->cause);
    buf_char(&w->out, '"');
    base64url_add(&w->out, buf_str(&key));
    buf_char(&w->out, '"');
    w->out.failed |= key.failed;
    buf_release(&key);
}

enum err dead_groups_page(struct tx *tx, struct arena *a, const struct dead_groups *g,
                          struct str *ret_json)
{
    struct dead_groups_scan w = { .ask = g,
                                  .kind = g->at_kind.n ? g->at_kind : g->kind,
                                  .cause = g->at_cause };
    enum err e;

    buf_init(&w.out, GROUPS_MAX);
    buf_add(&w.out, S("{\"data\":["));
    do
        e = dead_groups_step(tx, &w);
    while (!e && dead_groups_goes_on(&w));
    buf_char(&w.out, ']');
    dead_groups_out_cursor(&w);
    buf_char(&w.out, '}');
    *ret_json = out_done(&w.out, a);
    return !e && !ret_json->p ? ERR_NO_MEMORY : e;
}

bool dead_groups_cursor(struct arena *a, struct str text, struct dead_groups *g)
{
    struct str key;

    if (!text.n || text.n > CURSOR_MAX || base64url_decode(a, text, &key))
        return false;
    if (!str_is_utf8(key) || memchr(key.p, '\0', key.n) || !memchr(key.p, '\n', key.n))
        return false;
    g->at_kind = str_cut(&key, '\n');
    g->at_cause = key;
    return g->at_kind.n;
}

/* --- dead letters without a cause --- */

struct causeless {
    struct uuid ids[LIMIT_DEAD_CAUSES];
    struct str reasons[LIMIT_DEAD_CAUSES];
    size_t n;
};

static enum err causeless_keep(void *ctx, const struct row *row)
{
    struct causeless *l = ctx;

    l->reasons[l->n] = row->col[1].s;
    return uuid_of_bytes(row->col[0].s, &l->ids[l->n++]) ? OK : ERR_INTERNAL;
}

static enum err dead_causes_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct causeless l = { .n = 0 };
    struct val v[] = { V_INT(LIMIT_DEAD_CAUSES) };
    enum err e = tx_each(tx, STMT_letters_nameless, v, COUNT(v), causeless_keep, &l);

    (void)ctx, (void)why;
    for (size_t i = 0; i < l.n && !e; i++) {
        char text[CAUSE_TEXT + 1];

        e = TX_DO(tx, STMT_letter_name, -1, V_TEXT(cause_of(l.reasons[i], text)),
                  V_BLOB(uuid_bytes(&l.ids[i])));
    }
    j->again_ms = l.n == LIMIT_DEAD_CAUSES ? env_now_ms(tx_env(tx)) + CAUSES_PAUSE_MS : 0;
    return e;
}

struct job_kind dead_causes_kind(void)
{
    return (struct job_kind){
        .name = "dlq.causes",
        .retry = retry_table[RETRY_HOUSEKEEPING],
        .outside = job_without_outside,
        .settle = dead_causes_settle,
        .patient = true,
    };
}

enum err dead_causes_start(struct tx *tx, struct queue *q, int64_t now_ms)
{
    static const struct uuid only = QUEUE_STANDING_ID('c', 'a', 'u', 's', 'e', 1);
    struct queue_new first = { .id = only, .kind = S("dlq.causes"), .due_ms = now_ms };
    struct row row;
    enum err e = TX_ROW(tx, STMT_letters_nameless, &row, V_INT(1));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return queue_stand(q, tx, now_ms, &first);
}
