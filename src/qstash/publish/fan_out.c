/* fan_out.c - a publish to a URL group. The first unit of work reads the members; each unit stores
 * as many messages as fit into LIMIT_QSTASH_STEP_BYTES. A crash leaves the messages of the
 * committed units; the others were never stored. */
#include "qstash/publish/fan_out.h"

#include "base/buf.h"
#include "base/limits.h"
#include "qstash/admin/groups.h"

bool mailing_init(struct mailing *m, struct env *env, struct arena *a, const struct input *in,
                  int64_t now_ms)
{
    struct uuid *ids = arena_alloc(a, LIMIT_QSTASH_ENDPOINTS, sizeof(*ids));

    for (size_t i = 0; ids && i < LIMIT_QSTASH_ENDPOINTS; i++)
        ids[i] = env_uuid(env);
    *m = (struct mailing){ .in = in, .ids = ids, .now_ms = now_ms };
    return ids;
}

/* --- units --- */

static bool posting_address(struct posting *p, const struct input *in, const struct member *m)
{
    p->parcel = in->parcel;
    p->parcel.topic = in->group;
    p->parcel.endpoint = m->name;
    return parcel_set_url(&p->parcel, m->url);
}

static enum err mailing_address(struct tx *tx, struct arena *a, struct mailing *m)
{
    struct member *members;
    enum err e = group_members(tx, a, m->in->group, &members, &m->count);

    if (e)
        return e;
    m->all = arena_alloc(a, m->count, sizeof(*m->all));
    if (!m->all)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < m->count; i++) {
        if (!posting_address(&m->all[i], m->in, &members[i]))
            return ERR_INTERNAL; /* it was checked when it was added */
        posting_init(&m->all[i], m->in, m->ids[i], m->now_ms);
    }
    return OK;
}

enum err mailing_store(struct qstash *q, struct tx *tx, struct mailing *m)
{
    struct posting *each[LIMIT_QSTASH_ENDPOINTS];
    size_t bytes = 0;

    for (m->upto = m->done; m->upto < m->count; m->upto++) {
        struct posting *p = &m->all[m->upto];

        bytes += p->parcel.body.n + p->parcel.header.n + p->parcel.callbacks.n;
        if (m->upto > m->done && bytes > LIMIT_QSTASH_STEP_BYTES)
            break;
        each[m->upto - m->done] = p;
    }
    return postings_store(q, tx, each, m->upto - m->done);
}

enum err mailing_run(struct qstash *q, struct tx *tx, struct arena *a, struct mailing *m)
{
    enum err e = fault_point(&tx_env(tx)->faults, "qstash.group");

    if (!e && !m->done)
        e = mailing_address(tx, a, m);
    return e ? e : mailing_store(q, tx, m);
}

bool mailing_goes_on(struct mailing *m)
{
    m->done = m->upto;
    return m->done < m->count;
}

/* --- the answer --- */

static void posting_write_failure(struct buf *b, const struct posting *p, const char *words)
{
    buf_add(b, S("{\"error\":"));
    buf_json(b, str_of(words));
    buf_add(b, S(",\"url\":"));
    buf_json(b, p->parcel.url);
    buf_char(b, '}');
}

void mailing_write(struct buf *b, const struct mailing *m, enum err e)
{
    buf_char(b, '[');
    for (size_t i = 0; i < m->count; i++) {
        const struct posting *p = &m->all[i];

        if (i)
            buf_char(b, ',');
        if (i >= m->done)
            posting_write_failure(b, p, err_words(e, LANG_EN));
        else if (p->refused)
            posting_write_failure(b, p, QUEUES_FULL);
        else
            posting_write(b, p, true);
    }
    buf_char(b, ']');
}
