/* switches_kept.c - the switches on disk, so that they survive a restart.
 *
 *   POST --read--> unit (rows) --committed--> switches set --> answer      one after another
 *   a rule is used --> noted --> unit, as soon as none is under way
 *
 *   (1) Only one unit of this file is under way at a time, so the rows hold the last decision.
 *   (2) A crash loses at most the notes that are not written yet: then a rule has uses left that
 *       it had already spent. */
#include "observe/log.h"
#include "sandbox/fault/switches.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NOTED = 2 * LIMIT_SANDBOX_RULES };

struct note { /* what is left of a rule; times 0: nothing, delete its row */
    int64_t seq, skip, times;
};

struct switches_kept {
    bool busy;                    /* a unit of this file is under way */
    struct change *first, **last; /* changes that wait for their turn */
    struct note noted[NOTED];
    size_t noted_count;
    bool webhooks_noted;
    /* the unit that writes the notes: */
    struct unit unit;
    struct sandbox *s;
    struct note writing[NOTED];
    size_t writing_count;
    struct buf webhooks; /* empty: unchanged */
};

struct switches_kept *switches_kept_new(void)
{
    struct switches_kept *k = calloc(1, sizeof(*k));

    if (!k)
        return NULL;
    k->last = &k->first;
    buf_init(&k->webhooks, 8 * WEBHOOK_URL_MAX);
    return k;
}

void switches_kept_free(struct switches_kept *k)
{
    if (!k)
        return;
    buf_release(&k->webhooks);
    free(k);
}

static void kept_continue(struct sandbox *s);

/* --- uses of rules --- */

static enum err write_note(struct tx *tx, const struct note *n)
{
    if (!n->times)
        return TX_DO(tx, STMT_sandbox_rule_drop, -1, V_INT(n->seq));
    return TX_DO(tx, STMT_sandbox_rule_use, -1, V_INT(n->skip), V_INT(n->times), V_INT(n->seq));
}

static enum err notes_run(struct tx *tx, struct unit *u)
{
    struct switches_kept *k = CONTAINER_OF(u, struct switches_kept, unit);
    enum err e = OK;

    for (size_t i = 0; i < k->writing_count && !e; i++)
        e = write_note(tx, &k->writing[i]);
    if (!e && k->webhooks.n)
        e = TX_DO(tx, STMT_sandbox_switch_set, -1, V_TEXT(S("webhooks")),
                  V_TEXT(buf_str(&k->webhooks)));
    return e;
}

static void notes_written(struct unit *u)
{
    struct switches_kept *k = CONTAINER_OF(u, struct switches_kept, unit);

    if (u->err)
        LOG(k->s->env.log, LOG_WARN, "sandbox switches not kept",
            LOG_TEXT("code", str_of(err_code(u->err))));
    k->busy = false;
    kept_continue(k->s);
}

static void write_notes(struct sandbox *s)
{
    static const struct unit_kind kind = { "sandbox.notes", UNIT_FRONT, notes_run, NULL };
    struct switches_kept *k = s->faults->kept;
    struct webhook_values now = webhooks_now(&s->faults->webhooks);

    memcpy(k->writing, k->noted, k->noted_count * sizeof(k->noted[0]));
    k->writing_count = k->noted_count;
    k->noted_count = 0;
    buf_clear(&k->webhooks);
    if (k->webhooks_noted)
        webhooks_write(&k->webhooks, &now);
    k->webhooks_noted = false;
    k->busy = true;
    k->s = s;
    k->unit = (struct unit){ .kind = &kind,
                             .executor = server_executor(s->server),
                             .done = notes_written };
    store_post(s->store, &k->unit);
}

/* One note for each rule. There is room for all that can be used while one unit runs; a use without
 * a note would be given back by a crash. */
void switches_rule_used(struct sandbox *s, const struct call_rule *rule)
{
    struct switches_kept *k = s->faults->kept;
    size_t i = 0;

    if (!rule->seq)
        return;
    while (i < k->noted_count && k->noted[i].seq != rule->seq)
        i++;
    if (i == NOTED)
        return;
    k->noted[i] = (struct note){ rule->seq, rule->skip, rule->times };
    if (i == k->noted_count)
        k->noted_count++;
    kept_continue(s);
}

void switches_webhooks_used(struct sandbox *s)
{
    s->faults->kept->webhooks_noted = true;
    kept_continue(s);
}

/* --- changes --- */

static enum err change_run(struct tx *tx, struct unit *u)
{
    struct change *c = CONTAINER_OF(u, struct change, unit);
    struct str body = buf_str(&c->body);
    struct row row;
    enum err e = OK;

    if (c->body.failed)
        return ERR_NO_MEMORY;
    switch (c->kind) {
    case CHANGE_ADD:
        e = TX_ROW(tx, STMT_sandbox_rule_add, &row, V_INT(c->rule.skip), V_INT(c->rule.times),
                   V_TEXT(body));
        c->seq = e ? 0 : row.col[0].i;
        return e;
    case CHANGE_CLEAR: return tx_do(tx, STMT_sandbox_rules_clear, -1, NULL, 0);
    case CHANGE_WEBHOOKS:
        return TX_DO(tx, STMT_sandbox_switch_set, -1, V_TEXT(S("webhooks")), V_TEXT(body));
    case CHANGE_CHAOS:
        return TX_DO(tx, STMT_sandbox_switch_set, -1, V_TEXT(S("chaos")), V_TEXT(body));
    }
    abort();
}

static void apply_change(struct change *c)
{
    struct sandbox_faults *f = c->s->faults;

    switch (c->kind) {
    case CHANGE_ADD:
        c->rule.seq = c->seq;
        rules_add(f, &c->rule); /* begin_change() has checked that there is room */
        return;
    case CHANGE_CLEAR: rules_clear(f); return;
    case CHANGE_WEBHOOKS:
        webhooks_set(&f->webhooks, &c->webhooks);
        f->kept->webhooks_noted = false;
        return;
    case CHANGE_CHAOS:
        if (c->chaos.on)
            chaos_begin(&f->chaos, &c->chaos);
        else
            chaos_end(&f->chaos);
        return;
    }
}

static void change_written(struct unit *u)
{
    struct change *c = CONTAINER_OF(u, struct change, unit);
    struct sandbox *s = c->s;

    buf_release(&c->body);
    s->faults->kept->busy = false;
    if (u->err) {
        reply_problem(c->request, u->err, "the switches are as they were: this could not be kept");
    } else {
        apply_change(c);
        c->done(c);
    }
    kept_continue(s);
}

static void write_body(struct change *c)
{
    buf_init(&c->body, 16 * WEBHOOK_URL_MAX);
    switch (c->kind) {
    case CHANGE_ADD: rule_write(&c->body, &c->rule); return;
    case CHANGE_CLEAR: return;
    case CHANGE_WEBHOOKS: webhooks_write(&c->body, &c->webhooks); return;
    case CHANGE_CHAOS:
        if (c->chaos.on)
            chaos_write(&c->body, &c->chaos);
        return;
    }
}

/* False: the request was answered, and there is nothing to store. */
ANSWERS static bool begin_change(struct change *c)
{
    static const struct unit_kind kind = { "sandbox.switches", UNIT_FRONT, change_run, NULL };
    struct sandbox_faults *f = c->s->faults;

    c->webhooks = webhooks_now(&f->webhooks);
    if (!c->read(c))
        return false;
    if (c->kind == CHANGE_ADD && f->count == LIMIT_SANDBOX_RULES) {
        reply_problem(c->request, ERR_OVERLOADED,
                      "there are too many rules; DELETE /_sandbox/faults");
        return false;
    }
    write_body(c);
    c->unit =
        (struct unit){ .kind = &kind, .executor = c->request->executor, .done = change_written };
    store_post(c->s->store, &c->unit);
    return true;
}

static void kept_continue(struct sandbox *s)
{
    struct switches_kept *k = s->faults->kept;

    while (k->first && !k->busy) {
        struct change *c = k->first;

        k->first = c->next;
        if (!k->first)
            k->last = &k->first;
        k->busy = true;
        k->busy = begin_change(c);
    }
    if (!k->busy && (k->noted_count || k->webhooks_noted))
        write_notes(s);
}

void change_post(struct request *r, struct sandbox *s, const struct change *as)
{
    struct switches_kept *k = s->faults->kept;
    struct change *c = arena_alloc(&r->arena, 1, sizeof(*c));

    if (!c) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    *c = *as;
    c->s = s;
    c->request = r;
    *k->last = c;
    k->last = &c->next;
    kept_continue(s);
}

/* --- loading at the start --- */

/* Waits for one unit on the calling thread, before the sandbox has a loop. */
struct start {
    struct unit unit;
    struct executor executor;
    struct sandbox *s;
    pthread_mutex_t lock;
    pthread_cond_t back;
    bool done;
    int64_t unknown; /* rows that this version cannot read */
};

static void start_post(struct executor *h, struct task *t)
{
    struct start *x = CONTAINER_OF(h, struct start, executor);

    (void)t; /* the unit's task; its only work would be start_done() */
    pthread_mutex_lock(&x->lock);
    x->done = true;
    pthread_cond_signal(&x->back);
    pthread_mutex_unlock(&x->lock);
}

static void start_arm(struct executor *h, struct timer *t, int64_t due_ms)
{
    (void)h;
    (void)t;
    (void)due_ms;
    abort();
}

/* False: the text is not in our format. */
static bool begin_stored(struct str text, struct control_body *in)
{
    *in = (struct control_body){ 0 };
    if (json_parse(text, &in->body, NULL) || !cJSON_IsObject(in->body)) {
        json_freep(&in->body);
        return false;
    }
    json_problems_init(&in->problems);
    return true;
}

static bool end_stored(struct control_body *in)
{
    bool fine = !in->problems.count;

    json_problems_release(&in->problems);
    json_freep(&in->body);
    return fine;
}

static enum err load_rule(void *ctx, const struct row *row)
{
    struct start *x = ctx;
    struct call_rule rule;
    struct control_body in;

    if (!begin_stored(row->col[3].s, &in)) {
        x->unknown++;
        return OK;
    }
    rule = rule_read(&in);
    rule.seq = row->col[0].i;
    rule.skip = row->col[1].i;
    rule.times = row->col[2].i;
    if (!end_stored(&in) || rules_add(x->s->faults, &rule))
        x->unknown++;
    return OK;
}

static enum err load_switch(void *ctx, const struct row *row)
{
    struct start *x = ctx;
    struct sandbox_faults *f = x->s->faults;
    struct webhook_values w = webhooks_now(&f->webhooks);
    struct chaos_plan plan = { 0 };
    bool hooks = str_eq(row->col[0].s, S("webhooks"));
    struct control_body in;

    if (!row->col[1].s.n)
        return OK; /* chaos was switched off */
    if (!begin_stored(row->col[1].s, &in)) {
        x->unknown++;
        return OK;
    }
    if (hooks)
        webhooks_read(&in, &w);
    else
        plan = chaos_read(&in);
    if (!end_stored(&in))
        x->unknown++;
    else if (hooks)
        webhooks_set(&f->webhooks, &w);
    else
        chaos_begin(&f->chaos, &plan);
    return OK;
}

static enum err start_run(struct tx *tx, struct unit *u)
{
    struct start *x = CONTAINER_OF(u, struct start, unit);
    enum err e;

    rules_clear(x->s->faults);
    x->unknown = 0;
    e = tx_each(tx, STMT_sandbox_rules, NULL, 0, load_rule, x);
    return e ? e : tx_each(tx, STMT_sandbox_switches, NULL, 0, load_switch, x);
}

static void start_done(struct unit *u)
{
    (void)u;
}

enum err sandbox_faults_load(struct sandbox *s, struct why *why)
{
    static const struct executor_ops ops = { start_post, start_arm };
    static const struct unit_kind kind = { "sandbox.start", UNIT_READ, start_run, NULL };
    struct start x = { .executor = { &ops }, .s = s };

    x.unit = (struct unit){ .kind = &kind, .executor = &x.executor, .done = start_done };
    pthread_mutex_init(&x.lock, NULL);
    pthread_cond_init(&x.back, NULL);
    store_post(s->store, &x.unit);
    pthread_mutex_lock(&x.lock);
    while (!x.done)
        pthread_cond_wait(&x.back, &x.lock);
    pthread_mutex_unlock(&x.lock);
    pthread_mutex_destroy(&x.lock);
    pthread_cond_destroy(&x.back);
    if (x.unit.err)
        why_set(why, "the sandbox's switches cannot be read: %s", err_words(x.unit.err, LANG_EN));
    if (x.unknown)
        LOG(s->env.log, LOG_WARN, "sandbox switches not understood", LOG_NUM("rows", x.unknown));
    return x.unit.err;
}
