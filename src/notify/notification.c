/* notification.c - see notification.h. The statement gets the texts in both languages and stores
 * those of the person's own, so that looking up the contact costs no round trip. */
#include "notify/notification.h"

#include "base/limits.h"
#include "notify/template.h"
#include "store/values.h"

#include <assert.h>
#include <stdio.h>

enum { TYPE_MAX = 32, DEDUPE_MAX = UUID_TEXT + 1 + TYPE_MAX + 1 + LIMIT_GATEWAY_ID };

/* Never contains the event's id, because two events can report the same change (E10). */
static struct str notification_dedupe_key(const struct notice *n, char text[DEDUPE_MAX + 1])
{
    char subject[UUID_TEXT + 1];
    size_t attempt = n->attempt.n < LIMIT_GATEWAY_ID ? n->attempt.n : LIMIT_GATEWAY_ID;
    int length;

    uuid_text(n->subject, subject);
    length = snprintf(text, DEDUPE_MAX + 1, "%s:%s:%.*s", subject, notice_type_name(n->type),
                      (int)attempt, attempt ? n->attempt.p : "");
    return (struct str){ text, (size_t)length };
}

static struct val v_uuid_or_null(const struct uuid *id)
{
    return id ? v_uuid(id) : V_NULL;
}

struct notification_texts {
    struct notice_words ja, en;
    struct str data;
};

/* False: no memory. */
static bool notification_texts_make(struct arena *a, const struct notice *n,
                                    struct notification_texts *w)
{
    w->ja = notice_words(a, n, LANG_JA);
    w->en = notice_words(a, n, LANG_EN);
    w->data = notice_data(a, n);
    return w->ja.body.p && w->en.body.p && w->data.p;
}

/* NOT_FOUND: this notification exists already. When the caller does not need to know (`ask` is
 * false), the statement is pipelined on PostgreSQL and the result is OK. */
static enum err notification_insert(struct tx *tx, const struct notifier *by, const struct uuid *id,
                                    const struct notice *n, const struct notification_texts *w,
                                    int64_t now_ms, bool ask)
{
    char dedupe[DEDUPE_MAX + 1];
    struct val v[] = { v_uuid(id),
                       V_TEXT(notification_dedupe_key(n, dedupe)),
                       v_uuid_or_null(n->user),
                       v_uuid_or_null(n->participant),
                       v_uuid_or_null(n->payment),
                       V_TEXT(str_of(notice_type_name(n->type))),
                       V_TEXT(w->ja.title),
                       V_TEXT(w->en.title),
                       V_TEXT(w->ja.body),
                       V_TEXT(w->en.body),
                       V_TEXT(w->data),
                       V_INT(now_ms),
                       by->has_channel ? V_NULL : V_INT(now_ms - LIMIT_SEND_NOWHERE_MS),
                       v_text(n->trace),
                       V_TEXT(by->language == LANG_JA ? S("ja") : S("en")) };
    struct row row;

    return ask ? tx_row(tx, STMT_notification_add, v, COUNT(v), &row)
               : tx_do(tx, STMT_notification_add, -1, v, COUNT(v));
}

/* The message has the row's id: it needs no body, and a second message cannot be added. */
enum err notice_add(struct tx *tx, const struct notifier *by, struct arena *a,
                    const struct notice *n, int64_t now_ms, bool *ret_new)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)), .kind = S("notify"), .due_ms = now_ms };
    struct notification_texts w;
    enum err e;

    assert(n->type < NOTICE_TYPES);
    if (!notification_texts_make(a, n, &w))
        return ERR_NO_MEMORY;
    e = notification_insert(tx, by, &m.id, n, &w, now_ms, by->has_channel || ret_new);
    if (ret_new)
        *ret_new = !e;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (by->has_channel)
        return queue_add(by->runtime->queue, tx, now_ms, &m, 1);
    /* The statement may have added a message for a node that has a transport. */
    queue_tell_others(by->runtime->queue, tx);
    return OK;
}
