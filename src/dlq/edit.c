/* edit.c - a dead letter is tried again with another body.
 *
 *   what counts now --shown without card data (A6)--> the operator --> what he sends
 *        |                                                                  |
 *        '---- every value that he left as it was shown is put back <-------'
 *                     --> its kind takes it, or says what is wrong
 *                     --> the body, who wrote it, and both hashes are kept: one commit
 *
 * What a provider sent stays as it came (decision 0006); of other messages the body before is kept
 * beside the new one. */
#include "base/hex.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "dlq/edit_merge.h"
#include "dlq/find.h"
#include "store/values.h"

#include <openssl/evp.h>
#include <string.h>

enum { DIGEST = 32, EDIT_ARENA = 16 * LIMIT_DEAD_EDIT };

#define WHY_NOT                                                                                    \
    "its body cannot be edited: what it does is told by rows of the database, which the body only" \
    " names"

static bool is_text(struct str s)
{
    return str_is_utf8(s) && !(s.n && memchr(s.p, '\0', s.n));
}

/* What is not shown at all is written whole: nothing of it can be put back (A6). */
static bool is_shown(struct str body, bool is_event)
{
    return body.p && is_text(body) && !(is_event && json_check(body, NULL));
}

static enum err put_together(struct arena *a, const struct dead_body *was, struct str edited,
                             struct str *ret_body, struct why *why)
{
    *ret_body = edited;
    return is_shown(was->now, was->is_event) ? dead_merge(a, was->now, edited, ret_body, why) : OK;
}

/* --- the act --- */

static bool dlq_edit_hash(struct str s, char text[SHA256_TEXT + 1])
{
    unsigned char digest[DIGEST];
    unsigned n = 0;

    if (!EVP_Digest(s.p, s.n, digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        return false;
    *hex_put(text, digest, DIGEST) = '\0';
    return true;
}

static enum err dlq_edit_keep(struct tx *tx, const struct dead_act *act, struct uuid message,
                              const struct dead_body *was, struct str body, int64_t now_ms)
{
    static const struct uuid nobody;
    const struct dead_edit *e = act->edit;
    bool keeps = !was->is_event && was->now.p;

    return TX_DO(tx, STMT_message_edit_add, 1, V_BLOB(uuid_bytes(&message)), V_INT(now_ms),
                 uuid_eq(act->user, nobody) ? V_NULL : V_BLOB(uuid_bytes(&act->user)),
                 v_text(act->name), keeps ? V_BLOB(was->now) : V_NULL, V_BLOB(body),
                 e->before[0] ? V_TEXT(str_of(e->before)) : V_NULL, V_TEXT(str_of(e->after)));
}

static enum err dlq_edit_use(struct tx *tx, const struct dead_act *act, const struct dead_kind *k,
                             struct dead_letter *d, const struct dead_body *was, struct str body,
                             int64_t now_ms, bool *ret_live, struct why *why)
{
    struct uuid message = d->id;
    enum err e = k->edit(tx, k->ctx, d, body, now_ms, ret_live, &message, why);

    return e ? e : dlq_edit_keep(tx, act, message, was, body, now_ms);
}

/* Merged before this unit, where the letter is as it was then. */
static enum err whole_of(struct arena *a, const struct dead_edit *edit, const struct dead_body *was,
                         struct str *ret_body, struct why *why)
{
    char now[SHA256_TEXT + 1];

    if (!edit->merged.p || !dlq_edit_hash(was->now, now) || strcmp(now, edit->of) != 0)
        return put_together(a, was, edit->body, ret_body, why);
    *ret_body = edit->merged;
    return OK;
}

static enum err edit_in(struct tx *tx, struct arena *a, const struct dead_act *act,
                        const struct dead_kind *k, struct dead_letter *d, int64_t now_ms,
                        bool *ret_live, struct why *why)
{
    struct dead_edit *edit = act->edit;
    struct dead_body was = { 0 };
    struct str body;
    enum err e = k->body(tx, k->ctx, d, &was, why);

    edit->changed = false;
    edit->before[0] = '\0';
    if (e == ERR_NOT_FOUND)
        why_set(why, "what it is about is not stored any more; delete it");
    if (!e)
        e = whole_of(a, edit, &was, &body, why);
    if (e)
        return e;
    if (was.now.p && str_eq(was.now, body)) /* then it is a retry like any other */
        return k->retry ? k->retry(tx, k->ctx, d, now_ms, ret_live, why) : OK;
    if ((was.now.p && !dlq_edit_hash(was.now, edit->before)) || !dlq_edit_hash(body, edit->after))
        return ERR_INTERNAL;
    edit->changed = true;
    return dlq_edit_use(tx, act, k, d, &was, body, now_ms, ret_live, why);
}

enum err dead_edit(struct tx *tx, const struct dead_act *act, struct dead_letter *d, int64_t now_ms,
                   bool *ret_live, struct why *why)
{
    const struct dead_kind *k = dead_kind_of(act->letters, d->kind);
    struct arena a;
    enum err e;

    if (!k || !k->edit)
        return why_err(why, ERR_UNPROCESSABLE, "%s", k && k->why_not ? k->why_not : WHY_NOT);
    arena_init(&a, EDIT_ARENA);
    e = edit_in(tx, &a, act, k, d, now_ms, ret_live, why);
    arena_release(&a);
    return e;
}

/* --- before it --- */

static enum err merge_now(struct arena *a, struct arena *temporary, const struct dead_body *was,
                          struct dead_edit *edit)
{
    struct why why;
    struct str body;
    enum err e = put_together(temporary, was, edit->body, &body, &why);

    if (e || !dlq_edit_hash(was->now, edit->of))
        return e ? e : ERR_INTERNAL;
    edit->merged = arena_str(a, body);
    return edit->merged.p ? OK : ERR_NO_MEMORY;
}

enum err dead_edit_prepare(struct tx *tx, struct arena *a, const struct dead_letters *l,
                           struct uuid id, struct dead_edit *edit)
{
    const struct dead_kind *k;
    struct dead_body was = { 0 };
    struct dead_letter d;
    struct arena temporary;
    struct why why;
    struct row row;
    enum err e = TX_ROW(tx, STMT_letter_get, &row, V_BLOB(uuid_bytes(&id)));

    edit->merged = (struct str){ 0 };
    if (!e && !dead_letter_of_row(&row, &d))
        e = ERR_INTERNAL;
    if (e)
        return e;
    k = dead_kind_of(l, d.kind);
    e = k && k->edit ? k->body(tx, k->ctx, &d, &was, &why) : ERR_UNPROCESSABLE;
    if (e)
        return e;
    arena_init(&temporary, EDIT_ARENA);
    e = merge_now(a, &temporary, &was, edit);
    arena_release(&temporary);
    return e;
}

/* --- as it is shown --- */

static void out_body(struct buf *b, struct arena *a, const char *name, struct str body,
                     bool is_event)
{
    struct str shown = is_shown(body, is_event) ? dead_shown(a, body) : (struct str){ 0 };

    out_name(b, name);
    if (shown.p)
        buf_json(b, shown);
    else
        buf_add(b, S("null"));
}

static void out_nothing(struct buf *b, bool edited)
{
    out_bool(b, "editable", false);
    out_json(b, "body", S("null"));
    out_bool(b, "edited", edited);
    out_json(b, "original", S("null"));
}

enum err dead_edit_show(struct tx *tx, struct buf *b, const struct dead_letters *l,
                        const struct dead_letter *d)
{
    const struct dead_kind *k = dead_kind_of(l, d->kind);
    struct dead_body was = { 0 };
    struct arena a;
    struct why why;
    enum err e = k && k->body ? k->body(tx, k->ctx, d, &was, &why) : ERR_UNPROCESSABLE;

    if (e == ERR_UNPROCESSABLE || e == ERR_NOT_FOUND ||
        (!e && (was.now.n > LIMIT_DEAD_EDIT || was.first.n > LIMIT_DEAD_EDIT))) {
        out_nothing(b, was.edited);
        return OK;
    }
    if (e)
        return e;
    arena_init(&a, EDIT_ARENA);
    out_bool(b, "editable", true);
    out_body(b, &a, "body", was.now, was.is_event);
    out_bool(b, "edited", was.edited);
    out_body(b, &a, "original", was.edited ? was.first : (struct str){ 0 }, was.is_event);
    arena_release(&a);
    return OK;
}
