/* fan_out_rest.c - the rest of a fan-out that a schedule began, one job after the other. The job's
 * body has a line for each message that is left: its id, url and member name. Everything else is
 * copied from the first message that was stored, because a stored content never changes, while the
 * schedule and the group may have changed. A crash leaves the job of the last commit. */
#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "qstash/publish/fan_out.h"
#include "qstash/schedule/schedules.h"

enum { REST_TEXT = LIMIT_QSTASH_ENDPOINTS * (LIMIT_QSTASH_MEMBER_URL + LIMIT_QSTASH_NAME + 64) };

static void rest_write_line(struct buf *b, const struct parcel *p)
{
    char id[MESSAGE_ID_TEXT + 1];

    message_id_text(p->id, id);
    buf_add(b, str_of(id));
    buf_char(b, '\t');
    buf_add(b, p->url);
    buf_char(b, '\t');
    buf_add(b, p->endpoint);
    buf_char(b, '\n');
}

static enum err rest_add_job(struct qstash *q, struct tx *tx, const struct mailing *m,
                             struct str model)
{
    int64_t now_ms = env_now_ms(q->env);
    struct queue_new next = {
        .id = env_uuid(q->env), .kind = QSTASH_SCHEDULE_KIND, .ref = model, .due_ms = now_ms
    };
    struct buf b;
    enum err e;

    buf_init(&b, REST_TEXT);
    for (size_t i = m->done; i < m->count; i++)
        rest_write_line(&b, &m->all[i].parcel);
    next.body = buf_str(&b);
    e = b.failed ? ERR_NO_MEMORY : queue_add(q->queue, tx, now_ms, &next, 1);
    buf_release(&b);
    return e;
}

enum err mailing_leave_rest(struct qstash *q, struct tx *tx, const struct mailing *m)
{
    char model[MESSAGE_ID_TEXT + 1];

    message_id_text(m->all[0].parcel.id, model);
    return rest_add_job(q, tx, m, str_of(model));
}

/* --- the job --- */

static enum err rest_read(struct arena *a, struct str lines, const struct parcel *model,
                          struct mailing *m)
{
    m->all = arena_alloc(a, LIMIT_QSTASH_ENDPOINTS, sizeof(*m->all));
    if (!m->all)
        return ERR_NO_MEMORY;
    while (lines.n && m->count < LIMIT_QSTASH_ENDPOINTS) {
        struct str line = str_cut(&lines, '\n'), id = str_cut(&line, '\t');
        struct parcel *p = &m->all[m->count++].parcel;

        *p = *model;
        if (!message_id_parse(id, &p->id) || !parcel_set_url(p, str_cut(&line, '\t')))
            return ERR_VALIDATION;
        p->endpoint = line;
    }
    return m->count && !lines.n ? OK : ERR_VALIDATION;
}

static enum err rest_store(struct qstash *q, struct tx *tx, struct arena *a,
                           const struct message *msg, struct why *why)
{
    struct mailing m = { .count = 0 };
    struct parcel model;
    struct uuid id;
    enum err e;

    if (!message_id_parse(msg->ref, &id))
        return ERR_VALIDATION;
    e = parcel_read(tx, a, id, true, &model);
    if (e == ERR_NOT_FOUND)
        why_set(why, "what it should send is not stored any more");
    if (!e)
        e = rest_read(a, msg->body, &model, &m);
    if (!e)
        e = mailing_store(q, tx, &m);
    if (e)
        return e;
    if (m.all[0].refused)
        return why_err(why, ERR_UNPROCESSABLE, "%s", QUEUES_FULL);
    return mailing_goes_on(&m) ? rest_add_job(q, tx, &m, msg->ref) : OK;
}

bool mailing_is_rest(const struct message *m)
{
    return str_starts(m->ref, S("msg_")) && str_starts(m->body, S("msg_"));
}

enum err mailing_go_on(struct qstash *q, struct tx *tx, const struct message *m, struct why *why)
{
    CLEANUP(arena_release) struct arena a;

    arena_init(&a, 4 * LIMIT_QSTASH_BODY);
    return rest_store(q, tx, &a, m, why);
}
