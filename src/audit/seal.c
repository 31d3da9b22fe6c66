/* seal.c - one batch of seals, the job that runs batches, and the check that starts it. seal.h has
 * the invariants and the picture.
 *
 * A scan is a pass over the log from `low` upwards, in several batches; `place` is where it is.
 * `sure` is how far the present scan is certain to meet every row, and `low` follows it. */
#include "audit/seal.h"

#include "base/hex.h"
#include "base/limits.h"
#include "observe/log.h"

#include <string.h>

enum { SEAL_COLUMNS = 3, WATCH_ARENA = 64 * 1024 };
#define DAY_MS (24 * 3600 * INT64_C(1000))

static const struct uuid standing_id = QUEUE_STANDING_ID('s', 'e', 'a', 'l', 0, 1);

struct chain {
    int64_t n, low, place, sure, mark_seq, mark_xid, mark_ms;
    unsigned char hash[AUDIT_HASH];
};

struct audit_seal_marks { /* of one snapshot */
    int64_t seq;          /* the last row */
    /* PostgreSQL: every transaction before xmin has ended, none from xmax on had begun; else 0 */
    int64_t xmin, xmax;
};

struct audit_seal_batch {
    struct chain *chain;
    int64_t last_seq;
    size_t count;
    struct val v[LIMIT_AUDIT_SEAL * SEAL_COLUMNS];
    unsigned char hashes[LIMIT_AUDIT_SEAL][AUDIT_HASH];
};

/* --- the end of the chain --- */

static bool copy_hash(const struct val *v, unsigned char ret_hash[AUDIT_HASH])
{
    if (v->type != VAL_BLOB || v->s.n != AUDIT_HASH)
        return false;
    memcpy(ret_hash, v->s.p, AUDIT_HASH);
    return true;
}

static struct val hash_val(const unsigned char *hash)
{
    return V_BLOB(((struct str){ (const char *)hash, AUDIT_HASH }));
}

static enum err read_last_seal(struct tx *tx, int64_t *ret_n, unsigned char ret_hash[AUDIT_HASH])
{
    struct row row;
    enum err e = tx_row(tx, STMT_audit_seal_last, NULL, 0, &row);

    *ret_n = 0;
    memset(ret_hash, 0, AUDIT_HASH);
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    *ret_n = row.col[0].i;
    return copy_hash(&row.col[1], ret_hash) ? OK : ERR_INTERNAL;
}

static enum err read_chain(struct tx *tx, struct chain *c)
{
    struct row row;
    enum err e = tx_row(tx, STMT_audit_chain_hold, NULL, 0, &row);

    if (e)
        return e;
    *c = (struct chain){ .n = row.col[0].i,
                         .low = row.col[2].i,
                         .place = row.col[3].i,
                         .sure = row.col[4].i,
                         .mark_seq = row.col[5].i,
                         .mark_xid = row.col[6].i,
                         .mark_ms = row.col[7].i };
    return copy_hash(&row.col[1], c->hash) ? OK : ERR_INTERNAL;
}

/* Reads the chain's row first: on PostgreSQL this waits for its lock, and a seal that was read
 * before would be older than the row, as if seals had been deleted. If the row is missing there is
 * no lock to wait for; of two nodes that insert it one fails.
 *
 * If seals were deleted or the chain's row was set back, the chain continues from the longer of the
 * two. So the missing part stays a gap that verification reports. If the last seal was replaced, the
 * chain continues from the hash in its row, and the next seal does not fit the replaced one. */
static enum err hold_chain(struct tx *tx, struct chain *c, int64_t *ret_stored, bool *ret_parted)
{
    unsigned char hash[AUDIT_HASH];
    int64_t n;
    enum err e = read_chain(tx, c);
    bool gone = e == ERR_NOT_FOUND;

    if (!e || gone)
        e = read_last_seal(tx, &n, hash);
    if (e)
        return e;
    *ret_parted = gone ? n > 0 : n != c->n || memcmp(hash, c->hash, AUDIT_HASH) != 0;
    if (gone) {
        *c = (struct chain){ .n = n };
        memcpy(c->hash, hash, AUDIT_HASH);
        e = TX_DO(tx, STMT_audit_chain_make, 1, V_INT(n), hash_val(hash));
    }
    *ret_stored = c->n;
    if (!e && n > c->n) {
        c->n = n;
        memcpy(c->hash, hash, AUDIT_HASH);
    }
    return e;
}

/* --- a batch --- */

static enum err seal_row(void *ctx, const struct row *row)
{
    struct audit_seal_batch *b = ctx;
    struct chain *c = b->chain;
    struct val *v = b->v + b->count * SEAL_COLUMNS;
    unsigned char *hash = b->hashes[b->count];

    audit_link(c->hash, row->col, hash);
    memcpy(c->hash, hash, AUDIT_HASH);
    b->last_seq = row->col[AUDIT_SEQ].i;
    v[0] = V_INT(++c->n);
    v[1] = V_INT(b->last_seq);
    v[2] = hash_val(hash);
    b->count++;
    return OK;
}

static enum err read_marks(struct tx *tx, struct audit_seal_marks *m)
{
    struct row row;
    enum err e = tx_row(tx, STMT_audit_marks, NULL, 0, &row);

    if (!e)
        *m = (struct audit_seal_marks){ row.col[0].i, row.col[1].i, row.col[2].i };
    return e;
}

/* Begins a scan: decides up to which row it is sure to meet every row. SQLite has one writer, so a
 * row that comes later gets a higher number. On PostgreSQL a number may be assigned long before its
 * row becomes visible. So the log's end is marked together with xmax, and the mark is sure once all
 * transactions that had begun by then have ended (M14). A transaction could have a number and no
 * transaction id yet; within one INSERT the two are microseconds apart, and LIMIT_AUDIT_SETTLE_MS is
 * waited for. A mark above the snapshot's xmax comes from another cluster: this database was
 * restored from its dump. */
static void begin_scan(struct chain *c, const struct audit_seal_marks *m, int64_t now_ms)
{
    bool foreign = c->mark_xid > m->xmax;

    if (!m->xmax) {
        c->sure = m->seq;
        return;
    }
    if (!foreign && c->mark_xid &&
        (m->xmin < c->mark_xid || now_ms - c->mark_ms < LIMIT_AUDIT_SETTLE_MS))
        return; /* not yet; the `sure` of the last scan still holds */
    if (!foreign)
        c->sure = c->mark_seq;
    c->mark_seq = m->seq;
    c->mark_xid = m->xmax;
    c->mark_ms = now_ms;
}

/* Rows that the scan has passed, as far as it is sure, are never read again. */
static void scan_raise_low(struct chain *c, int64_t passed)
{
    int64_t low = passed < c->sure ? passed : c->sure;

    if (low > c->low)
        c->low = low;
}

/* Moves the scan behind the last sealed row, or behind the window; at the end a new scan begins at
 * `low`. Returns whether there may be more rows. */
static bool scan_move_on(struct chain *c, const struct audit_seal_batch *b, int64_t window,
                         const struct audit_seal_marks *m)
{
    bool more = b->count == LIMIT_AUDIT_SEAL || window < m->seq;
    int64_t passed = b->count == LIMIT_AUDIT_SEAL ? b->last_seq : window;

    scan_raise_low(c, more ? passed : INT64_MAX);
    c->place = more ? passed : c->low;
    return more;
}

static enum err store_batch(struct tx *tx, const struct audit_seal_batch *b, int64_t stored,
                            int64_t place)
{
    const struct chain *c = b->chain;
    enum err e =
        b->count ? tx_bulk(tx, STMT_audit_seal_add, b->v, b->count, SEAL_COLUMNS, NULL, NULL) : OK;

    return e ? e
             : TX_DO(tx, STMT_audit_chain_put, 1, V_INT(c->n), hash_val(c->hash), V_INT(c->low),
                     V_INT(c->place), V_INT(c->sure), V_INT(c->mark_seq), V_INT(c->mark_xid),
                     V_INT(c->mark_ms), V_INT(stored), V_INT(place));
}

static enum err seal_window(struct tx *tx, struct audit_seal_batch *b, int64_t place,
                            int64_t *ret_window)
{
    struct val v[] = { V_INT(place), V_NULL, V_INT(LIMIT_AUDIT_SEAL) };
    struct row row;
    enum err e = TX_ROW(tx, STMT_audit_window, &row, V_INT(place), V_INT(LIMIT_AUDIT_WINDOW));

    *ret_window = INT64_MAX;
    if (e || row.col[0].type == VAL_NULL)
        return e;
    *ret_window = row.col[0].i;
    v[1] = row.col[0];
    return tx_each(tx, STMT_audit_unsealed, v, COUNT(v), seal_row, b);
}

enum err audit_seal_step(struct tx *tx, int64_t now_ms, struct audit_run *ret_run, bool *ret_more)
{
    struct chain c;
    struct audit_seal_batch b = { .chain = &c };
    struct audit_seal_marks m;
    int64_t stored, place, window;
    bool parted;
    enum err e = hold_chain(tx, &c, &stored, &parted);

    if (!e)
        e = read_marks(tx, &m); /* before the rows: a row that comes in between is met again */
    if (e)
        return e;
    place = c.place;
    if (place == c.low)
        begin_scan(&c, &m, now_ms);
    e = seal_window(tx, &b, place, &window);
    if (e)
        return e;
    *ret_more = scan_move_on(&c, &b, window, &m);
    *ret_run = (struct audit_run){ .sealed = (int64_t)b.count,
                                   .n = c.n,
                                   .parted = parted,
                                   .behind = m.seq - c.low > LIMIT_AUDIT_WINDOW,
                                   .all_seq = *ret_more ? -1 : m.seq,
                                   .xmin = m.xmin };
    memcpy(ret_run->hash, c.hash, AUDIT_HASH);
    return store_batch(tx, &b, stored, place);
}

enum err audit_seal_waits(struct tx *tx, int64_t seq, bool *ret_waits)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_audit_waiting, &row, V_INT(seq), V_INT(LIMIT_AUDIT_WINDOW));

    *ret_waits = !e && row.col[0].i > 0;
    return e;
}

/* --- the job --- */

static enum err audit_seal_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct audit_sealer *s = ctx;
    int64_t now_ms = env_now_ms(tx_env(tx));
    bool more = false;
    enum err e;

    (void)why;
    e = audit_seal_step(tx, now_ms, &s->run, &more);
    if (!e)
        fault_point(&tx_env(tx)->faults, "audit.seal");
    j->again_ms = now_ms + (more || s->run.behind ? LIMIT_AUDIT_RESUME_MS : DAY_MS);
    return e;
}

/* Logs the head of the chain, so that it can be kept outside of the database. */
static void log_head(struct env *env, struct audit_sealer *s)
{
    const struct audit_run *r = &s->run;
    char hex[2 * AUDIT_HASH + 1];
    int64_t now_ms = env_now_ms(env);

    if (!r->sealed || (s->told_ms && now_ms - s->told_ms < LIMIT_AUDIT_TOLD_MS))
        return;
    s->told_ms = now_ms;
    *hex_put(hex, r->hash, AUDIT_HASH) = '\0';
    LOG(env->log, LOG_INFO, "audit sealed", LOG_NUM("n", r->n), LOG_TEXT("hash", str_of(hex)));
}

/* If rows are left, the next batch starts when the timer fires; the message is not due before. */
static void audit_seal_go_on(struct env *env, struct audit_sealer *s)
{
    bool more = s->run.all_seq < 0;

    s->goes_on = more || s->run.behind;
    if (more && s->executor)
        executor_arm(s->executor, &s->timer, env_now_ms(env) + LIMIT_AUDIT_PAUSE_MS);
}

static void audit_seal_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                             const char *why)
{
    struct audit_sealer *s = ctx;

    (void)m;
    (void)why;
    if (end != JOB_PUT_OFF)
        return;
    s->seen_seq = s->run.all_seq;
    s->seen_xmin = s->run.xmin;
    audit_seal_go_on(env, s);
    if (s->run.parted)
        LOG(env->log, LOG_ERROR,
            "the audit chain does not end where it was left: ichido audit verify says more",
            LOG_NUM("n", s->run.n));
    log_head(env, s);
}

struct job_kind audit_seal_kind(struct audit_sealer *s)
{
    return (struct job_kind){
        .name = "audit.seal",
        .ctx = s,
        .retry = retry_table[RETRY_NEEDED],
        .outside = job_without_outside,
        .settle = audit_seal_settle,
        .ended = audit_seal_ended,
        .patient = true,
    };
}

enum err audit_seal_start(struct tx *tx, struct audit_sealer *s, int64_t now_ms)
{
    struct queue_new first = { .id = standing_id,
                               .kind = S("audit.seal"),
                               .due_ms = now_ms + DAY_MS };

    return queue_stand(s->runtime->queue, tx, now_ms, &first);
}

/* --- the check --- */

/* Unless these marks changed, no row can have become ready to seal: on SQLite no row was added, on
 * PostgreSQL no transaction that rows wait for has ended. */
static bool is_as_seen(const struct audit_sealer *s, const struct audit_seal_marks *m)
{
    return s->known_seq >= 0 && s->known_xmin == m->xmin && (m->xmax || s->known_seq == m->seq);
}

static enum err find_one(void *ctx, const struct row *row)
{
    (void)row;
    *(bool *)ctx = true;
    return OK;
}

/* Searches one window above `low`: a scan that is further behind continues without a check. */
static enum err find_unsealed(struct tx *tx, bool *ret_found)
{
    struct val v[] = { V_INT(0), V_NULL, V_INT(1) };
    struct row row;
    enum err e = tx_row(tx, STMT_audit_chain_get, NULL, 0, &row);

    if (!e)
        v[0] = row.col[2];
    if (!e || e == ERR_NOT_FOUND)
        e = TX_ROW(tx, STMT_audit_window, &row, v[0], V_INT(LIMIT_AUDIT_WINDOW));
    if (e || row.col[0].type == VAL_NULL)
        return e;
    v[1] = row.col[0];
    return tx_each(tx, STMT_audit_unsealed, v, COUNT(v), find_one, ret_found);
}

static enum err audit_seal_check(struct tx *tx, struct unit *u)
{
    struct audit_sealer *s = CONTAINER_OF(u, struct audit_sealer, unit);
    struct audit_seal_marks m;
    enum err e = read_marks(tx, &m);

    s->found = false;
    if (e)
        return e;
    s->found_seq = m.seq;
    s->found_xmin = m.xmin;
    return is_as_seen(s, &m) ? OK : find_unsealed(tx, &s->found);
}

static enum err audit_seal_take(struct tx *tx, struct unit *u)
{
    struct audit_sealer *s = CONTAINER_OF(u, struct audit_sealer, unit);
    struct queue *q = s->runtime->queue;
    int64_t now_ms = env_now_ms(tx_env(tx));
    enum err e = queue_take(q, tx, u->arena, standing_id, now_ms, &s->message);

    if (e != ERR_NOT_FOUND)
        return e;
    e = audit_seal_start(tx, s, now_ms); /* the message may be missing */
    return e ? e : queue_take(q, tx, u->arena, standing_id, now_ms, &s->message);
}

static void audit_seal_taken(struct unit *u)
{
    struct audit_sealer *s = CONTAINER_OF(u, struct audit_sealer, unit);

    s->busy = false;
    if (u->err)
        s->commits = -1; /* NOT_FOUND: another node has it; check again next time */
    else
        queue_adopt(s->runtime->queue, &s->message, NULL);
}

static void audit_seal_post(struct audit_sealer *s, const struct unit_kind *kind,
                            void (*done)(struct unit *))
{
    s->busy = true;
    arena_release(&s->arena);
    s->unit =
        (struct unit){ .kind = kind, .executor = s->executor, .done = done, .arena = &s->arena };
    store_post(s->runtime->store, &s->unit);
}

static void post_take(struct audit_sealer *s)
{
    static const struct unit_kind kind = { "audit.take", UNIT_BACK, audit_seal_take, NULL };

    s->goes_on = false;
    audit_seal_post(s, &kind, audit_seal_taken);
}

static void audit_seal_checked(struct unit *u)
{
    struct audit_sealer *s = CONTAINER_OF(u, struct audit_sealer, unit);

    s->busy = false;
    if (u->err)
        return; /* the next check tries again */
    s->commits = s->commits_now;
    if (s->found) {
        post_take(s);
        return;
    }
    s->seen_seq = s->found_seq;
    s->seen_xmin = s->found_xmin;
}

static void audit_seal_fire(struct timer *t)
{
    static const struct unit_kind kind = { "audit.look", UNIT_READ, audit_seal_check, NULL };
    struct audit_sealer *s = CONTAINER_OF(t, struct audit_sealer, timer);

    if (!s->busy && s->goes_on) {
        post_take(s);
    } else if (!s->busy && store_health(s->runtime->store).commits != s->commits) {
        s->commits_now = store_health(s->runtime->store).commits;
        s->known_seq = s->seen_seq;
        s->known_xmin = s->seen_xmin;
        audit_seal_post(s, &kind, audit_seal_checked);
    }
    executor_arm(s->executor, t, env_now_ms(s->runtime->env) + LIMIT_AUDIT_LOOK_MS);
}

void audit_seal_watch(struct audit_sealer *s, struct executor *executor)
{
    s->executor = executor;
    s->commits = s->seen_seq = -1;
    s->timer = (struct timer){ .fire = audit_seal_fire, .due_ms = CLOCK_NEVER };
    arena_init(&s->arena, WATCH_ARENA);
    executor_arm(executor, &s->timer, env_now_ms(s->runtime->env) + LIMIT_AUDIT_LOOK_MS);
}

void audit_seal_close(struct audit_sealer *s)
{
    if (s->executor)
        arena_release(&s->arena);
}
