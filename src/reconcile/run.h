/* run.h - what the files of reconcile/ share. Only they include this. */
#pragma once

#include "base/limits.h"
#include "domain/day.h"
#include "domain/ledger_compare.h"
#include "gateway/stripe/ledger.h"
#include "payment/rows.h"
#include "reconcile/reconcile.h"

/* In their order. */
enum day_phase {
    DAY_CLEAR,  /* deletes what an earlier run of the day left */
    DAY_THEIRS, /* reads the provider's list by pages; place: the last id */
    DAY_OURS,   /* reads our payments that the provider did not list; place: the last id */
    DAY_PAUSE,  /* place: until when, in milliseconds */
    DAY_CHECK,  /* checks the noted differences one by one; place: the last key */
    DAY_SUM,    /* sums up our payments after the repairs; place as in DAY_OURS */
    DAY_FORGET, /* deletes what only the run needed */
    DAY_DONE,
    DAY_PHASES
};

enum { PLACE_MAX = LIMIT_GATEWAY_ID };

struct day { /* a row of reconciliations */
    char text[DAY_TEXT + 1];
    int64_t from_ms, to_ms;
    enum day_phase phase;
    char place[PLACE_MAX + 1];
    struct uuid run;
    int64_t theirs, ours, checked, differences, healed, started_ms;
    int64_t failures; /* in a row */
    int64_t anew;     /* how often the provider's list was started again */
};

const char *day_phase_name(enum day_phase p);
/* NOT_FOUND. */
enum err day_read(struct tx *tx, struct str text, struct day *ret_day);

/* What one step adds to the day, and the phase and place it leads to. */
struct progress {
    enum day_phase phase;
    char place[PLACE_MAX + 1];
    int64_t theirs, ours, checked, differences, healed, anew;
};
/* STALE: another run works on this day. */
enum err day_step(struct tx *tx, const struct day *d, const struct progress *s, int64_t now_ms);

/* --- one payment of ours --- */

struct our_payment {
    struct uuid id;
    struct str gateway, intent_id, listed_intent_id; /* listed: the intent it was found by */
    enum payment_context context;
    bool has_open_op, seen;
    int64_t created_ms;
    struct books_ours books;
};
/* Texts go to the arena. */
enum err our_payment_read(struct arena *a, const struct row *row, struct our_payment *ret);

/* Is this an intent that names the payment without being its own? A try on the gateway's payment
 * page that brought no money is one, too, since the payment has no intent before (D18). intent_id
 * may be empty. */
bool is_other(const struct our_payment *p, struct str intent_id, const struct books_theirs *t);

/* --- sums, by side and currency --- */

enum { TOTALS = LIMIT_RECONCILE_ROWS }; /* of one step: each row adds to one total */

struct totals {
    struct total {
        struct str gateway;
        const char *side;
        char currency[4];
        int64_t payments;
        struct minor captured, refunded, fees;
    } all[TOTALS];
    size_t count;
};
/* SUM_TOO_LARGE: a sum does not fit into 64 bits. */
enum err totals_ours(struct totals *t, const struct our_payment *p);
enum err totals_theirs(struct totals *t, struct str gateway, const char *side,
                       const struct books_theirs *b);
enum err totals_store(struct tx *tx, const char *day, const struct totals *t);

/* --- a noted difference --- */

struct check {
    char key[LIMIT_GATEWAY_ID + 1];
    struct str gateway, intent_id; /* intent_id may be empty */
    bool has_payment;
    struct uuid payment;
};

/* --- the steps --- */

struct day_run { /* one run of the job */
    struct reconcile *r;
    struct job *job;
    struct arena arena; /* of one step */
    struct day day;
    struct progress progress; /* of the step under way */
    int steps;
    bool over; /* nothing is left to do, or another run does it */
    int64_t again_ms;
    struct unit unit;

    struct stripe_page page;
    struct stripe_listed_intent *listed;
    size_t listed_count;

    struct check check;
    struct payment payment; /* of the check, as read before the call */
    struct gateway_call call;
    struct books_theirs theirs;
    struct fact *refunds; /* of the check, from the gateway */
    size_t refund_count;
    struct refund *our_refunds;
    size_t our_count, our_next;
    struct gateway_call refund_call;
    bool no_repair;      /* the repair failed: the difference is only reported */
    enum difference odd; /* reported if the gateway had no usable answer */
};

/* Posts a unit; `done` is step_done(), or ends with a call of it. */
void step_post(struct day_run *w, const struct unit_kind *kind, void (*done)(struct unit *));
enum err step_progress_run(struct tx *tx, struct unit *u); /* a unit that only stores w->progress */
void step_done(struct unit *u);                     /* the step is durable: starts the next one */
void step_fail(struct day_run *w, const char *why); /* the gateway failed: tries again later */
/* Requests a page of the provider's list. path.p NULL: no memory. */
void step_page(struct day_run *w, struct str path, struct str after,
               void (*done)(struct stripe_page *));

void step_theirs(struct day_run *w); /* list.c */
void step_ours(struct day_run *w);
void step_sum(struct day_run *w);
void step_check(struct day_run *w);    /* check.c */
void check_refunds(struct day_run *w); /* refunds.c; ends with check_settle() */
void check_settle(struct day_run *w);  /* compares w->theirs, repairs, stores */

/* The gateway that lists its payments; NULL: there is none. */
struct gateway *listed_gateway(const struct reconcile *r);

/* The provider's side of one intent. */
struct books_theirs theirs_of(const struct fact *f, struct minor refunded);
/* False: the sum does not fit into 64 bits. */
bool theirs_add_refund(struct books_theirs *b, const struct fact *f);
