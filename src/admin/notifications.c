/* notifications.c - reads a page of notifications, then the sends of all of them in one statement.
 * Addresses are shown masked: enough for an operator to recognize one, not enough to copy it. */
#include "admin/notifications.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/query.h"
#include "notify/contact.h"
#include "store/json_values.h"

#include <string.h>

enum { SEND_COLUMNS = 8 };

/* The values borrow bytes that live until the unit's run ends. */
struct notifications_send {
    struct notifications_send *next;
    struct val v[SEND_COLUMNS];
};

struct notifications_found {
    struct arena *arena;
    struct row rows[LIMIT_PAGE + 1];
    size_t count;
    struct notifications_send *first, **last;
};

static enum err notifications_keep(void *ctx, const struct row *row)
{
    struct notifications_found *f = ctx;

    if (f->count == COUNT(f->rows))
        return ERR_INTERNAL;
    f->rows[f->count++] = *row;
    return OK;
}

static enum err notifications_keep_send(void *ctx, const struct row *row)
{
    struct notifications_found *f = ctx;
    struct notifications_send *s = arena_alloc(f->arena, 1, sizeof(*s));

    if (!s)
        return ERR_NO_MEMORY;
    memcpy(s->v, row->col, sizeof(s->v));
    *f->last = s;
    f->last = &s->next;
    return OK;
}

static enum err notifications_find(struct tx *tx, const struct notification_page *p,
                                   struct notifications_found *f)
{
    struct val before = V_BLOB(uuid_bytes(&p->before)), limit = V_INT(p->limit + 1);
    struct val page[] = { before, limit };
    struct val ids[LIMIT_PAGE + 1];
    enum err e;

    if (p->payment) {
        struct val of[] = { V_BLOB(uuid_bytes(p->payment)), before, limit };

        e = tx_each(tx, STMT_notifications_of_payment, of, COUNT(of), notifications_keep, f);
    } else {
        e = tx_each(tx, STMT_notifications_page, page, COUNT(page), notifications_keep, f);
    }
    for (size_t i = 0; i < f->count; i++)
        ids[i] = f->rows[i].col[0];
    return e || !f->count
               ? e
               : tx_bulk(tx, STMT_sends_of_many, ids, f->count, 1, notifications_keep_send, f);
}

/* --- one line --- */

void history_out_time(struct buf *b, const char *name, const struct val *v)
{
    out_time(b, name, v->type == VAL_INT ? v->i : 0);
}

static void notification_out_send(struct buf *b, const struct val *v)
{
    char masked[MASKED_MAX];

    buf_char(b, '{');
    out_val_text(b, "channel", &v[1]);
    out_text(b, "target", target_masked(v[1].s, v[2].s, masked));
    out_val_text(b, "status", &v[3]);
    out_int(b, "tries", v[4].i);
    out_val_text(b, "why", &v[5]);
    history_out_time(b, "createdAt", &v[6]);
    history_out_time(b, "updatedAt", &v[7]);
    buf_char(b, '}');
}

static void notification_out_sends(struct buf *b, const struct notifications_found *f,
                                   struct str notification)
{
    const char *glue = "";

    out_name(b, "sends");
    buf_char(b, '[');
    for (const struct notifications_send *s = f->first; s; s = s->next)
        if (str_eq(s->v[0].s, notification)) {
            buf_add(b, str_of(glue));
            notification_out_send(b, s->v);
            glue = ",";
        }
    buf_char(b, ']');
}

static void notification_out(struct buf *b, const struct notifications_found *f,
                             const struct val *v)
{
    buf_char(b, '{');
    out_val_uuid(b, "id", &v[0]);
    out_val_text(b, "type", &v[1]);
    out_val_uuid(b, "userId", &v[2]);
    out_val_uuid(b, "participantId", &v[3]);
    out_val_uuid(b, "paymentId", &v[4]);
    out_val_text(b, "language", &v[5]);
    out_val_text(b, "title", &v[6]);
    out_val_text(b, "body", &v[7]);
    out_json(b, "data", v[8].s);
    history_out_time(b, "createdAt", &v[9]);
    history_out_time(b, "recordedAt", &v[10]);
    notification_out_sends(b, f, v[0].s);
    buf_char(b, '}');
}

enum err history_notification_page(struct tx *tx, const struct notification_page *p)
{
    struct notifications_found *f = arena_alloc(p->arena, 1, sizeof(*f));
    size_t limit = (size_t)p->limit, shown;
    struct uuid last;
    enum err e;

    if (!f)
        return ERR_NO_MEMORY;
    f->arena = p->arena;
    f->last = &f->first;
    e = notifications_find(tx, p, f);
    shown = f->count < limit ? f->count : limit;
    for (size_t i = 0; i < shown && !e; i++) {
        buf_add(p->out, i ? S(",") : S(""));
        notification_out(p->out, f, f->rows[i].col);
    }
    if (!e && f->count > limit && !uuid_of_bytes(f->rows[limit - 1].col[0].s, &last))
        e = ERR_INTERNAL;
    query_next_cursor(p->out, f->count > limit ? &last : NULL);
    return e;
}
