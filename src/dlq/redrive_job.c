/* redrive_job.c - the job "dlq.redrive": one step after another, each when it is due.
 *
 *   (1) A step takes a tenth of a second's dead letters, and the next step is due when their time
 *       at this rate is over, however long the step took. Time in which no step ran is not made up
 *       for.
 *   (2) A step that fails because of one dead letter is done again one by one, and the one that
 *       fails alone is rejected, as in act.c. The same holds for the events of a replay. The failed
 *       unit wrote nothing: the next run learns what to do from the message's last error.
 *   (3) A step's dead letters, counts and cursor are one commit, so a crash leaves whole steps. */
#include "base/json/write.h"
#include "dlq/redrive_rows.h"
#include "store/values.h"

#include <stdio.h>
#include <string.h>

enum { STEPS_A_SECOND = 10, STEP_ARENA = 8 * 1024 * 1024, REFUSALS_MAX = 64 * 1024 };

#define TOGETHER "one of several letters failed: "
#define ALONE "letter "

struct redrive_run {
    struct tx *tx;
    struct arena *arena;
    const struct redrives *redrives;
    const struct message *message;
    struct redrive r;
    struct redrive_step step;
    struct why *why;
};

/* --- how many --- */

static size_t redrive_step_size(const struct redrive *r)
{
    int64_t n = r->rate / STEPS_A_SECOND;

    if (r->alone || n < 1)
        return 1;
    return n < LIMIT_DEAD_STEP ? (size_t)n : LIMIT_DEAD_STEP;
}

void redrive_refuse(struct redrive_step *s, struct uuid id, struct str why)
{
    if (s->refused == LIMIT_DEAD_STEP)
        s->unnamed++;
    else
        dead_refusal_set(&s->refusals[s->refused++], id, why);
}

void redrive_refuse_all(struct redrive_step *s, const struct dead_act *act)
{
    int64_t named = act->refused < DEAD_REFUSALS ? act->refused : DEAD_REFUSALS;

    for (int64_t i = 0; i < named; i++)
        redrive_refuse(s, act->refusals[i].id, str_of(act->refusals[i].why));
    s->unnamed += act->refused - named;
}

static int64_t redrive_handled(const struct redrive_step *s)
{
    return s->done + (int64_t)s->refused + s->unnamed;
}

/* --- after a failed run --- */

/* Rejects the dead letter that failed alone, as a step of its own: if the next one fails as well,
 * this one is already stored as rejected. */
static enum err redrive_skip_letter(struct redrive_run *d, struct str words)
{
    struct str text = str_cut(&words, ':');
    struct uuid id;
    struct row row;
    enum err e;

    if (!uuid_parse(text, &id))
        return ERR_INTERNAL;
    if (d->r.ids.n)
        d->r.next_id++;
    e = TX_ROW(d->tx, STMT_letter_get, &row, v_uuid(&id));
    if (e) /* it was retried or deleted meanwhile */
        return e == ERR_NOT_FOUND ? OK : e;
    /* If it was retried meanwhile and died again, it lies after all others. */
    if (!d->r.ids.n && row.col[8].i <= d->r.until_ms)
        d->r.place = (struct dead_cursor){ .at_ms = row.col[8].i, .id = id };
    redrive_refuse(&d->step, id, str_trim(words));
    return OK;
}

/* words: "<message id> <event seq>: why" */
static enum err redrive_skip_event(struct redrive_run *d, struct str words)
{
    struct str text = str_cut(&words, ':');
    struct str message = str_cut(&text, ' ');
    struct uuid id;
    int64_t seq;

    if (!uuid_parse(message, &id) || !str_to_i64(str_trim(text), &seq))
        return ERR_INTERNAL;
    if (seq > d->r.next_id)
        d->r.next_id = seq;
    redrive_refuse(&d->step, id, str_trim(words));
    return OK;
}

/* True if the last run failed on a single one; the words follow ALONE. */
static bool redrive_must_skip(const struct redrive_run *d, struct str *ret_words)
{
    struct str last = d->message->last_error;

    if (!str_starts(last, S(ALONE)))
        return false;
    *ret_words = (struct str){ last.p + strlen(ALONE), last.n - strlen(ALONE) };
    return true;
}

/* --- dead letters --- */

static void redrive_fill_act(const struct redrive_run *d, const char *by, struct dead_act *act)
{
    const struct redrive *r = &d->r;
    size_t ids = r->ids.n / sizeof(struct uuid), next = (size_t)r->next_id;

    *act = (struct dead_act){ .letters = d->redrives->letters,
                              .verb = DEAD_RETRY,
                              .filter = redrive_filter(r),
                              .started = true,
                              .cursor = r->place,
                              .limit = (int64_t)d->step.wanted,
                              .user = r->user,
                              .name = r->name,
                              .by = by,
                              .began_ms = r->created_ms };
    act->cursor.until_ms = r->until_ms;
    if (!r->ids.n)
        return;
    act->ids = (const struct uuid *)(const void *)r->ids.p + next;
    act->id_count = ids - next < d->step.wanted ? ids - next : d->step.wanted;
}

static void redrive_took(struct redrive_run *d, struct dead_act *act)
{
    struct redrive *r = &d->r;

    dead_act_took(act, OK);
    d->step.done += act->done;
    redrive_refuse_all(&d->step, act);
    if (r->ids.n) {
        r->next_id += (int64_t)act->next_id; /* the step may have left large ones out */
        d->step.over = (size_t)r->next_id * sizeof(struct uuid) >= r->ids.n;
    } else {
        r->place = act->cursor;
        d->step.over = !act->more;
    }
}

/* Returns a retryable error; the next run reads from `why` what to do. */
static enum err redrive_failed(struct redrive_run *d, const struct dead_act *act, enum err e)
{
    char id[UUID_TEXT + 1];
    struct uuid first;
    size_t n = dead_act_chosen(act, &first);

    if (tx_trouble(d->tx) || !n)
        return e;
    uuid_text(first, id);
    if (n > 1)
        why_set(d->why, TOGETHER "%s", err_words(e, LANG_EN));
    else
        why_set(d->why, ALONE "%s: %s", id, err_words(e, LANG_EN));
    return ERR_UNAVAILABLE;
}

static enum err redrive_retry_letters(struct redrive_run *d)
{
    char id[UUID_TEXT + 1], by[UUID_TEXT + 16];
    struct dead_act act;
    enum err e;

    if (d->r.ids.n && (size_t)d->r.next_id * sizeof(struct uuid) >= d->r.ids.n) {
        d->step.over = true; /* the last one was rejected */
        return OK;
    }
    uuid_text(d->r.id, id);
    snprintf(by, sizeof(by), "redrive %s", id);
    redrive_fill_act(d, by, &act);
    e = dead_act_begin(&act, d->arena);
    if (!e)
        e = dead_act_step(d->tx, &act);
    if (e)
        return redrive_failed(d, &act, e);
    redrive_took(d, &act);
    return OK;
}

/* --- events --- */

static enum err redrive_replay_events(struct redrive_run *d)
{
    const struct redrive_step *s = &d->step;
    char id[UUID_TEXT + 1];
    enum err e = replay_step(d->tx, d->arena, d->redrives, &d->r, &d->step);

    if (!e || tx_trouble(d->tx) || !s->chosen)
        return e;
    uuid_text(s->first, id);
    if (s->chosen > 1)
        why_set(d->why, TOGETHER "%s", err_words(e, LANG_EN));
    else
        why_set(d->why, ALONE "%s %lld: %s", id, (long long)s->first_seq, err_words(e, LANG_EN));
    return ERR_UNAVAILABLE;
}

/* --- storing the step --- */

static void redrive_add_refusals(struct buf *b, const struct redrive_run *d)
{
    int64_t named = d->r.refused < DEAD_REFUSALS ? d->r.refused : DEAD_REFUSALS;
    bool empty = d->r.refusals.n <= strlen("[]");

    buf_add(b, (struct str){ d->r.refusals.p, d->r.refusals.n - 1 }); /* without ] */
    for (size_t i = 0; i < d->step.refused && named < DEAD_REFUSALS; i++, named++) {
        buf_add(b, empty ? S("{") : S(",{"));
        empty = false;
        out_uuid(b, "id", d->step.refusals[i].id);
        out_text(b, "why", str_of(d->step.refusals[i].why));
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

static void redrive_count(struct redrive *r, const struct redrive_step *s)
{
    r->done += s->done;
    r->refused += (int64_t)s->refused + s->unnamed;
    if (r->matched < r->done + r->refused || (s->over && !r->exact))
        r->matched = r->done + r->refused;
    r->exact = r->exact || s->over;
    r->alone -= r->alone > 0;
}

static int64_t redrive_next_due_ms(const struct redrive_run *d, int64_t now_ms)
{
    int64_t worth = redrive_handled(&d->step) * 1000 / d->r.rate;
    int64_t rest = worth > LIMIT_REDRIVE_PAUSE_MS ? worth : LIMIT_REDRIVE_PAUSE_MS;
    int64_t due_ms = d->r.due_ms + rest;

    if (due_ms > now_ms + rest) /* the clock was set back */
        due_ms = now_ms + rest;
    return due_ms > now_ms ? due_ms : now_ms;
}

static enum err redrive_store(struct redrive_run *d, int64_t now_ms)
{
    struct redrive *r = &d->r;
    bool over = d->step.over;
    struct buf refusals;
    enum err e;

    buf_init(&refusals, REFUSALS_MAX);
    redrive_add_refusals(&refusals, d);
    redrive_count(r, &d->step);
    r->due_ms = redrive_next_due_ms(d, now_ms);
    e = refusals.failed
            ? ERR_NO_MEMORY
            : TX_DO(d->tx, STMT_redrive_move, 1, V_TEXT(over ? S("done") : S("running")),
                    V_INT(r->next_id), V_INT(r->place.at_ms), v_uuid(&r->place.id), V_INT(r->alone),
                    V_INT(r->due_ms), V_INT(r->matched), V_INT(r->exact), V_INT(r->done),
                    V_INT(r->refused), V_TEXT(buf_str(&refusals)), V_INT(now_ms),
                    over ? V_INT(now_ms) : V_NULL, v_uuid(&r->id));
    buf_release(&refusals);
    return e;
}

static enum err redrive_audit_end(const struct redrive_run *d, int64_t now_ms)
{
    char detail[200];

    snprintf(detail, sizeof(detail), "%lld of %lld done, %lld refused", (long long)d->r.done,
             (long long)d->r.matched, (long long)d->r.refused);
    return redrive_audit(d->tx,
                         &(struct redrive_line){ .operation = "REDRIVE_END",
                                                 .redrive = d->r.id,
                                                 .user = d->r.user,
                                                 .failed = !d->r.done && d->r.refused,
                                                 .detail = detail },
                         now_ms);
}

/* --- the job --- */

static enum err redrive_take(struct redrive_run *d)
{
    struct str words;

    if (str_starts(d->message->last_error, S(TOGETHER)))
        d->r.alone = (int64_t)redrive_step_size(&d->r);
    d->step.wanted = redrive_step_size(&d->r);
    if (redrive_must_skip(d, &words))
        return d->r.is_replay ? redrive_skip_event(d, words) : redrive_skip_letter(d, words);
    return d->r.is_replay ? redrive_replay_events(d) : redrive_retry_letters(d);
}

static enum err redrive_run_step(struct redrive_run *d, int64_t *ret_again_ms)
{
    int64_t now_ms = env_now_ms(d->redrives->letters->env);
    enum err e = redrive_take(d);

    if (e)
        return e;
    e = fault_point(&tx_env(d->tx)->faults, "redrive.step");
    if (e)
        return e;
    e = redrive_store(d, now_ms);
    if (e)
        return e;
    *ret_again_ms = d->step.over ? 0 : d->r.due_ms;
    return d->step.over ? redrive_audit_end(d, now_ms) : OK;
}

static enum err redrive_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct redrive_run d = { .tx = tx, .redrives = ctx, .message = j->message, .why = why };
    struct arena a;
    struct uuid id;
    enum err e =
        uuid_parse(j->message->ref, &id) ? redrive_read(tx, id, true, &d.r) : ERR_NOT_FOUND;

    if (e == ERR_NOT_FOUND || (!e && !d.r.is_running))
        return OK; /* cancelled */
    if (e)
        return e;
    arena_init(&a, STEP_ARENA);
    d.arena = &a;
    e = redrive_run_step(&d, &j->again_ms);
    arena_release(&a);
    return e;
}

static enum err redrive_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    struct uuid id;
    struct row row;
    enum err e;

    (void)ctx, (void)why;
    if (!uuid_parse(m->ref, &id))
        return OK;
    e = TX_ROW(tx, STMT_redrive_end, &row, V_TEXT(S("failed")), V_INT(env_now_ms(tx_env(tx))),
               v_uuid(&id));
    return e == ERR_NOT_FOUND ? OK : e;
}

struct job_kind redrive_kind(struct redrives *rs)
{
    return (struct job_kind){
        .name = "dlq.redrive",
        .ctx = rs,
        .retry = retry_table[RETRY_REDRIVE],
        .outside = job_without_outside,
        .settle = redrive_settle,
        .buried = redrive_buried,
        .patient = true,
    };
}
