/* targets.h - the targets of a notification, as its person wants them.
 *
 *   a contact with channels     each of them: mail to the contact's address (else the
 *                               participant's), push to each device, webhook
 *   a contact without           none
 *   no contact                  the participant's own address, which the organiser entered; and the
 *                               webhook, if this node has one
 *
 * Nodes need not have the same transports: another node may send what this one cannot.
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
    struct target *all; /* in the arena; the texts live until the unit's run ends */
    size_t count;
};

/* The targets of n notifications (at most LIMIT_BULK), on these channels only. here: the channels
 * of this node. */
enum err targets_find(struct tx *tx, struct arena *a, const struct uuid *notifications, size_t n,
                      unsigned channels, unsigned here, struct targets *ret);

/* Adds a send and its message for each target that has none yet. */
enum err targets_add(struct tx *tx, struct queue *q, const struct targets *t, int64_t now_ms);
