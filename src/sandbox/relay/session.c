/* session.c - POST /v1/stripecli/sessions: makes a session for `stripe listen`, or only reports the
 * device's secret (--print-secret). A device keeps the secret of its first session. When there are
 * LIMIT_RELAY_SESSIONS, the session that has waited longest for its listener is deleted; if all are
 * connected the call gets 429, which ends the command. */
#include "base/hex.h"
#include "sandbox/relay/listeners.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/render/render.h"

#include <stdio.h>
#include <string.h>

enum { SECRET_BYTES = 32, ID_DIGITS = RELAY_ID - 6 };

#define VERSION "2026-10-28.endive"

static bool check_features(struct stripe_call *v)
{
    const struct form *f = form_get(&v->form, S("websocket_features"));

    for (const struct form *c = f ? f->first : NULL; c; c = c->next)
        if (c->has_value && str_eq(c->value, S("webhooks")))
            return true;
    return stripe_reject_invalid(v, NULL, "websocket_features",
                                 "Invalid websocket_features: the sandbox has webhooks only.");
}

static bool take_device(struct stripe_call *v, struct str *ret_device)
{
    struct param t;

    if (!param_text(v, "device_name", LIMIT_RELAY_DEVICE_NAME, &t))
        return false;
    *ret_device = t.text;
    return t.text.n || stripe_reject_invalid(v, "parameter_missing", "device_name",
                                             "Missing required param: device_name.");
}

static void make_secret(struct sandbox *s, char ret_secret[RELAY_SECRET + 1])
{
    unsigned char bytes[SECRET_BYTES];

    rng_bytes(&s->env.rng, bytes, sizeof(bytes));
    memcpy(ret_secret, "whsec_", 6);
    *hex_put(ret_secret + 6, bytes, sizeof(bytes)) = '\0';
}

static bool make_room(struct stripe_call *v)
{
    struct work *w = &v->w;
    struct relay_rows rows;

    if (!work_ok(w, relay_rows_live(relay_of(w->s), w->tx, w->now_ms, 1, &rows)))
        return false;
    if (rows.count < LIMIT_RELAY_SESSIONS)
        return true;
    if (!rows.rows[0].connected)
        return work_ok(w, relay_row_drop(w->tx, rows.rows[0].id));
    return stripe_reject(v,
                         &(struct rejection){ .status = 429,
                                              .type = "invalid_request_error",
                                              .code = S("rate_limit"),
                                              .message = S("Too many `stripe listen` sessions are "
                                                           "connected to this sandbox.") });
}

static struct str session_json(struct work *w, struct str id, struct str secret)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"object\":\"stripecli.session\",\"websocket_id\":"), id);
    buf_fmt(&b, ",\"websocket_url\":\"ws://%s/v1/stripecli/subscribe\"", impl_of(w->s)->address);
    sb_put_text(&b, S(",\"websocket_authorized_feature\":\"webhooks\",\"secret\":"), secret);
    buf_fmt(&b, ",\"reconnect_delay\":%d", LIMIT_RELAY_RECONNECT_S);
    buf_add(&b, S(",\"default_version\":\"" VERSION "\",\"latest_version\":\"" VERSION "\","
                  "\"display_connect_filter_warning\":false,\"device_token\":\"\"}"));
    return work_text_of(w, &b);
}

void relay_session_create(struct stripe_call *v)
{
    struct work *w = &v->w;
    struct str device, id, secret;
    char fresh[RELAY_SECRET + 1];

    if (!check_features(v) || !take_device(v, &device) || !make_room(v))
        return;
    make_secret(w->s, fresh);
    id = sb_id_random(w, "cliws_", ID_DIGITS);
    if (w->err ||
        !work_ok(w, relay_rows_secret(w->tx, w->a, device, str_of(fresh), w->now_ms, &secret)))
        return;
    if (work_ok(w, TX_DO(w->tx, STMT_relay_session_add, 1, V_TEXT(id), V_TEXT(secret),
                         V_INT(w->now_ms), V_INT(w->now_ms + LIMIT_RELAY_AWAIT_MS))))
        stripe_answer(v, session_json(w, id, secret));
}
