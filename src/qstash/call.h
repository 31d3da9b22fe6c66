/* call.h - an API call that is one unit of work with a JSON answer. */
#pragma once

#include "base/json/json.h"
#include "qstash/endpoint.h"
#include "store/store.h"

enum { API_CALL_WORDS = 256 };

struct api_call {
    struct unit unit; /* its arena is that of the request */
    struct qstash_request *v;
    enum err (*run)(struct tx *tx, struct api_call *c);
    struct buf out; /* run writes the answer; empty: {} */
    int refused;    /* the status given to api_call_refuse() */
    char words[API_CALL_WORDS];
    /* Optional: runs on the executor after the commit, before the answer. */
    void (*then)(struct api_call *c);
};

typedef enum err (*api_call_fn)(struct tx *tx, struct api_call *c);

/* Post the unit and answer after it. The input of run is v->more. */
void api_call_read(struct qstash_request *v, api_call_fn run);
void api_call_write(struct qstash_request *v, api_call_fn run);
void api_call_write_then(struct qstash_request *v, api_call_fn run,
                         void (*then)(struct api_call *c));

/* For run: rolls the unit back and answers with this. */
enum err api_call_refuse(struct api_call *c, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* False: the name is invalid (input_name_is_valid()), and 400 was sent. what: "queue name". */
bool qstash_request_name(struct qstash_request *v, struct str name, const char *what) ANSWERS;
/* False: the Content-Type is not JSON or given twice, and 415 was sent. A body without a
 * Content-Type counts as JSON. For calls where a body without filters selects everything. */
bool qstash_request_is_json(struct qstash_request *v) ANSWERS;
/* The body as a JSON object. NULL: the answer was sent. */
cJSON *qstash_request_object(struct qstash_request *v) ANSWERS;
