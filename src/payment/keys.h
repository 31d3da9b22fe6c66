/* keys.h - the records of clients' keys (I2 to I6). */
#pragma once

#include "payment/rows.h"
#include "payment/waiting.h"

struct key_record {
    char hash[KEY_HASH + 1];
    bool done;
    int status; /* done: the stored answer */
    struct str body;
    struct uuid payment, operation, message;
    int64_t created_ms;
    enum op_phase phase; /* of its operation, while it runs */
};

struct scope key_scope(struct uuid user, enum op_kind kind, struct uuid key);

/* NOT_FOUND. The body goes to the arena. */
enum err key_find(struct tx *tx, struct arena *a, struct uuid user, enum op_kind kind,
                  struct uuid key, struct key_record *ret_record);
/* *ret_ours: the key was new, or done and expired, and belongs to this operation now. False: another
 * operation has it; read it with key_find(). */
enum err key_claim(struct tx *tx, const struct operate *o, struct uuid payment,
                   struct uuid operation, int64_t now_ms, bool *ret_ours);
enum err key_done(struct tx *tx, const struct operation *op, int status, struct str body);
enum err key_release(struct tx *tx, const struct operation *op);

/* Stores another payment for the key than the one it was claimed with. */
enum err key_name_payment(struct tx *tx, const struct operate *o, struct uuid payment);

/* "keys.expire": deletes finished, expired records every hour (I6), some at a time. */
struct job_kind keys_expire_kind(struct payments *pp);
/* At each start. CONFLICT: its message exists already. */
enum err keys_expire_start(struct tx *tx, struct payments *pp, int64_t now_ms);
