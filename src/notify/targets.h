/* targets.h - where a notification goes: where its person wants it.
 *
 *   a contact with channels     each of them: mail to the contact's address (else the
 *                               participant's), push to each device, webhook
 *   a contact without           nowhere
 *   no contact                  to a participant's own address, which its organiser gave; and to
 *                               the webhook where this node has one: who runs it knows the person
 *
 * What this node cannot send another may: nodes need not have the same transports.
 *
 * Only notify/ includes this. */
#pragma once

#include "notify/contact.h"

struct target {
    struct uuid notification, user;
    bool has_user;
    enum channel channel;
    struct str where; /* empty: webhook */
};

struct targets {
    struct target *all; /* the texts live until the unit's run ends */
    size_t count;
};

/* Of n notifications (LIMIT_BULK at most), on these channels only. here: those that this node has.
 * In the arena. */
enum err targets_find(struct tx *tx, struct arena *a, const struct uuid *notifications, size_t n,
                      unsigned channels, unsigned here, struct targets *ret);

/* Makes a send and its message of each that has none yet. */
enum err targets_add(struct tx *tx, struct queue *q, const struct targets *t, int64_t now_ms);
