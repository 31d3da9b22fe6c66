/* call.h - a call of the administration: one unit of work, and an answer in JSON. */
#pragma once

#include "base/json/json.h"
#include "qstash/endpoint.h"
#include "store/store.h"

enum { CALL_WORDS = 256 };

struct call {
    struct unit unit; /* its arena is the request's */
    struct visit *v;
    enum err (*run)(struct tx *tx, struct call *c);
    struct buf out; /* what run writes is the answer; nothing: {} */
    int refused;    /* call_refuse() */
    char words[CALL_WORDS];
    void (*then)(
        struct call *c); /* optional: on the executor, once it is durable, before the answer */
};

typedef enum err (*call_fn)(struct tx *tx, struct call *c);

/* Each posts the unit and answers when it is back. Its input is v->more. */
void call_read(struct visit *v, call_fn run);
void call_write(struct visit *v, call_fn run);
void call_write_then(struct visit *v, call_fn run, void (*then)(struct call *c));

/* For run: whatever the unit did is undone, and this is the answer. */
enum err call_refuse(struct call *c, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* False: it is none (input_name_is_valid()), and the answer was sent. what: "queue name". */
bool visit_name(struct visit *v, struct str name, const char *what) ANSWERS;
/* False: the body has another Content-Type or several of them, and 415 was sent. A body without a
 * Content-Type is taken for JSON. For calls where a body without filters selects everything. */
bool visit_body_is_json(struct visit *v) ANSWERS;
/* The body as a JSON object. NULL: the answer was sent. */
cJSON *visit_object(struct visit *v) ANSWERS;
