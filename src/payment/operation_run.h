/* operation_run.h - one operation under way: what it needs for its call, and what the call said. Made by a
 * claim (then it is sent at once) or by the job that found the operation's message (then it is read
 * first). Owned by the job. */
#pragma once

#include "base/why.h"
#include "payment/keys.h"
#include "payment/rows.h"

enum { RUN_NOTES = 4 };

/* What a subject has to say to the gateway (payable.h). */
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
    bool fresh;  /* a client asked just now: it may be sent */
    bool asked;  /* this time the gateway was asked, nothing was sent */
    bool called; /* call has an answer */
    char trace[56];
    struct span resumed, persist; /* operation_span.h */
    struct lap publishing;
    enum payment_status settled_as;

    struct job *job;
    struct unit load;
    struct gateway_call call;
    struct gateway_call cancel; /* after a decline: the intent must not stay alive (D11); before a
                                   session: the old one must not (D18) */
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
