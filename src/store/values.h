/* values.h - statement parameters made from the types of base/ and domain/, and back. */
#pragma once

#include "base/uuid.h"
#include "domain/money.h"
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

static inline struct val v_minor(struct minor m)
{
    return v_amount(m.minor);
}

/* Two parameters: the amount, the currency. */
#define V_MONEY(money) V_INT((money).minor), V_TEXT(str_of((money).currency))

static inline struct minor minor_of(const struct val *v) /* NULL: none */
{
    return v->type == VAL_INT ? (struct minor){ v->i } : MINOR_NONE;
}
