/* run.h - what the files of reconciliation share. Only they include this. */
#pragma once

#include "base/limits.h"
#include "domain/day.h"
#include "domain/ledger_compare.h"
#include "gateway/stripe/ledger.h"
#include "payment/rows.h"
#include "reconcile/reconcile.h"

/* In their order. */
enum day_phase {
    DAY_CLEAR,  /* what an earlier run of the day left is forgotten */
    DAY_THEIRS, /* page by page what the provider has; place: the last id */
    DAY_OURS,   /* what we have and the provider did not name; place: the last id, as hex */
    DAY_PAUSE,  /* place: until when, in milliseconds */
    DAY_CHECK,  /* one by one what differed; place: the last key */
    DAY_SUM,    /* what we have of it, mended; place as of DAY_OURS */
    DAY_FORGET, /* what only the run needed */
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
    int64_t anew;     /* how often the list that is being read lost its place */
};

const char *day_phase_name(enum day_phase p);
/* NOT_FOUND. */
enum err day_read(struct tx *tx, struct str text, struct day *ret_day);

/* What one step adds to the day, and where it leads. */
struct stride {
    enum day_phase phase;
    char place[PLACE_MAX + 1];
    int64_t theirs, ours, checked, differences, healed, anew;
};
/* STALE: somebody else works on this day. */
enum err day_step(struct tx *tx, const struct day *d, const struct stride *s, int64_t now_ms);

/* --- one payment of ours --- */

struct our_payment {
    struct uuid id;
    struct str gateway, intent_id, listed_intent_id; /* listed: of the row it was found by */
    enum payment_context context;
    bool has_open_op, seen;
    int64_t created_ms;
    struct books_ours books;
};
/* Of OUR_COLUMNS. Texts go to the arena. */
enum err our_payment_read(struct arena *a, const struct row *row, struct our_payment *ret);

/* The intent names the payment and is not its own; or is a try on the gateway's page that brought
 * no money: such a payment has no intent of its own before (D18). intent_id may be empty. */
bool is_other(const struct our_payment *p, struct str intent_id, const struct books_theirs *t);

/* --- sums, by side and currency --- */

enum { TOTALS = LIMIT_RECONCILE_ROWS }; /* of one step: a row adds to one of them */

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
/* SUM_TOO_LARGE: 64 bits do not hold one of the sums. */
enum err totals_ours(struct totals *t, const struct our_payment *p);
enum err totals_theirs(struct totals *t, struct str gateway, const char *side,
                       const struct books_theirs *b);
enum err totals_store(struct tx *tx, const char *day, const struct totals *t);

/* --- what is to be looked at again --- */

struct check {
    char key[LIMIT_GATEWAY_ID + 1];
    struct str gateway, intent_id; /* intent_id may be empty */
    bool has_payment;
    struct uuid payment;
};

/* --- the steps --- */

struct working { /* one run of the job */
    struct reconcile *r;
    struct job *job;
    struct arena arena; /* of one step */
    struct day day;
    struct stride stride; /* of the step under way */
    int steps;
    bool over; /* nothing is left to do, or somebody else does it */
    int64_t again_ms;
    struct unit unit;

    struct stripe_page page;
    struct stripe_listed_intent *listed;
    size_t listed_count;

    struct check check;
    struct payment payment; /* of the check, as it was before the call */
    struct gateway_call call;
    struct books_theirs theirs;
    struct fact *refunds; /* of the check, as the gateway tells them */
    size_t refund_count;
    struct refund *our_refunds;
    size_t our_count, our_next;
    struct gateway_call refund_call;
    bool no_mending;     /* what was tried failed: it is only told */
    enum difference odd; /* what is told of one that could not be asked for, or not be understood */
};

/* Posts the unit's work; `done` is step_done() or what ends with it. */
void step_post(struct working *w, const struct unit_kind *kind, void (*done)(struct unit *));
void step_done(struct unit *u);                     /* it is kept: on with the next */
void step_fail(struct working *w, const char *why); /* the gateway: later again */
/* Asks for a page of a list. path.p NULL: no memory for it. */
void step_page(struct working *w, struct str path, struct str after,
               void (*done)(struct stripe_page *));

void step_theirs(struct working *w); /* list.c */
void step_ours(struct working *w);
void step_sum(struct working *w);
void step_check(struct working *w);    /* check.c */
void check_refunds(struct working *w); /* refunds.c; then */
void check_settle(struct working *w);  /* w->theirs is whole: compared, mended, kept */

/* The gateway whose books are read as a list; NULL: there is none. */
struct gateway *listed_gateway(const struct reconcile *r);

/* What the provider says of one intent. */
struct books_theirs theirs_of(const struct fact *f, struct minor refunded);
/* False: the sum is too large. */
bool theirs_add_refund(struct books_theirs *b, const struct fact *f);
