/* hooks.h - the receivers of events: the one of the settings, and webhook endpoints that were made
 * by a call. */
#pragma once

#include "sandbox/stripe/model.h"

struct hook {
    struct str id; /* we_... */
    int64_t created_ms;
    struct str url, events; /* a JSON array */
    struct str description, metadata;
    bool disabled;
    struct str api_version, secret;
    struct str previous; /* still signs until previous_until_ms */
    int64_t previous_until_ms;
};

/* --- sandbox/stripe/rows_events.c --- */

enum err sb_hook_read(struct tx *tx, struct str id, struct hook *ret);
bool sb_hook_write(struct work *w, const struct hook *h);
bool sb_hook_page(struct work *w, struct list_page *p, struct hook **ret);

/* --- events.c --- */

#define ID_EVENT "evt_3"

/* Converts between an event's UUIDv7 and its id. False: not an event's id. */
struct str sb_event_id(struct arena *a, struct uuid u);
bool sb_event_uuid(struct str id, struct uuid *ret_uuid);
struct str sb_event_first_at(struct work *w, int64_t ms); /* the smallest id of that time */

/* The id of the message for this event and receiver. It is always the same, so one lookup tells
 * whether the message still exists. An empty endpoint is the receiver of the settings. */
struct uuid sb_webhook_message_id(struct uuid event, struct str endpoint);

/* Sends an event again, with a new message. */
enum err sb_event_resend(struct sandbox *s, struct tx *tx, struct str id, struct str endpoint,
                         int64_t now_ms);
/* Sends an event again to every receiver of its type. */
enum err sb_event_resend_all(struct sandbox *s, struct tx *tx, struct str id, struct str type,
                             int64_t now_ms);
bool sb_hook_wants(struct str events, struct str type);

/* --- sandbox/control/secrets.c --- */

enum { SECRETS = 2 };

struct secrets {
    struct str now, before; /* before is empty: only one signs */
};
/* The secrets that sign for the receiver of the settings at that time. */
enum err secrets_builtin(struct sandbox *s, struct tx *tx, int64_t now_ms, struct secrets *ret);
struct secrets secrets_of(const struct hook *h, int64_t now_ms);

/* --- sandbox/stripe/indent.c --- */

/* Appends valid compact JSON with two spaces a level, as Stripe sends it. */
void sb_indent(struct buf *b, struct str json);
