/* home.h - what the sandbox's front page shows, between the files that read it and write it.
 */
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
    bool told;        /* somebody wanted it */
    int64_t on_way;   /* messages that are not delivered yet, */
    int64_t attempts; /* how often the one that was tried most was tried, */
    struct str why;   /* and what went wrong */
    bool dead;
};

enum { HOME_TIMES_MOST = 1000000 };

struct home_view {
    struct unit unit; /* home.c's own */
    struct request *request;
    struct sandbox *s;
    enum language language;
    int64_t now_ms;
    struct home_intent intents[HOME_ROWS], waiting[HOME_ROWS], sessions[HOME_ROWS];
    struct home_intent paypay[HOME_ROWS], codes[HOME_ROWS]; /* card: the merchant's id */
    size_t intent_count, waiting_count, session_count, event_count, paypay_count, code_count;
    struct pp_home *paypay_switches; /* sandbox/paypay/home.c's own */
    struct home_event events[HOME_EVENTS];
};

/* The whole page; on the executor. */
void home_write(struct buf *b, const struct home_view *v);
void home_write_switches(struct buf *b, const struct home_view *v); /* home_switches.c */
void home_write_form(struct buf *b, const struct home_view *v);     /* its begin, with lang */
/* The begin of a form of buttons that say what goes wrong with the next calls, with their number. */
void home_write_times(struct buf *b, const struct home_view *v);
void home_write_clear(struct buf *b, const struct home_view *v, const char *name); /* a form */
void home_write_button(struct buf *b, const struct home_view *v, const char *name,
                       const char *value, const char *en, const char *ja);
void home_write_toggle(struct buf *b, const struct home_view *v, const char *name,
                       const char *value, bool pressed, const char *en, const char *ja);
/* Behind what a rule does: how often, where and when; ends its li. */
void home_write_rule_rest(struct buf *b, const struct home_view *v, struct str method,
                          struct str path, int64_t skip, int64_t times);
void home_say(struct buf *b, const struct home_view *v, const char *en, const char *ja);

/* --- sandbox/paypay/home.c: the switches of the pretend PayPay --- */

struct form;

enum err pp_home_read(struct home_view *v, struct tx *tx); /* in the unit */
void pp_home_write(struct buf *b, const struct home_view *v);
/* False: no button of PayPay's was pressed. */
bool pp_home_press(struct request *r, struct sandbox *s, const struct form *form) ANSWERS;

/* A rule that one click sets, by name; press.c has what it does. */
struct home_rule {
    const char *name, *en, *ja;
    const char *body; /* as POST /_sandbox/faults takes it, without times and braces */
};
extern const struct home_rule home_rules[];
extern const size_t home_rule_count;
