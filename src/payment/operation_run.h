/* operation_run.h - one operation under way: what its call needs, and the gateway's reply. A claim
 * makes it (then it is submitted at once), or the job that found the operation's message (then it is
 * read first). The job owns it. */
#pragma once

#include "base/why.h"
#include "payment/keys.h"
#include "payment/rows.h"

enum { RUN_NOTES = 4 };

/* What the payable adds to the call of the gateway (payable.h). */
struct call_extra {
    bool capture_now;
    struct str method_type;
    struct gateway_note notes[RUN_NOTES];
    size_t note_count;
    struct str item, email, success_url, cancel_url;
    struct str old_session; /* to be ended before the new one is made (D18) */
};

struct op_run {
    struct payments *p;
    struct arena arena;
    struct operation op;
    struct payment payment; /* as it was before the call */
    struct refund refund;   /* op.has_refund */
    struct call_extra extra;
    bool loaded;
    bool fresh;  /* a client asked just now: it may be submitted */
    bool asked;  /* this run queried the gateway and submitted nothing */
    bool called; /* call has an answer */
    char trace[56];
    struct span resumed, persist; /* operation_span.h */
    struct lap publishing;
    enum payment_status settled_as;

    struct job *job;
    struct unit load;
    struct gateway_call call;
    struct gateway_call cancel; /* cancels the intent after a decline (D11), or the old session
                                   before a new one (D18) */
    struct gateway_tries tries; /* of both: settle writes them (O7) */
    bool intent_is_dead;

    struct answer *answer; /* of the last run of settle, for after its commit */
};

struct op_run *run_new(struct payments *p); /* NULL: no memory */
void run_free(struct op_run *r);

/* The operation, its payment and its refund. */
enum err run_read(struct tx *tx, struct op_run *r, struct uuid operation);

/* settle.c */
enum err operation_settle(struct tx *tx, struct job *j, void *ctx, struct why *why);
