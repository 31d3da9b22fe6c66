/* contact.c - contacts: read, replaced as a whole, forgotten, shown as JSON. contact.h has the
 * rules. Every change is one unit of work. Forgetting may go on in the job "contact.forget", a
 * bounded number of rows in each commit; after a crash the job runs again and finds what is
 * left. */
#include "notify/contact.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "store/values.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_OF_TOKEN = 4,
    JSON_MAX = 256 * 1024,
    DEVICE_COLUMNS = 3,
    DROP_COLUMNS = 2,
    FORGET_PAUSE_MS = 20
};

/* --- channels --- */

static const char *const channel_names[CHANNELS] = {
    [CHANNEL_MAIL] = "mail",
    [CHANNEL_PUSH] = "push",
    [CHANNEL_WEBHOOK] = "webhook",
};

const char *channel_name(enum channel c)
{
    return channel_names[c];
}

bool channel_parse(struct str name, enum channel *ret_channel)
{
    for (enum channel c = 0; c < CHANNELS; c++)
        if (str_eq(name, str_of(channel_names[c]))) {
            *ret_channel = c;
            return true;
        }
    return false;
}

unsigned channels_of(struct str list)
{
    unsigned all = 0;
    enum channel c;

    while (list.n)
        if (channel_parse(str_cut(&list, ','), &c))
            all |= CHANNEL_BIT(c);
    return all;
}

struct str channels_text(unsigned channels, char text[CHANNELS_TEXT])
{
    int n = 0;

    text[0] = '\0';
    for (enum channel c = 0; c < CHANNELS; c++)
        if (channels & CHANNEL_BIT(c))
            n += snprintf(text + n, CHANNELS_TEXT - (size_t)n, "%s%s", n ? "," : "",
                          channel_names[c]);
    return (struct str){ text, (size_t)n };
}

/* --- reading --- */

struct tokens {
    struct arena *arena;
    struct str *all;
    size_t count;
};

static enum err contact_add_token(void *ctx, const struct row *row)
{
    struct tokens *t = ctx;

    if (t->count == LIMIT_DEVICES)
        return OK;
    t->all[t->count] = arena_str(t->arena, row->col[0].s);
    return t->all[t->count++].p ? OK : ERR_NO_MEMORY;
}

static enum err contact_read_tokens(struct tx *tx, struct arena *a, struct contact *c)
{
    struct tokens t = { .arena = a, .all = arena_alloc(a, LIMIT_DEVICES, sizeof(*t.all)) };
    struct val user = v_uuid(&c->user);
    enum err e =
        t.all ? tx_each(tx, STMT_devices_of, &user, 1, contact_add_token, &t) : ERR_NO_MEMORY;

    c->tokens = t.all;
    c->token_count = t.count;
    return e;
}

static enum err contact_read_by(struct tx *tx, struct arena *a, enum stmt stmt, struct uuid user,
                                struct contact *ret)
{
    struct contact c = { .user = user };
    struct row row;
    enum err e = TX_ROW(tx, stmt, &row, v_uuid(&user));

    if (e)
        return e;
    c.email = arena_str(a, row.col[0].s);
    c.language = arena_str(a, row.col[1].s);
    c.channels = channels_of(row.col[2].s);
    c.created_ms = row.col[3].i;
    c.updated_ms = row.col[4].i;
    if (!c.email.p || !c.language.p)
        return ERR_NO_MEMORY;
    e = contact_read_tokens(tx, a, &c);
    if (!e)
        *ret = c;
    return e;
}

enum err contact_read(struct tx *tx, struct arena *a, struct uuid user, struct contact *ret)
{
    return contact_read_by(tx, a, STMT_contact_get, user, ret);
}

/* --- replacing --- */

static bool contact_has_token(const struct contact *c, struct str token)
{
    for (size_t i = 0; i < c->token_count; i++)
        if (str_eq(c->tokens[i], token))
            return true;
    return false;
}

static bool contact_same_tokens(const struct contact *a, const struct contact *b)
{
    if (a->token_count != b->token_count)
        return false;
    for (size_t i = 0; i < a->token_count; i++)
        if (!contact_has_token(b, a->tokens[i]))
            return false;
    return true;
}

static void contact_compare(const struct contact *a, const struct contact *b,
                            char changed[CONTACT_CHANGED])
{
    const struct {
        const char *name;
        bool same;
    } fields[] = {
        { "email", str_eq(a->email, b->email) },
        { "language", str_eq(a->language, b->language) },
        { "channels", a->channels == b->channels },
        { "deviceTokens", contact_same_tokens(a, b) },
    };
    size_t n = 0;

    changed[0] = '\0';
    for (size_t i = 0; i < COUNT(fields); i++)
        if (!fields[i].same)
            n += (size_t)snprintf(changed + n, CONTACT_CHANGED - n, "%s%s", n ? ", " : "",
                                  fields[i].name);
}

/* Reads the devices under the contact's lock, so that of two concurrent puts the second one sees
 * what the first one stored. */
static enum err contact_drop_devices(struct tx *tx, struct arena *a, const struct contact *now)
{
    struct contact old = { .user = now->user };
    struct val v[LIMIT_DEVICES * DROP_COLUMNS];
    enum err e = contact_read_tokens(tx, a, &old);
    size_t n = 0;

    for (size_t i = 0; i < old.token_count && !e; i++)
        if (!contact_has_token(now, old.tokens[i])) {
            v[n * DROP_COLUMNS] = V_TEXT(old.tokens[i]);
            v[n * DROP_COLUMNS + 1] = v_uuid(&now->user);
            n++;
        }
    return e || !n ? e : tx_bulk(tx, STMT_device_drop, v, n, DROP_COLUMNS, NULL, NULL);
}

static enum err contact_put_devices(struct tx *tx, const struct contact *c, int64_t now_ms)
{
    struct val v[LIMIT_DEVICES * DEVICE_COLUMNS];

    assert(c->token_count <= LIMIT_DEVICES);
    for (size_t i = 0; i < c->token_count; i++) {
        v[i * DEVICE_COLUMNS] = V_TEXT(c->tokens[i]);
        v[i * DEVICE_COLUMNS + 1] = v_uuid(&c->user);
        v[i * DEVICE_COLUMNS + 2] = V_INT(now_ms);
    }
    return c->token_count
               ? tx_bulk(tx, STMT_device_put, v, c->token_count, DEVICE_COLUMNS, NULL, NULL)
               : OK;
}

static enum err contact_store(struct tx *tx, const struct contact *c, int64_t now_ms)
{
    char channels[CHANNELS_TEXT];

    return TX_DO(tx, STMT_contact_put, 1, v_uuid(&c->user), v_text(c->email), v_text(c->language),
                 V_TEXT(channels_text(c->channels, channels)), V_INT(now_ms));
}

enum err contact_put(struct tx *tx, struct arena *a, struct contact *c, int64_t now_ms,
                     struct contact_put *ret_put)
{
    struct contact old = { .created_ms = now_ms };
    enum err e = contact_read_by(tx, a, STMT_contact_hold, c->user, &old);

    ret_put->is_new = e == ERR_NOT_FOUND;
    if (e && !ret_put->is_new)
        return e;
    c->created_ms = old.created_ms;
    c->updated_ms = old.updated_ms;
    contact_compare(&old, c, ret_put->changed);
    if (!ret_put->is_new && !ret_put->changed[0])
        return OK;
    c->updated_ms = now_ms;
    e = contact_store(tx, c, now_ms);
    if (e)
        return e;
    e = contact_drop_devices(tx, a, c);
    return e ? e : contact_put_devices(tx, c, now_ms);
}

/* --- forgetting --- */

static enum err contact_audit_removal(struct tx *tx, struct uuid user, struct uuid by,
                                      int64_t now_ms)
{
    char id[UUID_TEXT + 1];

    uuid_text(user, id);
    return TX_DO(tx, STMT_audit_act, 1, V_INT(now_ms), V_TEXT(S("CONTACT_REMOVE")),
                 V_TEXT(str_of(id)), V_NULL, v_uuid(&by));
}

static enum err contact_remove(struct tx *tx, const struct contact_forget *f, int64_t now_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_contact_remove, &row, v_uuid(&f->user));

    if (e) /* no contact: any devices belong to one that was stored later */
        return e == ERR_NOT_FOUND ? OK : e;
    e = contact_audit_removal(tx, f->user, f->by, now_ms);
    return e ? e : TX_DO(tx, STMT_devices_forget, -1, v_uuid(&f->user));
}

static enum err contact_count_row(void *ctx, const struct row *row)
{
    (void)row;
    ++*(int *)ctx;
    return OK;
}

/* Removes the targets of sends that were made until then. A person may have years of them: one
 * statement changes a bounded number, since SQLite has one writer (M2). */
static enum err contact_forget_sends(struct tx *tx, struct uuid user, int64_t until_ms,
                                     int64_t now_ms, bool *ret_more)
{
    struct val v[] = { V_INT(now_ms), v_uuid(&user), V_INT(until_ms), V_INT(LIMIT_STATEMENT_ROWS) };
    int own = 0, as_participant = 0;
    enum err e = tx_each(tx, STMT_sends_forget, v, COUNT(v), contact_count_row, &own);

    if (!e)
        e = tx_each(tx, STMT_sends_forget_participant, v, COUNT(v), contact_count_row,
                    &as_participant);
    *ret_more = own == LIMIT_STATEMENT_ROWS || as_participant == LIMIT_STATEMENT_ROWS;
    return e;
}

enum err contact_forget(struct tx *tx, struct queue *q, const struct contact_forget *f,
                        int64_t now_ms)
{
    struct queue_new next = { .id = f->job, .kind = S("contact.forget"), .due_ms = now_ms };
    char user[UUID_TEXT + 1];
    bool more = false;
    enum err e = contact_remove(tx, f, now_ms);

    if (e)
        return e;
    /* No upper time here: the clock may have been ahead when a send was made. */
    e = contact_forget_sends(tx, f->user, INT64_MAX, now_ms, &more);
    if (e || !more)
        return e;
    uuid_text(f->user, user);
    next.ref = str_of(user);
    return queue_add(q, tx, now_ms, &next, 1);
}

static enum err contact_forget_more(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    int64_t now_ms = env_now_ms(j->env);
    struct uuid user;
    bool more;
    enum err e;

    (void)ctx, (void)why;
    if (!uuid_parse(j->message->ref, &user))
        return ERR_INTERNAL;
    e = contact_forget_sends(tx, user, j->message->added_ms, now_ms, &more);
    j->again_ms = !e && more ? now_ms + FORGET_PAUSE_MS : 0;
    return e;
}

struct job_kind contact_forget_kind(void)
{
    return (struct job_kind){
        .name = "contact.forget",
        .retry = retry_table[RETRY_HOUSEKEEPING],
        .outside = job_without_outside,
        .settle = contact_forget_more,
        .patient = true,
    };
}

/* --- as JSON --- */

struct str target_masked(struct str channel, struct str target, char text[MASKED_MAX])
{
    struct str domain = target, local = str_cut(&domain, '@');
    int first = (int)(target.n < SHOWN_OF_TOKEN ? target.n : SHOWN_OF_TOKEN), n = 0;

    if (str_eq(channel, S("mail")) && local.n && domain.n && domain.n < MASKED_MAX - 8)
        n = snprintf(text, MASKED_MAX, "%.*s***@" STR_FMT, (local.p[0] & 0x80) ? 0 : 1, local.p,
                     STR_ARG(domain));
    else if (str_eq(channel, S("push")) && target.n != 2 * sizeof(((struct uuid *)0)->b))
        n = snprintf(text, MASKED_MAX, "%.*s***", first, target.p);
    return (struct str){ text, (size_t)n };
}

static void contact_out_tokens(struct buf *b, const struct contact *c, bool in_full)
{
    char masked[MASKED_MAX];

    out_name(b, "deviceTokens");
    buf_char(b, '[');
    for (size_t i = 0; i < c->token_count; i++) {
        buf_add(b, i ? S(",") : S(""));
        buf_json(b, in_full ? c->tokens[i] : target_masked(S("push"), c->tokens[i], masked));
    }
    buf_char(b, ']');
}

static void contact_out_channels(struct buf *b, unsigned channels)
{
    const char *glue = "";

    out_name(b, "channels");
    buf_char(b, '[');
    for (enum channel c = 0; c < CHANNELS; c++)
        if (channels & CHANNEL_BIT(c)) {
            buf_fmt(b, "%s\"%s\"", glue, channel_names[c]);
            glue = ",";
        }
    buf_char(b, ']');
}

struct str contact_json(struct arena *a, const struct contact *c, bool in_full)
{
    struct buf b;

    buf_init(&b, JSON_MAX);
    buf_char(&b, '{');
    out_uuid(&b, "id", c->user);
    out_text(&b, "email", c->email);
    out_text(&b, "language", c->language);
    contact_out_channels(&b, c->channels);
    contact_out_tokens(&b, c, in_full);
    out_time(&b, "createdAt", c->created_ms);
    out_time(&b, "updatedAt", c->updated_ms);
    buf_char(&b, '}');
    return out_done(&b, a);
}
