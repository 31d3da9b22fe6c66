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
/* Ours from now on: it was new, or finished and expired. *ret_ours false: key_find() says what is.
 */
enum err key_claim(struct tx *tx, const struct operate *o, struct uuid payment,
                   struct uuid operation, int64_t now_ms, bool *ret_ours);
enum err key_done(struct tx *tx, const struct operation *op, int status, struct str body);
enum err key_release(struct tx *tx, const struct operation *op);

/* The payment turned out to be another one than the claim was made with. */
enum err key_name_payment(struct tx *tx, const struct operate *o, struct uuid payment);

/* "keys.expire": deletes finished, expired records every hour (I6), some at a time. */
struct job_kind keys_expire_kind(struct payments *pp);
/* At each start. CONFLICT: its message is there already. */
enum err keys_expire_start(struct tx *tx, struct payments *pp, int64_t now_ms);
