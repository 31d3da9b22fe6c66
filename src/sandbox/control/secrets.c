/* secrets.c - the secrets that sign webhooks, and POST /_sandbox/webhooks/roll, which changes one.
 *
 *   {"endpoint"?: "we_...", "secret"?: "whsec_...", "overlapMs"?: 86400000}
 *
 * During the overlap both secrets sign. Without an endpoint the secret of the settings' receiver is
 * rolled. The new secret is stored under the one in the settings, so changing the settings ends
 * it. */
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/webhook/hooks.h"

enum { SECRET_DIGITS = 32, SECRET_MAX = 255 };

/* --- the valid secrets --- */

static struct secrets secrets_valid(struct str now, struct str before, int64_t until_ms,
                                    int64_t now_ms)
{
    return (struct secrets){ now, until_ms > now_ms ? before : S("") };
}

struct secrets secrets_of(const struct hook *h, int64_t now_ms)
{
    return secrets_valid(h->secret, h->previous, h->previous_until_ms, now_ms);
}

enum err secrets_builtin(struct sandbox *s, struct tx *tx, int64_t now_ms, struct secrets *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_roll_read, &row, V_TEXT(s->o.webhook_secret));

    if (e && e != ERR_NOT_FOUND)
        return e;
    *ret = e ? (struct secrets){ s->o.webhook_secret, S("") }
             : secrets_valid(row.col[0].s, row.col[1].s, row.col[2].i, now_ms);
    return OK;
}

/* --- rolling --- */

static enum err roll_builtin(struct work *w, struct str secret, int64_t until_ms)
{
    struct secrets old;
    enum err e = secrets_builtin(w->s, w->tx, w->now_ms, &old);

    return e ? e
             : TX_DO(w->tx, STMT_sandbox_roll_write, 1, V_TEXT(w->s->o.webhook_secret),
                     V_TEXT(secret), V_TEXT(old.now), V_INT(until_ms));
}

static enum err roll_endpoint(struct work *w, struct str id, struct str secret, int64_t until_ms)
{
    struct hook h;
    enum err e = sb_hook_read(w->tx, id, &h);

    if (e)
        return e;
    h.previous = h.secret;
    h.previous_until_ms = until_ms;
    h.secret = secret;
    sb_hook_write(w, &h);
    return w->err;
}

static enum err secrets_roll(struct act *a, struct work *w)
{
    struct str id = a->text[0], secret = a->text[1];
    int64_t until_ms = w->now_ms + a->number;
    struct buf b;
    enum err e;

    if (!secret.n)
        secret = sb_id_random(w, "whsec_", SECRET_DIGITS);
    if (w->err)
        return w->err;
    e = id.n ? roll_endpoint(w, id, secret, until_ms) : roll_builtin(w, secret, until_ms);
    if (e) {
        a->why = e == ERR_NOT_FOUND ? "there is no such endpoint" : NULL;
        return e;
    }
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"endpoint\":"), id);
    sb_put_text(&b, S(",\"secret\":"), secret);
    sb_put_time(&b, S(",\"previousUntil\":"), until_ms);
    buf_add(&b, S("}\n"));
    a->json = work_text_of(w, &b);
    return w->err;
}

/* --- the request --- */

static bool is_secret(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 6 && s.n <= SECRET_MAX && str_starts(s, S("whsec_"));
}

static void read_roll(struct control_body *in, struct request *r, struct act *a)
{
    struct str s;

    a->number = LIMIT_SANDBOX_OVERLAP_MS;
    if (json_get_str(in->body, "endpoint", false, 255, &s, &in->problems))
        a->text[0] = arena_str(&r->arena, s);
    if (json_get_str(in->body, "secret", false, SECRET_MAX, &s, &in->problems)) {
        a->text[1] = arena_str(&r->arena, s);
        if (!is_secret(s))
            json_problem(&in->problems, "secret", "begins with whsec_ and has no blanks");
    }
    json_get_int(in->body, "overlapMs", false, 0, LIMIT_SANDBOX_OVERLAP_MS, &a->number,
                 &in->problems);
}

void control_roll(struct request *r, void *sandbox)
{
    static const char *const names[] = { "endpoint", "secret", "overlapMs" };
    struct act a = { .run = secrets_roll };
    struct control_body in;

    if (!r->body.n)
        r->body = S("{}");
    if (!control_body_begin(&in, r, names, COUNT(names)))
        return;
    read_roll(&in, r, &a);
    if (control_body_end(&in, r))
        act_post(r, sandbox, &a, false);
}
