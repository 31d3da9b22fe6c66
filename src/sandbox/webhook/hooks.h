/* hooks.h - who is told of events: the receiver of the options, and webhook endpoints that were
 * made by call. What events.c, deliver.c, sandbox/stripe/event_list.c, sandbox/stripe/webhook_endpoints.c and sandbox/control/secrets.c share. */
#pragma once

#include "sandbox/stripe/model.h"

struct hook {
    struct str id; /* we_... */
    int64_t created_ms;
    struct str url, events; /* a JSON array */
    struct str description, metadata;
    bool disabled;
    struct str api_version, secret;
    struct str previous; /* signs, too, */
    int64_t previous_until_ms;
};

/* --- sandbox/stripe/rows_events.c --- */

enum err sb_hook_read(struct tx *tx, struct str id, struct hook *ret);
bool sb_hook_write(struct work *w, const struct hook *h);
bool sb_hook_page(struct work *w, struct page *p, struct hook **ret);

/* --- events.c --- */

#define ID_EVENT "evt_3"

/* An event's id is a UUIDv7 in other digits, and back. False: no event has such an id. */
struct str sb_event_id(struct arena *a, struct uuid u);
bool sb_event_uuid(struct str id, struct uuid *ret_uuid);
struct str sb_event_first_at(struct work *w, int64_t ms); /* the smallest id of that time */

/* Whose message it is, and which: the same two always give the same id, so that whether somebody
 * still has to be told is one look. An empty endpoint is the receiver of the options. */
struct uuid sb_told_id(struct uuid event, struct str endpoint);

/* Told once more, under a message of its own. */
enum err sb_event_again(struct sandbox *s, struct tx *tx, struct str id, struct str endpoint,
                        int64_t now_ms);
/* ... to everybody who wants it. */
enum err sb_event_again_all(struct sandbox *s, struct tx *tx, struct str id, struct str type,
                            int64_t now_ms);
bool sb_hook_wants(struct str events, struct str type);

/* --- sandbox/control/secrets.c --- */

enum { SECRETS = 2 };

struct secrets {
    struct str now, before; /* empty: only one signs */
};
/* What signs for the receiver of the options at that time. */
enum err secrets_builtin(struct sandbox *s, struct tx *tx, int64_t now_ms, struct secrets *ret);
struct secrets secrets_of(const struct hook *h, int64_t now_ms);

/* --- sandbox/stripe/indent.c --- */

/* Adds compact JSON, which is known to be sound, with two blanks a level, as Stripe sends it. */
void sb_indent(struct buf *b, struct str json);
