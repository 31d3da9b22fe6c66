/* home.h - the data of the sandbox's front page, for the files that read it and write it. */
#pragma once

#include "sandbox/fault/switches.h"
#include "sandbox/page/page.h"

enum { HOME_ROWS = 20, HOME_EVENTS = 30 };

struct home_intent {
    struct str id, currency, status, card, description;
    int64_t created_ms, amount;
};

struct home_event {
    struct str id, type, object;
    int64_t created_ms;
    bool told;        /* it has or had a receiver */
    int64_t on_way;   /* number of messages not delivered yet */
    int64_t attempts; /* attempts of the message that was tried most often */
    struct str why;   /* why that message failed */
    bool dead;
};

enum { HOME_TIMES_MOST = 1000000 };

struct home_view {
    struct unit unit; /* home.c's */
    struct request *request;
    struct sandbox *s;
    enum language language;
    int64_t now_ms;
    struct home_intent intents[HOME_ROWS], waiting[HOME_ROWS], sessions[HOME_ROWS];
    struct home_intent paypay[HOME_ROWS], codes[HOME_ROWS]; /* card: the merchant's id */
    size_t intent_count, waiting_count, session_count, event_count, paypay_count, code_count;
    struct pp_home *paypay_switches; /* private to paypay/home.c */
    struct home_event events[HOME_EVENTS];
};

/* The whole page; on the executor. */
void home_write(struct buf *b, const struct home_view *v);
void home_write_switches(struct buf *b, const struct home_view *v); /* home_switches.c */
/* begins a form, with its language */
void home_write_form(struct buf *b, const struct home_view *v);
/* Begins a form of fault buttons, with the field for the number of calls. */
void home_write_times(struct buf *b, const struct home_view *v);
/* a form with one button */
void home_write_clear(struct buf *b, const struct home_view *v, const char *name);
void home_write_button(struct buf *b, const struct home_view *v, const char *name,
                       const char *value, const char *en, const char *ja);
void home_write_toggle(struct buf *b, const struct home_view *v, const char *name,
                       const char *value, bool pressed, const char *en, const char *ja);
/* Writes how often, where and when a rule applies, and ends its list item. */
void home_write_rule_rest(struct buf *b, const struct home_view *v, struct str method,
                          struct str path, int64_t skip, int64_t times);
void home_say(struct buf *b, const struct home_view *v, const char *en, const char *ja);

/* --- sandbox/paypay/home.c: PayPay's part of the page --- */

struct form;

enum err pp_home_read(struct home_view *v, struct tx *tx); /* in the unit */
void pp_home_write(struct buf *b, const struct home_view *v);
/* False: no button of PayPay's part was pressed. */
bool pp_home_press(struct request *r, struct sandbox *s, const struct form *form) ANSWERS;

/* A rule that one click adds; press.c uses its body. */
struct home_rule {
    const char *name, *en, *ja;
    const char *body; /* as POST /_sandbox/faults takes it, without braces and times */
};
extern const struct home_rule home_rules[];
extern const size_t home_rule_count;
