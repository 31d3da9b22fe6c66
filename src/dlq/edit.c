/* edit.c - retries a dead letter with another body.
 *
 *   current body --shown without card data (A6)--> the operator --> edited body
 *        |                                                             |
 *        '---- every value left as it was shown is restored <----------'
 *                     --> its kind accepts it, or says what is wrong
 *                     --> the body, its author and both hashes are stored: one commit
 *
 * What a provider sent stays as it came (decision 0006); of other messages the previous body is
 * kept beside the new one. */
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

static bool dead_body_is_text(struct str s)
{
    return str_is_utf8(s) && !(s.n && memchr(s.p, '\0', s.n));
}

/* If a body is not shown at all, the edited one replaces it: there is nothing to restore (A6). */
static bool dead_body_is_shown(struct str body, bool is_event)
{
    return body.p && dead_body_is_text(body) && !(is_event && json_check(body, NULL));
}

static enum err dead_edit_merge(struct arena *a, const struct dead_body *was, struct str edited,
                                struct str *ret_body, struct why *why)
{
    *ret_body = edited;
    return dead_body_is_shown(was->now, was->is_event)
               ? dead_merge(a, was->now, edited, ret_body, why)
               : OK;
}

/* --- the act --- */

static bool dead_edit_hash(struct str s, char text[SHA256_TEXT + 1])
{
    unsigned char digest[DIGEST];
    unsigned n = 0;

    if (!EVP_Digest(s.p, s.n, digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        return false;
    *hex_put(text, digest, DIGEST) = '\0';
    return true;
}

static enum err dead_edit_store(struct tx *tx, const struct dead_act *act, struct uuid message,
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

static enum err dead_edit_apply(struct tx *tx, const struct dead_act *act,
                                const struct dead_kind *k, struct dead_letter *d,
                                const struct dead_body *was, struct str body, int64_t now_ms,
                                bool *ret_live, struct why *why)
{
    struct uuid message = d->id;
    enum err e = k->edit(tx, k->ctx, d, body, now_ms, ret_live, &message, why);

    return e ? e : dead_edit_store(tx, act, message, was, body, now_ms);
}

/* Uses the merge of dead_edit_prepare(), unless the body changed since. */
static enum err dead_edit_merged(struct arena *a, const struct dead_edit *edit,
                                 const struct dead_body *was, struct str *ret_body, struct why *why)
{
    char now[SHA256_TEXT + 1];

    if (!edit->merged.p || !dead_edit_hash(was->now, now) || strcmp(now, edit->of) != 0)
        return dead_edit_merge(a, was, edit->body, ret_body, why);
    *ret_body = edit->merged;
    return OK;
}

static enum err dead_edit_run(struct tx *tx, struct arena *a, const struct dead_act *act,
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
        e = dead_edit_merged(a, edit, &was, &body, why);
    if (e)
        return e;
    if (was.now.p && str_eq(was.now, body)) /* an ordinary retry */
        return k->retry ? k->retry(tx, k->ctx, d, now_ms, ret_live, why) : OK;
    if ((was.now.p && !dead_edit_hash(was.now, edit->before)) || !dead_edit_hash(body, edit->after))
        return ERR_INTERNAL;
    edit->changed = true;
    return dead_edit_apply(tx, act, k, d, &was, body, now_ms, ret_live, why);
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
    e = dead_edit_run(tx, &a, act, k, d, now_ms, ret_live, why);
    arena_release(&a);
    return e;
}

/* --- preparing it --- */

static enum err dead_edit_merge_now(struct arena *a, struct arena *temporary,
                                    const struct dead_body *was, struct dead_edit *edit)
{
    struct why why;
    struct str body;
    enum err e = dead_edit_merge(temporary, was, edit->body, &body, &why);

    if (e || !dead_edit_hash(was->now, edit->of))
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
    e = dead_edit_merge_now(a, &temporary, &was, edit);
    arena_release(&temporary);
    return e;
}

/* --- as JSON --- */

static void dead_body_out(struct buf *b, struct arena *a, const char *name, struct str body,
                          bool is_event)
{
    struct str shown = dead_body_is_shown(body, is_event) ? dead_shown(a, body) : (struct str){ 0 };

    out_name(b, name);
    if (shown.p)
        buf_json(b, shown);
    else
        buf_add(b, S("null"));
}

static void dead_body_out_none(struct buf *b, bool edited)
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
        dead_body_out_none(b, was.edited);
        return OK;
    }
    if (e)
        return e;
    arena_init(&a, EDIT_ARENA);
    out_bool(b, "editable", true);
    dead_body_out(b, &a, "body", was.now, was.is_event);
    out_bool(b, "edited", was.edited);
    dead_body_out(b, &a, "original", was.edited ? was.first : (struct str){ 0 }, was.is_event);
    arena_release(&a);
    return OK;
}
