/* payments.h - the routes of payments (P1, P2), for /payments... and /api/v1/payments... alike.
 *
 *   401 -> may owners do this at all (403) -> 415, 400 -> the key -> booking or payment
 *
 * The route's role decides the first check (endpoint/authorize.h), these handlers the next two, and
 * payment/ the rest. A rejected request has changed nothing. */
#pragma once

#include "auth/auth.h"
#include "base/json/json.h"
#include "endpoint/answer.h"
#include "http/http.h"
#include "payment/operate.h"

struct api_payments {
    struct payments *payments;
    struct str owner_may; /* ICHIDO_OWNER_MAY */
};

/* ctx is a struct api_payments; the first parameter of a path is the payment's id. Bodies need no
 * more than LIMIT_PAYMENT_BODY. The last two are in payment_read.c and payment_list.c. */
void api_payment_create(struct request *r, void *ctx, const struct principal *p);
void api_payment_capture(struct request *r, void *ctx, const struct principal *p);
void api_payment_refund(struct request *r, void *ctx, const struct principal *p);
void api_payment_void(struct request *r, void *ctx, const struct principal *p);
void api_payment_get(struct request *r, void *ctx, const struct principal *p);
void api_payment_list(struct request *r, void *ctx, const struct principal *p);

/* What a handler notes on its request for the metrics (admin/system/metrics.c). */
enum payment_note {
    NOTE_NONE,
    NOTE_REPLAYED, /* the answer of an earlier request with the same key */
    NOTE_DECLINED, /* 201, and the payment FAILED (P5) */
};

/* --- what the files of these routes share --- */

/* Whether the caller may do `verb`: owners may do only what ICHIDO_OWNER_MAY names. False: 403 was
 * answered. */
bool payment_caller_may(struct request *r, const struct api_payments *c, const struct principal *p,
                        struct str verb) ANSWERS;

/* A request that waits for its operation, in its own arena. */
struct payment_call {
    struct operate operate; /* payments, kind, user, may_any, key, hash and what is asked for */
    struct request *request;
    const char *place; /* for Location: the path below which the created payable is read, like
                          "/api/v1/purchases/"; NULL: the path of payments */
};
/* Captures, refunds or voids the payment in the path. The caller's permission was checked. */
void payment_operate(struct request *r, const struct api_payments *api, const struct principal *p,
                     enum op_kind kind);
/* Begins the operation; the request is answered when it ends. */
void payment_begin(struct request *r, const struct api_payments *api, struct payment_call *c);

/* Allocates the call after checking the body's content type. NULL: the answer was sent. */
struct payment_call *payment_call_new(struct request *r, const struct principal *p,
                                      enum op_kind kind) ANSWERS;
/* Reads the input and begins the operation, or answers 400 with every problem. read() returns
 * NO_MEMORY if the request's arena is full. */
void payment_check_and_begin(struct request *r, const struct api_payments *api,
                             struct payment_call *c,
                             enum err (*read)(struct request *r, struct operate *o,
                                              struct json_problems *p));

/* A request that reads the payment or purchase in its path; one of another user is 403 and nothing
 * more (A2). */
struct payment_look {
    struct api_answer answer;
    struct uuid id, user;
    bool may_any, only_looks;
    struct uuid owner; /* out, with the answer's text */
};
/* The payment as JSON, with the fields that this caller may see (A6). */
struct str payment_look_json(const struct payment_look *l, struct arena *a, const struct payment *p,
                             const struct refund *refunds, size_t refund_count);
/* Checks that the caller may read, then posts the unit of work, whose run() fills the struct
 * payment_look that embeds it. */
void payment_look_up(struct request *r, const struct api_payments *api, const struct principal *p,
                     const struct unit_kind *kind);
