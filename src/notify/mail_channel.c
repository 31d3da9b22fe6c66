/* mail_channel.c - the transport of mails: one notification, one SMTP dialogue
 * (http/client/mail.h).
 *
 *   250 sent | 4xx, or not reached: later | 5xx never | the last dot sent, no answer: unknown
 *
 * A 5xx about us (our name, our login, relaying) says nothing about the mail or its reader: it is
 * sent later, once an operator has corrected the settings. The server's own words are never kept,
 * because they repeat addresses. */
#include "base/json/json.h"
#include "base/limits.h"
#include "http/client/client.h"
#include "http/client/mail.h"
#include "http/client/smtp.h"
#include "notify/mime.h"
#include "notify/notify.h"

#include <openssl/crypto.h>
#include <stdlib.h>

struct mail {
    struct transport transport;
    struct env *env;
    struct client *client;
    struct buf url, from;
};

struct mail_sending {
    struct parcel_out *outgoing;
    struct call call;
};

static const char no_memory[] = "it needs more memory than there is";

/* --- the end --- */

static enum told mail_verdict(const struct call *c)
{
    if (c->result == CALL_UNCERTAIN)
        return TOLD_UNKNOWN;
    if (c->result == CALL_NOT_SENT)
        return TOLD_LATER;
    if (c->status < 400)
        return TOLD_SENT;
    return c->status < 500 || c->refuses_us ? TOLD_LATER : TOLD_NEVER;
}

static void mail_answered(struct call *c)
{
    struct parcel_out *p = CONTAINER_OF(c, struct mail_sending, call)->outgoing;

    p->told = mail_verdict(c);
    p->retry_after_ms = -1;
    why_set(&p->why, "%s%s", c->result == CALL_ANSWERED ? "the mail server answered " : "", c->why);
    p->done(p);
}

/* --- the mail --- */

static struct str mail_link(struct arena *a, const struct json_value *v)
{
    struct str text;

    return v->type == JSON_STRING && !json_unescape(a, v, &text) ? text : (struct str){ 0 };
}

/* If the data is not JSON, the mail goes without links. */
static void mail_add_links(const struct parcel_out *p, struct letter *l)
{
    static const char *const paths[] = { "receiptUrl", "paymentUrl" };
    struct json_value v[COUNT(paths)];

    if (!p->data.n || json_pick(p->data, paths, COUNT(paths), v, NULL))
        return;
    l->receipt = mail_link(p->arena, &v[0]);
    l->pay = mail_link(p->arena, &v[1]);
}

/* .p NULL: *ret_told and p->why say how the send ends. */
static struct str mail_text(const struct mail *m, struct parcel_out *p, enum told *ret_told)
{
    struct letter l = { .from = buf_str(&m->from),
                        .to = p->target,
                        .title = p->title,
                        .body = p->body,
                        .send = p->send,
                        .notification = p->notification,
                        .is_japanese = p->is_japanese,
                        .now_ms = clock_wall_ms(&m->env->clock) };
    const char *why = NULL;
    struct str text = { 0 };
    struct buf b;

    buf_init(&b, LIMIT_MAIL);
    mail_add_links(p, &l);
    if (mime_write(&b, &l, &why))
        text = arena_str(p->arena, buf_str(&b));
    *ret_told = why && !b.failed ? TOLD_NEVER : TOLD_LATER;
    why_set(&p->why, "%s", why ? why : no_memory);
    buf_release(&b);
    return text;
}

static void mail_send(struct transport *t, struct parcel_out *p)
{
    struct mail *m = CONTAINER_OF(t, struct mail, transport);
    struct mail_sending *s = arena_alloc(p->arena, 1, sizeof(*s));
    enum told told = TOLD_LATER;
    struct str text = { 0 };

    why_set(&p->why, "%s", no_memory);
    if (s)
        text = mail_text(m, p, &told);
    if (!text.p) {
        outgoing_end_later(p, told);
        return;
    }
    s->outgoing = p;
    s->call = (struct call){ .url = buf_str(&m->url),
                             .mail_from = buf_str(&m->from),
                             .mail_to = p->target,
                             .body = text,
                             .timeout_ms = LIMIT_NOTIFY_MS,
                             .turn_ms = LIMIT_SEND_WAIT_MS,
                             .arena = p->arena,
                             .executor = p->executor,
                             .done = mail_answered };
    client_call(m->client, &s->call);
}

/* --- its life --- */

static void mail_free(struct transport *t)
{
    struct mail *m = t ? CONTAINER_OF(t, struct mail, transport) : NULL;

    if (!m)
        return;
    if (m->url.p)
        OPENSSL_cleanse(m->url.p, m->url.size); /* it contains the password */
    buf_release(&m->url);
    buf_release(&m->from);
    free(m);
}

static bool mail_check_options(const struct mail_options *o, struct why *why)
{
    struct why words = { 0 };
    struct buf b;
    bool fine;

    if (!mail_url_is_fine(o->url, &words))
        return why_false(why, "ICHIDO_SMTP_URL: %s", words.text);
    buf_init(&b, 2 * LIMIT_MAIL_ADDRESS);
    fine = smtp_write_address(&b, o->from);
    if (!fine)
        why_set(why, "ICHIDO_MAIL_FROM: not an address in ASCII like payments@example.com");
    buf_release(&b);
    return fine;
}

struct transport *mail_new(const struct mail_options *o, struct why *why)
{
    struct mail *m = mail_check_options(o, why) ? calloc(1, sizeof(*m)) : NULL;

    if (!m) {
        if (!why->text[0])
            why_set(why, "mail needs more memory than there is");
        return NULL;
    }
    m->transport = (struct transport){ .channel = "mail", .send = mail_send, .free = mail_free };
    m->env = o->env;
    m->client = o->client;
    buf_init(&m->url, LIMIT_SETTING);
    buf_init(&m->from, LIMIT_SETTING);
    buf_add(&m->url, o->url);
    buf_add(&m->from, o->from);
    if (!m->url.failed && !m->from.failed)
        return &m->transport;
    mail_free(&m->transport);
    why_set(why, "mail needs more memory than there is");
    return NULL;
}
