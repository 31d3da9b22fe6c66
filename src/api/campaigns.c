#include "api/campaigns.h"

#include "api/campaign_input.h"
#include "base/limits.h"
#include "campaign/lottery.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

enum { CAMPAIGNS_DEFAULT = 20, POSITIONS_DEFAULT = 100 };

struct campaigns_act { /* one request, in its own arena */
    struct api_answer answer;
    struct payments *payments;
    struct uuid id, user;
    struct campaign_input input; /* PUT */
    enum campaign_put put;
    struct position_filter positions;
    bool has_before; /* the list */
    struct uuid before;
    int limit;
    bool not_drawn; /* out: the campaign is there, its draw is not */
};

/* The path's id is read where there is one. NULL: the answer was sent. */
ANSWERS static struct campaigns_act *campaign_act_new(struct request *r, void *ctx,
                                                      const struct principal *p, bool has_id)
{
    const struct api_payments *api = ctx;
    struct campaigns_act *a = api_room(r, sizeof(*a));

    if (!a)
        return NULL;
    a->answer.request = r;
    a->payments = api->payments;
    a->user = p->user;
    return !has_id || fields_path_id(r, &a->id) ? a : NULL;
}

static void campaigns_post(struct campaigns_act *a, const struct unit_kind *kind,
                           void (*done)(struct unit *))
{
    api_answer_post(&a->answer, a->answer.request, a->payments->runtime.store, kind, done);
}

/* --- PUT --- */

static enum err campaigns_put(struct tx *tx, struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);
    enum err e = campaign_put(tx, &a->input, env_now_ms(a->payments->runtime.env), &a->put);

    return e || a->put == CAMPAIGN_DIFFERS ? e
                                           : campaign_json(tx, u->arena, a->id, &a->answer.text);
}

static void campaign_was_put(struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);
    struct request *r = a->answer.request;

    if (u->err)
        reply_problem(r, u->err, NULL);
    else if (a->put == CAMPAIGN_DIFFERS)
        reply_problem(
            r, ERR_UNPROCESSABLE,
            r->language == LANG_JA
                ? "この ID のキャンペーンは別の内容で作成済みです。内容は変更できません。"
                : "A campaign with this id was made of something else; it cannot change.");
    else
        reply_send(r, a->put == CAMPAIGN_MADE ? 201 : 200, S("application/json"), a->answer.text);
}

void api_campaign_put(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "campaign.put", UNIT_FRONT, campaigns_put, NULL };
    struct campaigns_act *a = campaign_act_new(r, ctx, p, true);

    if (!a || !campaign_input_read(r, &a->input))
        return;
    a->input.id = a->id;
    a->input.created_by = a->user;
    campaigns_post(a, &kind, campaign_was_put);
}

/* --- GET one --- */

static enum err campaigns_get(struct tx *tx, struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);

    return campaign_json(tx, u->arena, a->id, &a->answer.text);
}

void api_campaign_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "campaign.get", UNIT_READ, campaigns_get, NULL };
    struct campaigns_act *a = campaign_act_new(r, ctx, p, true);

    if (a)
        campaigns_post(a, &kind, api_answer_show);
}

/* --- GET all --- */

static bool campaign_list_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct campaigns_act *)ctx)->limit);
}

static bool campaign_list_cursor(struct request *r, void *ctx, struct str value)
{
    struct campaigns_act *a = ctx;

    (void)r;
    a->has_before = uuid_parse(value, &a->before);
    return a->has_before;
}

static enum err campaigns_list(struct tx *tx, struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);

    return campaigns_json(tx, u->arena, a->has_before ? &a->before : NULL, a->limit,
                          &a->answer.text);
}

void api_campaign_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        QUERY_LIMIT(campaign_list_limit),
        QUERY_CURSOR(campaign_list_cursor),
    };
    static const struct unit_kind kind = { "campaign.list", UNIT_READ, campaigns_list, NULL };
    struct campaigns_act *a = campaign_act_new(r, ctx, p, false);

    if (!a)
        return;
    a->limit = CAMPAIGNS_DEFAULT;
    if (query_read(r, parameters, COUNT(parameters), a))
        campaigns_post(a, &kind, api_answer_show);
}

/* --- GET its positions --- */

static bool positions_layer(struct request *r, void *ctx, struct str value)
{
    struct position_filter *f = &((struct campaigns_act *)ctx)->positions;

    (void)r;
    f->has_layer = uuid_parse(value, &f->layer);
    return f->has_layer;
}

static bool positions_status(struct request *r, void *ctx, struct str value)
{
    struct position_filter *f = &((struct campaigns_act *)ctx)->positions;

    (void)r;
    f->status = value;
    return str_eq(value, S("available")) || str_eq(value, S("reserved")) ||
           str_eq(value, S("sold"));
}

static bool positions_cursor(struct request *r, void *ctx, struct str value)
{
    struct position_filter *f = &((struct campaigns_act *)ctx)->positions;

    (void)r;
    return str_to_i64(value, &f->after) && f->after >= 1 && f->after <= POSITIONS_MAX;
}

static bool positions_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_POSITIONS_PAGE,
                       &((struct campaigns_act *)ctx)->positions.limit);
}

static enum err list_positions(struct tx *tx, struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);

    return positions_json(tx, u->arena, &a->positions, &a->answer.text);
}

void api_campaign_positions(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "layerId", positions_layer, "must be a UUID", "UUID を指定してください" },
        { "status", positions_status, "must be available, reserved or sold",
          "available、reserved、sold のいずれかにしてください" },
        { "limit", positions_limit, "must be a whole number from 1 to 1000",
          "1〜1000 の整数にしてください" },
        QUERY_CURSOR(positions_cursor),
    };
    static const struct unit_kind kind = { "campaign.positions", UNIT_READ, list_positions, NULL };
    struct campaigns_act *a = campaign_act_new(r, ctx, p, true);

    if (!a)
        return;
    a->positions = (struct position_filter){ .campaign = a->id,
                                             .viewer = p->user,
                                             .sees_all = auth_sees_all(p),
                                             .limit = POSITIONS_DEFAULT };
    if (query_read(r, parameters, COUNT(parameters), a))
        campaigns_post(a, &kind, api_answer_show);
}

/* --- GET its draw --- */

static enum err get_draw(struct tx *tx, struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);
    enum err e = draw_json(tx, u->arena, a->id, &a->answer.text);

    a->not_drawn = false;
    if (e != ERR_NOT_FOUND)
        return e;
    e = campaign_exists(tx, a->id);
    a->not_drawn = !e;
    return e;
}

static void show_draw(struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);
    struct request *r = a->answer.request;

    if (!u->err && a->not_drawn)
        reply_problem(r, ERR_NOT_FOUND,
                      r->language == LANG_JA
                          ? "このキャンペーンの抽選はまだ行われていません。"
                          : "This campaign has not been drawn yet; its draw will stand here.");
    else
        api_answer_show(u);
}

void api_campaign_draw(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "campaign.draw.get", UNIT_READ, get_draw, NULL };
    struct campaigns_act *a = campaign_act_new(r, ctx, p, true);

    if (a)
        campaigns_post(a, &kind, show_draw);
}

/* --- POST cancel --- */

static enum err campaigns_cancel(struct tx *tx, struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);
    enum err e =
        campaign_cancel(tx, a->payments, a->id, a->user, env_now_ms(a->payments->runtime.env));

    return e ? e : campaign_json(tx, u->arena, a->id, &a->answer.text);
}

static void campaign_was_cancelled(struct unit *u)
{
    struct campaigns_act *a = CONTAINER_OF(u, struct campaigns_act, answer.unit);
    struct request *r = a->answer.request;

    if (u->err == ERR_UNPROCESSABLE)
        reply_problem(r, u->err,
                      r->language == LANG_JA
                          ? "抽選済みのキャンペーンは中止できません。"
                          : "The campaign is drawn; it cannot be cancelled any more.");
    else
        api_answer_show(u);
}

/* Nothing needs to be said with it; what is said all the same must not be misunderstood. */
ANSWERS static bool campaign_body_is_empty(struct request *r)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;

    if (!str_trim(r->body).n)
        return true;
    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &problems);
    fields_only(body, NULL, 0, &problems);
    return !fields_refused(r, &problems);
}

void api_campaign_cancel(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "campaign.cancel", UNIT_FRONT, campaigns_cancel, NULL };
    struct campaigns_act *a = campaign_act_new(r, ctx, p, true);

    if (a && campaign_body_is_empty(r))
        campaigns_post(a, &kind, campaign_was_cancelled);
}
