/* values.h - parameters of statements made from the types of base/. */
#pragma once

#include "base/uuid.h"
#include "store/tx.h"

static inline struct val v_uuid(const struct uuid *id)
{
    return V_BLOB(uuid_bytes(id));
}

static inline struct val v_text(struct str s) /* empty: NULL */
{
    return s.n ? V_TEXT(s) : V_NULL;
}

static inline struct val v_amount(int64_t v) /* -1: NULL */
{
    return v >= 0 ? V_INT(v) : V_NULL;
}
