/* listeners.h - what the files of the relay share; private to relay/. */
#pragma once

#include "base/limits.h"
#include "base/uuid.h"
#include "sandbox/impl.h"
#include "sandbox/relay/relay.h"

enum { RELAY_SECRET = 6 + 64, RELAY_ID = 38 }; /* whsec_ and hex; cliws_ and digits */

struct websocket;

struct relay {
    struct sandbox *s;
    /* number of sessions as of the last commit that counted; above 0 before the first */
    _Atomic int64_t live;
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

void relay_post(struct relay *r, struct unit *u); /* counted as busy until relay_unit_done() */
void relay_unit_done(struct relay *r);
void relay_pump_all(struct relay *r); /* on the executor, after rows were added */
void relay_links_free(struct relay *r);

/* --- rows.c: on a store thread --- */

struct relay_row {
    struct str id;
    int64_t created_ms, last;
    bool connected;
};

struct relay_rows {
    struct relay_row rows[LIMIT_RELAY_SESSIONS];
    size_t count; /* the longest waiting first, then those that are connected */
};
/* Reads the live sessions and deletes those whose time is up. After the commit,
 * relay_has_sessions() uses their number plus `more`. */
enum err relay_rows_live(struct relay *r, struct tx *tx, int64_t now_ms, int64_t more,
                         struct relay_rows *ret);
enum err relay_row_drop(struct tx *tx, struct str id);
/* The secret of the device, or `fresh` for a new device; in the arena. */
enum err relay_rows_secret(struct tx *tx, struct arena *a, struct str device, struct str fresh,
                           int64_t now_ms, struct str *ret_secret);
/* Adds a row with the event for each session that existed at added_ms. */
enum err relay_rows_wait(struct tx *tx, const struct relay_rows *rows, struct str event,
                         int64_t added_ms);
/* Marks the session as connected by this link. NOT_FOUND: the session does not exist or its time is
 * up. */
enum err relay_row_join(struct tx *tx, struct str id, struct str link, int64_t now_ms,
                        char ret_secret[RELAY_SECRET + 1]);

/* --- message.c --- */

struct relay_event_out {
    int64_t seq;
    struct str id, body; /* compact JSON */
};
/* Writes the signed webhook_event. False: it does not fit. */
bool relay_message_write(struct buf *b, const struct relay_event_out *e, struct str secret,
                         int64_t now_s);

struct relay_message_in {
    enum { RELAY_ACK, RELAY_RESPONSE, RELAY_OTHER } type;
    int64_t seq;    /* 0: unknown */
    int64_t status; /* the receiver's status */
};
/* Parses a message of the listener. RELAY_OTHER: it is not understood. */
struct relay_message_in relay_message_read(struct str text);
