/* listeners.h - what the files of the relay share. Only they include this. */
#pragma once

#include "base/limits.h"
#include "base/uuid.h"
#include "sandbox/impl.h"
#include "sandbox/relay/relay.h"

enum { RELAY_SECRET = 6 + 64, RELAY_ID = 38 }; /* whsec_ and hex; cliws_ and digits */

struct websocket;

struct relay {
    struct sandbox *s;
    _Atomic int64_t live; /* sessions, as of the last commit that looked; more than 0 before */
    /* on the executor: */
    struct link *links;
    int busy; /* units under way */
    bool ended;
    struct unit start;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

static inline struct relay *relay_of(const struct sandbox *s)
{
    return impl_of(s)->relay;
}

void relay_post(struct relay *r, struct unit *u); /* counted until relay_came_back() */
void relay_came_back(struct relay *r);
void relay_pump_all(struct relay *r); /* on the executor: something new waits */
void relay_links_free(struct relay *r);

/* --- rows.c: on a store thread --- */

struct relay_row {
    struct str id;
    int64_t created_ms, last;
    bool connected;
};

struct relay_rows {
    struct relay_row rows[LIMIT_RELAY_SESSIONS];
    size_t count; /* who has waited longest comes first, who is connected last */
};
/* The sessions that live; those whose time is up are dropped. Once this commits, relay_is_on()
 * follows it, `more` sessions added. */
enum err relay_rows_live(struct relay *r, struct tx *tx, int64_t now_ms, int64_t more,
                         struct relay_rows *ret);
enum err relay_row_drop(struct tx *tx, struct str id);
/* The device's secret, or the one that is given; text of the arena. */
enum err relay_rows_secret(struct tx *tx, struct arena *a, struct str device, struct str fresh,
                           int64_t now_ms, struct str *ret_secret);
/* One more event for each of them that lived when it was added. */
enum err relay_rows_wait(struct tx *tx, const struct relay_rows *rows, struct str event,
                         int64_t added_ms);
/* The session is connected by that link. NOT_FOUND: there is no such session (any more). */
enum err relay_row_join(struct tx *tx, struct str id, struct str link, int64_t now_ms,
                        char ret_secret[RELAY_SECRET + 1]);

/* --- message.c --- */

struct relay_event_out {
    int64_t seq;
    struct str id, body; /* compact */
};
/* The webhook_event, signed; false: it does not fit. */
bool relay_message_write(struct buf *b, const struct relay_event_out *e, struct str secret,
                         int64_t now_s);

struct relay_message_in {
    enum { RELAY_ACK, RELAY_RESPONSE, RELAY_OTHER } type;
    int64_t seq;    /* 0: none that we know */
    int64_t status; /* of the receiver */
};
/* What the listener says; OTHER for what cannot be understood. */
struct relay_message_in relay_message_read(struct str text);
