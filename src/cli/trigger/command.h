/* command.h - the parts of `ichido trigger`. Only its own files include this.
 *
 *   trigger_steps   the calls that cause each event
 *   trigger_call    one call to the sandbox */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/why.h"

enum { TRIGGER_STEPS = 6, TRIGGER_BASE = 320 };

/* "$1" in a path or form is the id in the answer of step 1. */
struct trigger_step {
    const char *method, *path, *form;
    bool may_decline; /* a card_error is the wanted result */
};

struct trigger {
    const char *event;
    const char *en, *ja; /* what is done */
    struct trigger_step steps[TRIGGER_STEPS];
};

extern const struct trigger triggers[];
extern const size_t trigger_count;
const struct trigger *trigger_find(struct str event); /* NULL: there is none */
const char *trigger_nearest(struct str event);        /* NULL: nothing is like it */

/* --- the sandbox --- */

struct trigger_line;

/* Reads the address of the sandbox, "http://127.0.0.1:12111" or "127.0.0.1:12111". False: it is no
 * address, or not on this machine. */
bool trigger_base(struct str given, char ret_base[TRIGGER_BASE]);
struct trigger_line *trigger_line_open(const char *base, struct str key); /* NULL: no memory */
void trigger_line_free(struct trigger_line *l);
/* OK: there is an answer, with any status. Other errors: `why` says why. */
enum err trigger_call(struct trigger_line *l, struct arena *a, const char *method, struct str path,
                      struct str form, int *ret_status, struct str *ret_answer, struct why *why);
