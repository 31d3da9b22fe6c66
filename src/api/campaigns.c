/* campaigns.c - each request is one unit of work. A campaign never changes its content: a PUT with
 * other content is 422, and the same PUT again is 200 with the campaign as it is now. */
#include "api/campaigns.h"

#include "api/campaign_input.h"
#include "base/limits.h"
#include "campaign/lottery.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

enum { CAMPAIGNS_DEFAULT = 20, POSITIONS_DEFAULT = 100 };

struct campaign_call { /* one request, in its own arena */
    struct api_answer answer;
    struct payments *payments;
    struct uuid id, user;
    struct campaign_input input; /* PUT */
    enum campaign_put put;
    struct position_filter positions;
    bool has_before; /* the list */
    struct uuid before;
    int limit;
    bool not_drawn; /* out: the campaign exists and has not been drawn */
};

/* has_id: the path has the campaign's id. NULL: the answer was sent. */
ANSWERS static struct campaign_call *campaign_call_new(struct request *r, void *ctx,
                                                       const struct principal *p, bool has_id)
{
    const struct api_payments *api = ctx;
    struct campaign_call *c = api_room(r, sizeof(*c));

    if (!c)
        return NULL;
    c->answer.request = r;
    c->payments = api->payments;
    c->user = p->user;
    return !has_id || fields_path_id(r, &c->id) ? c : NULL;
}

static void campaign_post(struct campaign_call *c, const struct unit_kind *kind,
                          void (*done)(struct unit *))
{
    api_answer_post(&c->answer, c->answer.request, c->payments->runtime.store, kind, done);
}

/* --- PUT --- */

static enum err campaign_run_put(struct tx *tx, struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);
    enum err e = campaign_put(tx, &c->input, env_now_ms(c->payments->runtime.env), &c->put);

    return e || c->put == CAMPAIGN_DIFFERS ? e
                                           : campaign_json(tx, u->arena, c->id, &c->answer.text);
}

static void campaign_was_put(struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);
    struct request *r = c->answer.request;

    if (u->err)
        reply_problem(r, u->err, NULL);
    else if (c->put == CAMPAIGN_DIFFERS)
        reply_problem(
            r, ERR_UNPROCESSABLE,
            r->language == LANG_JA
                ? "この ID のキャンペーンは別の内容で作成済みです。内容は変更できません。"
                : "A campaign with this id was made of something else; it cannot change.");
    else
        reply_send(r, c->put == CAMPAIGN_MADE ? 201 : 200, S("application/json"), c->answer.text);
}

void api_campaign_put(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "campaign.put", UNIT_FRONT, campaign_run_put, NULL };
    struct campaign_call *c = campaign_call_new(r, ctx, p, true);

    if (!c || !campaign_input_read(r, &c->input))
        return;
    c->input.id = c->id;
    c->input.created_by = c->user;
    campaign_post(c, &kind, campaign_was_put);
}

/* --- GET one --- */

static enum err campaign_run_get(struct tx *tx, struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);

    return campaign_json(tx, u->arena, c->id, &c->answer.text);
}

void api_campaign_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "campaign.get", UNIT_READ, campaign_run_get, NULL };
    struct campaign_call *c = campaign_call_new(r, ctx, p, true);

    if (c)
        campaign_post(c, &kind, api_answer_show);
}

/* --- GET all --- */

static bool campaign_list_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct campaign_call *)ctx)->limit);
}

static bool campaign_list_cursor(struct request *r, void *ctx, struct str value)
{
    struct campaign_call *c = ctx;

    (void)r;
    c->has_before = uuid_parse(value, &c->before);
    return c->has_before;
}

static enum err campaign_run_list(struct tx *tx, struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);

    return campaigns_json(tx, u->arena, c->has_before ? &c->before : NULL, c->limit,
                          &c->answer.text);
}

void api_campaign_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        QUERY_LIMIT(campaign_list_limit),
        QUERY_CURSOR(campaign_list_cursor),
    };
    static const struct unit_kind kind = { "campaign.list", UNIT_READ, campaign_run_list, NULL };
    struct campaign_call *c = campaign_call_new(r, ctx, p, false);

    if (!c)
        return;
    c->limit = CAMPAIGNS_DEFAULT;
    if (query_read(r, parameters, COUNT(parameters), c))
        campaign_post(c, &kind, api_answer_show);
}

/* --- GET its positions --- */

static bool positions_layer(struct request *r, void *ctx, struct str value)
{
    struct position_filter *f = &((struct campaign_call *)ctx)->positions;

    (void)r;
    f->has_layer = uuid_parse(value, &f->layer);
    return f->has_layer;
}

static bool positions_status(struct request *r, void *ctx, struct str value)
{
    struct position_filter *f = &((struct campaign_call *)ctx)->positions;

    (void)r;
    f->status = value;
    return str_eq(value, S("available")) || str_eq(value, S("reserved")) ||
           str_eq(value, S("sold"));
}

static bool positions_cursor(struct request *r, void *ctx, struct str value)
{
    struct position_filter *f = &((struct campaign_call *)ctx)->positions;

    (void)r;
    return str_to_i64(value, &f->after) && f->after >= 1 && f->after <= POSITIONS_MAX;
}

static bool positions_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_POSITIONS_PAGE,
                       &((struct campaign_call *)ctx)->positions.limit);
}

static enum err campaign_run_positions(struct tx *tx, struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);

    return positions_json(tx, u->arena, &c->positions, &c->answer.text);
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
    static const struct unit_kind kind = { "campaign.positions", UNIT_READ, campaign_run_positions,
                                           NULL };
    struct campaign_call *c = campaign_call_new(r, ctx, p, true);

    if (!c)
        return;
    c->positions = (struct position_filter){ .campaign = c->id,
                                             .viewer = p->user,
                                             .sees_all = auth_sees_all(p),
                                             .limit = POSITIONS_DEFAULT };
    if (query_read(r, parameters, COUNT(parameters), c))
        campaign_post(c, &kind, api_answer_show);
}

/* --- GET its draw --- */

static enum err campaign_run_draw(struct tx *tx, struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);
    enum err e = draw_json(tx, u->arena, c->id, &c->answer.text);

    c->not_drawn = false;
    if (e != ERR_NOT_FOUND)
        return e;
    e = campaign_exists(tx, c->id);
    c->not_drawn = !e;
    return e;
}

static void campaign_answer_draw(struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);
    struct request *r = c->answer.request;

    if (!u->err && c->not_drawn)
        reply_problem(r, ERR_NOT_FOUND,
                      r->language == LANG_JA
                          ? "このキャンペーンの抽選はまだ行われていません。"
                          : "This campaign has not been drawn yet; its draw will stand here.");
    else
        api_answer_show(u);
}

void api_campaign_draw(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "campaign.draw.get", UNIT_READ, campaign_run_draw,
                                           NULL };
    struct campaign_call *c = campaign_call_new(r, ctx, p, true);

    if (c)
        campaign_post(c, &kind, campaign_answer_draw);
}

/* --- POST cancel --- */

static enum err campaign_run_cancel(struct tx *tx, struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);
    enum err e =
        campaign_cancel(tx, c->payments, c->id, c->user, env_now_ms(c->payments->runtime.env));

    return e ? e : campaign_json(tx, u->arena, c->id, &c->answer.text);
}

static void campaign_was_cancelled(struct unit *u)
{
    struct campaign_call *c = CONTAINER_OF(u, struct campaign_call, answer.unit);
    struct request *r = c->answer.request;

    if (u->err == ERR_UNPROCESSABLE)
        reply_problem(r, u->err,
                      r->language == LANG_JA
                          ? "抽選済みのキャンペーンは中止できません。"
                          : "The campaign is drawn; it cannot be cancelled any more.");
    else
        api_answer_show(u);
}

/* True: blank, or {}. Any field is rejected, since its meaning would be lost. */
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
    static const struct unit_kind kind = { "campaign.cancel", UNIT_FRONT, campaign_run_cancel,
                                           NULL };
    struct campaign_call *c = campaign_call_new(r, ctx, p, true);

    if (c && campaign_body_is_empty(r))
        campaign_post(c, &kind, campaign_was_cancelled);
}
