/* operators.c - rows of people, their changes and the audit lines. Everything is part of the caller's
 * transaction, so a change and its audit row are stored together or not at all. */
#include "auth/operators.h"

#include "base/limits.h"

#include <stdio.h>

enum { DETAIL = 160 };

/* --- words --- */

bool operator_name_is_fit(struct str name)
{
    if (!name.n || name.n > LIMIT_OPERATOR_NAME)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (!plain && (!i || (c != '.' && c != '_' && c != '-')))
            return false;
    }
    return true;
}

bool operator_role(struct str word, bool *ret_viewer)
{
    *ret_viewer = str_eq(word, S("viewer"));
    return *ret_viewer || str_eq(word, S("operator"));
}

const char *operator_role_word(bool viewer)
{
    return viewer ? "viewer" : "operator";
}

/* --- rows --- */

static int64_t column_time_ms(const struct val *v)
{
    return v->type == VAL_INT ? v->i : 0;
}

static enum err person_of_row(const struct row *row, struct arena *a, struct person *o)
{
    *o = (struct person){ .name = arena_str(a, row->col[1].s),
                          .password = arena_str(a, row->col[3].s),
                          .disabled_ms = column_time_ms(&row->col[4]),
                          .created_ms = row->col[5].i,
                          .updated_ms = row->col[6].i,
                          .last_login_ms = column_time_ms(&row->col[7]) };
    if (!uuid_of_bytes(row->col[0].s, &o->id) || !operator_role(row->col[2].s, &o->viewer))
        return ERR_INTERNAL;
    return o->name.p && o->password.p ? OK : ERR_NO_MEMORY;
}

static enum err operator_audit(struct tx *tx, const char *what, const struct person *o,
                               const struct operator_by *by, const char *detail, int64_t now_ms)
{
    return TX_DO(tx, STMT_operator_audit, 1, V_INT(now_ms), V_TEXT(str_of(what)), V_TEXT(o->name),
                 V_TEXT(str_of(detail)), by->user ? V_BLOB(uuid_bytes(by->user)) : V_NULL);
}

enum err operator_add(struct tx *tx, const struct person *o, const struct operator_by *by)
{
    char detail[DETAIL];
    struct row row;
    enum err e = tx_row(tx, STMT_operator_count, NULL, 0, &row);

    if (e)
        return e;
    if (row.col[0].i >= LIMIT_OPERATORS)
        return ERR_UNPROCESSABLE;
    e = TX_DO(tx, STMT_operator_add, 1, V_BLOB(uuid_bytes(&o->id)), V_TEXT(o->name),
              V_TEXT(str_of(operator_role_word(o->viewer))), V_TEXT(o->password),
              V_INT(o->created_ms));
    if (e)
        return e;
    snprintf(detail, sizeof(detail), "by %s: %s", by->words, operator_role_word(o->viewer));
    return operator_audit(tx, "OPERATOR_ADD", o, by, detail, o->created_ms);
}

/* --- changing --- */

/* Applies the change and describes it for the audit. False: nothing changed. */
static bool operator_apply(struct person *o, const struct operator_change *c, int64_t now_ms,
                           const char *by, char detail[DETAIL])
{
    bool role = c->has_role && c->viewer != o->viewer;
    bool disabled = c->has_disabled && c->disabled != (o->disabled_ms != 0);

    if (role)
        o->viewer = c->viewer;
    if (disabled)
        o->disabled_ms = c->disabled ? now_ms : 0;
    if (c->password.n)
        o->password = c->password;
    snprintf(detail, DETAIL, "by %s:%s%s%s%s", by, role ? " role " : "",
             role ? operator_role_word(o->viewer) : "", c->password.n ? " password" : "",
             !disabled     ? ""
             : c->disabled ? " disabled"
                           : " enabled");
    return role || disabled || c->password.n;
}

enum err operator_change(struct tx *tx, struct arena *a, struct uuid id,
                         const struct operator_change *c, const struct operator_by *by,
                         int64_t now_ms, struct person *ret)
{
    struct val user = V_BLOB(uuid_bytes(&id));
    char detail[DETAIL];
    struct row row;
    enum err e = tx_row(tx, STMT_operator_hold, &user, 1, &row);

    if (e)
        return e;
    e = person_of_row(&row, a, ret);
    if (e || !operator_apply(ret, c, now_ms, by->words, detail))
        return e;
    ret->updated_ms = now_ms;
    e = TX_DO(tx, STMT_operator_put, 1, V_TEXT(str_of(operator_role_word(ret->viewer))),
              V_TEXT(ret->password), ret->disabled_ms ? V_INT(ret->disabled_ms) : V_NULL,
              V_INT(now_ms), user);
    if (e)
        return e;
    e = tx_do(tx, STMT_sessions_end, -1, &user, 1);
    return e ? e : operator_audit(tx, "OPERATOR_CHANGE", ret, by, detail, now_ms);
}

enum err operator_own_password(struct tx *tx, struct arena *a, const struct operator_own *own,
                               int64_t now_ms)
{
    struct operator_by by_self = { .user = &own->id };
    struct val user = V_BLOB(uuid_bytes(&own->id));
    struct person o = { 0 };
    struct row row;
    enum err e = tx_row(tx, STMT_operator_hold, &user, 1, &row);

    if (e)
        return e == ERR_NOT_FOUND ? ERR_STALE : e;
    e = person_of_row(&row, a, &o);
    if (e)
        return e;
    if (o.disabled_ms || !str_eq(o.password, own->was))
        return ERR_STALE;
    e = TX_DO(tx, STMT_operator_put, 1, V_TEXT(str_of(operator_role_word(o.viewer))),
              V_TEXT(own->password), V_NULL, V_INT(now_ms), user);
    if (e)
        return e;
    e = TX_DO(tx, STMT_sessions_end_others, -1, user, V_BLOB(own->session));
    return e ? e
             : operator_audit(tx, "OPERATOR_CHANGE", &o, &by_self, "by himself: password", now_ms);
}

/* --- reading --- */

enum err operator_find(struct tx *tx, struct arena *a, struct str name, struct person *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_operator_by_name, &row, V_TEXT(name));

    return e ? e : person_of_row(&row, a, ret);
}

struct auth_operators_page {
    struct arena *arena;
    struct person *all;
    size_t count, limit;
};

static enum err add_row(void *ctx, const struct row *row)
{
    struct auth_operators_page *p = ctx;

    return p->count == p->limit ? OK : person_of_row(row, p->arena, &p->all[p->count++]);
}

enum err operators_page(struct tx *tx, struct arena *a, struct uuid after, size_t limit,
                        struct person *ret, size_t *ret_count)
{
    struct auth_operators_page p = { .arena = a, .all = ret, .limit = limit };
    struct val v[] = { V_BLOB(uuid_bytes(&after)), V_INT((int64_t)limit) };
    enum err e = tx_each(tx, STMT_operators_page, v, COUNT(v), add_row, &p);

    *ret_count = p.count;
    return e;
}
