#include "webhook/edited_event.h"

#include "event/apply_event.h"

#define NOT_READ                                                                                   \
    "the edited event is not what Stripe sends / 編集後の内容は Stripe "                    \
    "のイベントの形式ではありません"
#define NO_TYPE                                                                                    \
    "an edited event of this type is refused: the gateway cannot be asked about it / "             \
    "この種類のイベントは編集できません。決済代行に照会できないためです"
#define NO_ID                                                                                      \
    "the edited event names no pi_... or re_... that the gateway can be asked for / "              \
    "編集後のイベントに、決済代行へ照会できる ID（pi_ または re_）がありません"
#define NO_FIT                                                                                     \
    "the object is not of the event's kind / イベントの種類と data.object の種類が一致しません"

/* Not for a dispute, nor for an event that concerns no payment. */
static bool can_be_asked(const struct stripe_event *e)
{
    return event_type_is_known(e->type) && e->fact.kind != FACT_NONE &&
           e->fact.kind != FACT_DISPUTE;
}

static struct edited_ids ids_of(const struct fact *f)
{
    struct edited_ids ids = { .intent = S(""), .refund = S("") };

    if (f->kind != FACT_REFUND && str_starts(f->intent_id, S("pi_")))
        ids.intent = f->intent_id;
    if (f->kind == FACT_REFUND &&
        (str_starts(f->refund_id, S("re_")) || str_starts(f->refund_id, S("pyr_"))))
        ids.refund = f->refund_id;
    return ids;
}

enum err edited_ids(const struct stripe_event *e, struct edited_ids *ret_ids, struct why *why)
{
    struct edited_ids ids = ids_of(&e->fact);

    if (e->fact_err)
        return why_err(why, ERR_UNPROCESSABLE, NOT_READ);
    if (!can_be_asked(e))
        return why_err(why, ERR_UNPROCESSABLE, NO_TYPE);
    if (!event_type_fits(e->type, e->fact.kind))
        return why_err(why, ERR_UNPROCESSABLE, NO_FIT);
    if (!ids.intent.n && !ids.refund.n)
        return why_err(why, ERR_UNPROCESSABLE, NO_ID);
    *ret_ids = ids;
    return OK;
}

enum err edited_job(struct arena *a, const struct stripe_event *e, struct str trace,
                    struct str *ret_job, struct why *why)
{
    struct event_job job = {
        .type = e->type, .livemode = e->livemode, .trace = trace, .ask = true
    };
    struct edited_ids ids;
    enum err err = edited_ids(e, &ids, why);

    if (err)
        return err;
    job.intent_id = ids.intent;
    job.object_id = ids.refund;
    *ret_job = event_job_write(a, &job);
    return ret_job->p ? OK : ERR_NO_MEMORY;
}
