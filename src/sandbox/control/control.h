/* control.h - what the files behind /_sandbox share; private to sandbox/. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"
#include "sandbox/stripe/model.h"

/* Answers with the text, or with NO_MEMORY if it is incomplete. Releases the text. */
void control_reply(struct request *r, int status, struct str type, struct buf *text);
/* The undecoded value in the query; empty if absent. */
struct str control_query(const struct request *r, struct str name);

/* For changes. False: another site's page sent the request, and it has been rejected. */
bool control_from_own_page(struct request *r) ANSWERS;

/* A strictly read body. */
struct control_body {
    cJSON *body;
    struct json_problems problems;
};
/* False: the request has been answered. */
bool control_body_begin(struct control_body *in, struct request *r, const char *const *names,
                        size_t n) ANSWERS;
/* False: a field was invalid, and the request has been answered. The body and its texts are freed
 * in any case. */
bool control_body_end(struct control_body *in, struct request *r) ANSWERS;

/* --- act.c: one read or change behind /_sandbox --- */

struct act {
    struct unit unit;
    struct request *request;
    struct sandbox *sandbox;
    struct str id; /* the {id} of the path */
    struct str text[2];
    int64_t number;
    bool form; /* a person asks: answer with a page */
    /* In the unit: sets one of the answers below, or fails. */
    enum err (*run)(struct act *a, struct work *w);
    struct str json, html, location; /* in the arena */
    const char *why;                 /* why it failed; NULL: the err's own text */
};

/* Reads the body's texts by name into act.text. A text that is `required` must be there. An empty
 * body has no texts. False: the request has been answered. */
struct act_text {
    const char *name;
    bool required;
};
bool act_read(struct request *r, struct act *a, const struct act_text *texts, size_t n) ANSWERS;
/* Reads a form's values by name. False: the request has been answered. */
bool act_read_form(struct request *r, struct act *a, const char *const *names, size_t n) ANSWERS;
bool act_is_form(const struct request *r);
/* Runs a copy of the act. reads: it changes nothing. */
void act_post(struct request *r, struct sandbox *s, const struct act *as, bool reads);

/* --- the handlers, by file --- */

void control_rules(struct request *r, void *sandbox); /* faults.c */
void control_add_rule(struct request *r, void *sandbox);
void control_clear_rules(struct request *r, void *sandbox);
void control_webhooks(struct request *r, void *sandbox);
void control_set_webhooks(struct request *r, void *sandbox);
void control_chaos(struct request *r, void *sandbox);
void control_set_chaos(struct request *r, void *sandbox);
void control_end_chaos(struct request *r, void *sandbox);
void control_home(struct request *r, void *sandbox);         /* sandbox/page/home.c */
void control_press(struct request *r, void *sandbox);        /* sandbox/page/press.c */
void control_ledger(struct request *r, void *sandbox);       /* ledger.c */
void control_ask_customer(struct request *r, void *sandbox); /* sandbox/page/authenticate.c */
void control_authenticate(struct request *r, void *sandbox);
void control_resend(struct request *r, void *sandbox);        /* sandbox/webhook/events.c */
void control_show_checkout(struct request *r, void *sandbox); /* sandbox/page/checkout.c */
void control_use_checkout(struct request *r, void *sandbox);
void control_pay_checkout(struct request *r, void *sandbox);
void control_show_voucher(struct request *r, void *sandbox); /* sandbox/page/voucher.c */
void control_pay_voucher(struct request *r, void *sandbox);
void control_end_voucher(struct request *r, void *sandbox);
void control_show_transfer(struct request *r, void *sandbox); /* sandbox/page/transfer.c */
void control_send_transfer(struct request *r, void *sandbox);
void control_roll(struct request *r, void *sandbox);   /* secrets.c */
void control_strict(struct request *r, void *sandbox); /* sandbox/stripe/strict.c */
void control_set_strict(struct request *r, void *sandbox);
void control_move_refund(struct request *r, void *sandbox); /* money.c */
void control_expire_hold(struct request *r, void *sandbox);
void control_open_dispute(struct request *r, void *sandbox); /* disputes.c */
void control_close_dispute(struct request *r, void *sandbox);
