#include "endpoint/act.h"

#include "base/env.h"
#include "endpoint/fields.h"

#include <stdio.h>

enum { BOOKING_DETAIL = 160 };

bool act_has_no_input(struct request *r)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;

    if (!r->body.n)
        return true;
    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &problems);
    fields_only(body, NULL, 0, &problems);
    return !fields_refused(r, &problems);
}

static enum err add_line(struct tx *tx, const char *operation, struct str subject,
                         struct str detail, const struct uuid *user)
{
    struct val v[] = { V_INT(env_now_ms(tx_env(tx))), V_TEXT(str_of(operation)),
                       subject.n ? V_TEXT(subject) : V_NULL, detail.n ? V_TEXT(detail) : V_NULL,
                       user ? V_BLOB(uuid_bytes(user)) : V_NULL };

    return tx_do(tx, STMT_audit_act, 1, v, COUNT(v));
}

enum err act_audit(struct tx *tx, const char *operation, struct str subject, struct str detail,
                   struct uuid user)
{
    return add_line(tx, operation, subject, detail, &user);
}

enum err act_audit_booking(struct tx *tx, const struct booking_result *r, const struct uuid *user)
{
    const char *operation = r->is_new      ? "BOOKING_MAKE"
                            : r->cancelled ? "BOOKING_CANCEL"
                                           : "BOOKING_CHANGE";
    char id[UUID_TEXT + 1], owner[UUID_TEXT + 1], detail[BOOKING_DETAIL];

    if (r->put != BOOKING_STORED)
        return OK;
    uuid_text(r->now.id, id);
    uuid_text(r->now.user_id, owner);
    snprintf(detail, sizeof(detail), "%s%s, %lld %s, of %s",
             user ? "" : "by a signed event: ", booking_status_name(r->now.status),
             (long long)r->now.money.minor, r->now.money.currency, owner);
    return add_line(tx, operation, str_of(id), str_of(detail), user);
}
