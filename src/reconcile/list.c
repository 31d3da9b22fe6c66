/* list.c - the scans of a day: the provider's list, our payments of that day that it did not list,
 * and the sums of ours in the end. Differences are only noted here; check.c checks them again. Each
 * page is one commit with its notes, its sums and the day's new place, so a crash repeats one
 * page. */
#include "observe/log.h"
#include "reconcile/run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- notes --- */

struct notes {
    const struct day *day;
    struct val checks[LIMIT_RECONCILE_ROWS * 5], seen[LIMIT_RECONCILE_ROWS * 2];
    size_t check_count, seen_count;
};

static struct notes *notes_new(struct arena *a, const struct day *d)
{
    struct notes *n = arena_alloc(a, 1, sizeof(*n));

    if (n)
        n->day = d;
    return n;
}

/* Either payment may be NULL or intent_id empty, but not both. */
static enum err note_check(struct notes *n, struct arena *a, struct str gateway,
                           const struct uuid *payment, struct str intent_id)
{
    struct val *v = n->checks + 5 * n->check_count++;
    char id[UUID_TEXT + 1] = "";
    struct str key = intent_id;

    assert(payment || intent_id.n);
    if (!intent_id.n) {
        uuid_text(*payment, id);
        key = arena_str(a, str_of(id));
    }
    v[0] = V_TEXT(str_of(n->day->text));
    v[1] = V_TEXT(key);
    v[2] = V_TEXT(gateway);
    v[3] = payment ? v_uuid(payment) : V_NULL;
    v[4] = v_text(intent_id);
    return key.p ? OK : ERR_NO_MEMORY;
}

static void note_seen(struct notes *n, const struct uuid *payment)
{
    struct val *v = n->seen + 2 * n->seen_count++;

    v[0] = V_TEXT(str_of(n->day->text));
    v[1] = v_uuid(payment);
}

static enum err notes_store(struct tx *tx, const struct notes *n)
{
    enum err e = tx_bulk(tx, STMT_reconcile_check_add, n->checks, n->check_count, 5, NULL, NULL);

    return e ? e : tx_bulk(tx, STMT_reconcile_seen_add, n->seen, n->seen_count, 2, NULL, NULL);
}

/* --- theirs --- */

struct pairing { /* for each listed intent, our payment */
    struct day_run *w;
    struct arena *arena;
    struct our_payment *ours;
};

static enum err pairing_add_by_intent(void *ctx, const struct row *row)
{
    struct pairing *p = ctx;
    struct our_payment found;
    enum err e = our_payment_read(p->arena, row, &found);

    for (size_t i = 0; i < p->w->listed_count && !e; i++)
        if (str_eq(p->w->listed[i].id, found.listed_intent_id))
            p->ours[i] = found;
    return e;
}

static enum err pairing_add_by_payment(void *ctx, const struct row *row)
{
    struct pairing *p = ctx;
    struct our_payment found;
    enum err e = our_payment_read(p->arena, row, &found);

    for (size_t i = 0; i < p->w->listed_count && !e; i++) {
        struct uuid id;

        if (!p->ours[i].books.known && uuid_parse(p->w->listed[i].fact.payment_id, &id) &&
            uuid_eq(id, found.id))
            p->ours[i] = found;
    }
    return e;
}

/* An intent's row names its payment; without a row, its metadata does (D18). */
static enum err pairing_read(struct tx *tx, struct pairing *p)
{
    struct val *v = arena_alloc(p->arena, p->w->listed_count, sizeof(*v));
    struct uuid *ids = arena_alloc(p->arena, p->w->listed_count, sizeof(*ids));
    size_t n = 0;
    enum err e;

    if (!v || !ids)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < p->w->listed_count; i++)
        v[i] = V_TEXT(p->w->listed[i].id);
    e = tx_bulk(tx, STMT_books_by_intent, v, p->w->listed_count, 1, pairing_add_by_intent, p);
    for (size_t i = 0; i < p->w->listed_count && !e; i++)
        if (!p->ours[i].books.known && uuid_parse(p->w->listed[i].fact.payment_id, &ids[n])) {
            v[n] = v_uuid(&ids[n]);
            n++;
        }
    return e ? e : tx_bulk(tx, STMT_books_by_payment, v, n, 1, pairing_add_by_payment, p);
}

static enum err list_compare(struct day_run *w, struct notes *n, struct totals *t, struct arena *a,
                             const struct stripe_listed_intent *listed, struct our_payment *ours)
{
    struct str gateway = str_of(listed_gateway(w->r)->name);
    struct books_theirs theirs = theirs_of(&listed->fact, (struct minor){ listed->refunded });
    struct uuid named;
    enum err e = OK;

    if (listed->fact.kind != FACT_INTENT) /* unreadable: the check reports it */
        return note_check(n, a, gateway, NULL, listed->id);
    if (!ours->books.known && !uuid_parse(listed->fact.payment_id, &named))
        return totals_theirs(t, gateway, "foreign", &theirs); /* not ours, but counted (D20) */
    ours->books.other_intent = is_other(ours, listed->id, &theirs);
    if (!ours->books.other_intent)
        e = totals_theirs(t, gateway, "theirs", &theirs);
    if (e)
        return e;
    if (ours->books.known && !ours->books.other_intent)
        note_seen(n, &ours->id);
    if (!books_compare(&ours->books, &theirs))
        return OK;
    return note_check(n, a, gateway, ours->books.known ? &ours->id : NULL, listed->id);
}

static enum err list_theirs_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    struct totals totals = { 0 };
    struct arena *a = u->arena;
    struct notes *n = notes_new(a, &w->day);
    struct pairing p = { .w = w, .arena = a };
    enum err e = OK;

    p.ours = arena_alloc(a, LIMIT_LIST_PAGE, sizeof(*p.ours));
    if (!n || !p.ours)
        return ERR_NO_MEMORY;
    if (w->listed_count)
        e = pairing_read(tx, &p);
    for (size_t i = 0; i < w->listed_count && !e; i++)
        e = list_compare(w, n, &totals, a, &w->listed[i], &p.ours[i]);
    if (!e)
        e = notes_store(tx, n);
    if (!e)
        e = totals_store(tx, w->day.text, &totals);
    return e ? e : day_step(tx, &w->day, &w->progress, env_now_ms(w->job->env));
}

static void list_page_read(struct stripe_page *page)
{
    static const struct unit_kind kind = { "reconcile.theirs", UNIT_BACK, list_theirs_run, NULL };
    static const struct unit_kind anew = { "reconcile.anew", UNIT_BACK, step_progress_run, NULL };
    struct day_run *w = CONTAINER_OF(page, struct day_run, page);

    if (page->err == ERR_NOT_FOUND) { /* the place in the list is gone: the day starts again */
        w->progress = (struct progress){ .phase = DAY_CLEAR, .theirs = -w->day.theirs, .anew = 1 };
        step_post(w, &anew, step_done);
        return;
    }
    if (page->err) {
        step_fail(w, page->why);
        return;
    }
    w->listed_count = 0;
    w->listed = arena_alloc(&w->arena, LIMIT_LIST_PAGE, sizeof(*w->listed));
    for (size_t i = 0; w->listed && i < page->count; i++) {
        struct stripe_listed_intent *one = &w->listed[w->listed_count];

        if (stripe_listed_intent(&w->arena, page->items[i], one))
            one->fact = (struct fact){ 0 };
        w->listed_count += one->id.n > 0;
    }
    if (!w->listed) {
        step_fail(w, "no memory");
        return;
    }
    w->progress = (struct progress){ .phase = page->has_more ? DAY_THEIRS : DAY_OURS,
                                     .theirs = (int64_t)page->count };
    if (!page->has_more) /* the list ended */
        w->progress.anew = -w->day.anew;
    else
        snprintf(w->progress.place, sizeof(w->progress.place), STR_FMT, STR_ARG(page->last_id));
    step_post(w, &kind, step_done);
}

void step_theirs(struct day_run *w)
{
    static const struct unit_kind skip = { "reconcile.skip", UNIT_BACK, step_progress_run, NULL };

    if (!listed_gateway(w->r)) {
        w->progress = (struct progress){ .phase = DAY_OURS };
        step_post(w, &skip, step_done);
        return;
    }
    step_page(w, stripe_intents_path(&w->arena, w->day.from_ms, w->day.to_ms), str_of(w->day.place),
              list_page_read);
}

/* --- ours --- */

struct our_page {
    struct day_run *w;
    struct arena *arena;
    struct our_payment *all;
    size_t count;
};

static enum err our_page_keep(void *ctx, const struct row *row)
{
    struct our_page *o = ctx;

    return our_payment_read(o->arena, row, &o->all[o->count++]);
}

/* A payment that was listed needs no query; without a list every payment is queried. A payment that
 * never reached the gateway is left out, and so is one whose operation is still open: its
 * operation's job queries the gateway. */
static bool list_needs_query(const struct reconcile *r, const struct our_payment *p)
{
    const struct gateway *listed = listed_gateway(r);

    if (p->seen)
        return false;
    if (p->intent_id.n)
        return true;
    if (p->books.status == PAYMENT_FAILED || p->has_open_op || p->context == CONTEXT_PARTICIPANT)
        return false;
    return listed && str_eq(p->gateway, str_of(listed->name)); /* by its metadata */
}

/* Ids are ordered by time, so those of a day are a range. */
static struct uuid list_first_id(int64_t ms)
{
    struct uuid id = { 0 };

    for (int i = 0; i < 6; i++)
        id.b[i] = (unsigned char)(ms >> (40 - 8 * i));
    return id;
}

static struct uuid list_place(const struct day *d)
{
    struct uuid id;

    return uuid_parse(str_of(d->place), &id) ? id : list_first_id(d->from_ms);
}

/* Leads to the next page, or after the last page to the next phase. */
static void list_set_progress(struct day_run *w, const struct our_page *o, enum day_phase next)
{
    bool full = o->count == LIMIT_RECONCILE_ROWS;

    w->progress = (struct progress){ .phase = full ? w->day.phase : next };
    if (full)
        uuid_text(o->all[o->count - 1].id, w->progress.place);
}

static enum err our_page_read(struct tx *tx, struct day_run *w, struct arena *a,
                              struct our_page *ret)
{
    struct uuid from = list_place(&w->day), to = list_first_id(w->day.to_ms);
    struct val v[] = { V_TEXT(str_of(w->day.text)), v_uuid(&from), v_uuid(&to),
                       V_INT(LIMIT_RECONCILE_ROWS) };

    *ret = (struct our_page){ .w = w,
                              .arena = a,
                              .all = arena_alloc(a, LIMIT_RECONCILE_ROWS, sizeof(*ret->all)) };
    if (!ret->all)
        return ERR_NO_MEMORY;
    return tx_each(tx, STMT_books_of_day, v, COUNT(v), our_page_keep, ret);
}

/* After the last page: skips the pause and the checks if nothing was noted. */
static enum err list_plan_checks(struct tx *tx, struct day_run *w)
{
    long long until_ms = env_now_ms(w->job->env) + LIMIT_RECONCILE_PAUSE_MS;
    struct row row;
    enum err e;

    if (w->progress.phase != DAY_PAUSE)
        return OK;
    snprintf(w->progress.place, sizeof(w->progress.place), "%lld", until_ms);
    e = TX_ROW(tx, STMT_reconcile_check_next, &row, V_TEXT(str_of(w->day.text)), V_TEXT(S("")));
    if (e != ERR_NOT_FOUND)
        return e;
    w->progress.phase = DAY_SUM;
    w->progress.place[0] = '\0';
    return OK;
}

static enum err list_note_ours(struct tx *tx, struct day_run *w, const struct our_page *o)
{
    struct notes *n = notes_new(o->arena, &w->day);
    enum err e = n ? OK : ERR_NO_MEMORY;

    for (size_t i = 0; i < o->count && !e; i++)
        if (list_needs_query(w->r, &o->all[i]))
            e = note_check(n, o->arena, o->all[i].gateway, &o->all[i].id, o->all[i].intent_id);
    return e ? e : notes_store(tx, n);
}

static enum err list_ours_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    struct our_page o;
    enum err e = our_page_read(tx, w, u->arena, &o);

    if (!e)
        e = list_note_ours(tx, w, &o);
    if (e)
        return e;
    list_set_progress(w, &o, DAY_PAUSE);
    w->progress.ours = (int64_t)o.count;
    e = list_plan_checks(tx, w);
    return e ? e : day_step(tx, &w->day, &w->progress, env_now_ms(w->job->env));
}

void step_ours(struct day_run *w)
{
    static const struct unit_kind kind = { "reconcile.ours", UNIT_BACK, list_ours_run, NULL };

    step_post(w, &kind, step_done);
}

/* --- the sums, after the repairs --- */

static enum err list_sum_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    struct totals totals = { 0 };
    struct our_page o;
    enum err e = our_page_read(tx, w, u->arena, &o);

    if (e)
        return e;
    for (size_t i = 0; i < o.count && !e; i++)
        e = totals_ours(&totals, &o.all[i]);
    list_set_progress(w, &o, DAY_FORGET);
    if (!e)
        e = totals_store(tx, w->day.text, &totals);
    return e ? e : day_step(tx, &w->day, &w->progress, env_now_ms(w->job->env));
}

void step_sum(struct day_run *w)
{
    static const struct unit_kind kind = { "reconcile.sum", UNIT_BACK, list_sum_run, NULL };

    step_post(w, &kind, step_done);
}
