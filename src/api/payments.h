/* payments.h - the routes of payments (P1, P2), for /payments... and /api/v1/payments... alike.
 *
 *   401 -> may owners do this at all (403) -> 415, 400 -> the key -> booking or payment
 *
 * The first is decided by the route's role (endpoint/authorize.h), the next two here, the rest in
 * payment/. Whatever is refused has changed nothing. */
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

/* What a handler notes on its request, for who counts answers (admin/system/metrics.c). */
enum payment_note {
    NOTE_NONE,
    NOTE_REPLAYED, /* the answer of an earlier request with the same key */
    NOTE_DECLINED, /* 201, and the payment FAILED (P5) */
};

/* --- what the files of these routes share --- */

/* Whether the caller may do `verb`: an owner may only what ICHIDO_OWNER_MAY names. False: 403 was
 * answered. */
bool payment_caller_may(struct request *r, const struct api_payments *c, const struct principal *p,
                        struct str verb) ANSWERS;

/* A request that waits for its operation, in its own arena. */
struct payment_call {
    struct operate operate; /* payments, kind, user, may_any, key, hash and what is asked for */
    struct request *request;
    const char *place; /* where the subject that it makes can be read: "/api/v1/purchases/";
                          NULL: it makes a payment */
};
/* Capture, refund or void of the payment in the path, for who was found to be allowed to ask. */
void payment_operate(struct request *r, const struct api_payments *api, const struct principal *p,
                     enum op_kind kind);
/* Starts it, and answers. */
void payment_begin(struct request *r, const struct api_payments *api, struct payment_call *c);

/* One of them, where its body is of a type that we read. NULL: the answer was sent. */
struct payment_call *payment_call_new(struct request *r, const struct principal *p,
                                      enum op_kind kind) ANSWERS;
/* Reads what is asked for, and begins, or answers all that is wrong with it. read() says NO_MEMORY
 * where the request is larger than its arena. */
void payment_check_and_begin(struct request *r, const struct api_payments *api,
                             struct payment_call *c,
                             enum err (*read)(struct request *r, struct operate *o,
                                              struct json_problems *p));

/* A look at the one whose id is in the path; another user's is 403 and nothing more (A2). */
struct payment_look {
    struct api_answer answer;
    struct uuid id, user;
    bool may_any, only_looks;
    struct uuid owner; /* out, with the answer's text */
};
/* As this caller may see it (A6). */
struct str payment_look_json(const struct payment_look *l, struct arena *a, const struct payment *p,
                             const struct refund *refunds, size_t refund_count);
/* Checks that the caller may read, then posts the unit, whose run() fills the struct payment_look
 * around it. */
void payment_look_up(struct request *r, const struct api_payments *api, const struct principal *p,
                     const struct unit_kind *kind);
