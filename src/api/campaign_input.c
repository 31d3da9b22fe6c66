/* campaign_input.c - checks the campaign and each of its layers. A problem of a layer is reported
 * under the layer's place in the list: "layers[2].price". */
#include "api/campaign_input.h"

#include "endpoint/fields.h"

#include <stdio.h>

enum { FIELD_MAX = 48, WORDS_MAX = 128 };

struct campaign_reading {
    struct request *request;
    struct campaign_input *in;
    struct json_problems problems;
    int64_t positions; /* of all layers that could be read */
    bool no_memory;
};

/* --- one layer --- */

static void layer_problem(struct campaign_reading *g, size_t i, const char *field, const char *en,
                          const char *ja)
{
    char name[FIELD_MAX];

    snprintf(name, sizeof(name), "layers[%zu].%s", i, field);
    json_problem_in(&g->problems, name, en, ja);
}

static void read_number(struct campaign_reading *g, const cJSON *layer, size_t i, const char *field,
                        int64_t most, int64_t *ret_value)
{
    char en[WORDS_MAX], ja[WORDS_MAX];
    struct json_problems unnamed;

    json_problems_init(&unnamed);
    if (!json_get_int(layer, field, true, 1, most, ret_value, &unnamed)) {
        snprintf(en, sizeof(en), "must be a whole number from 1 to %lld", (long long)most);
        snprintf(ja, sizeof(ja), "1〜%lld の整数にしてください", (long long)most);
        layer_problem(g, i, field, en, ja);
    }
    json_problems_release(&unnamed);
}

static void read_name(struct campaign_reading *g, const cJSON *layer, size_t i,
                      struct layer_input *l)
{
    char en[WORDS_MAX], ja[WORDS_MAX];
    struct json_problems unnamed;
    struct str name;

    json_problems_init(&unnamed);
    if (json_get_str(layer, "name", true, LAYER_NAME_MAX, &name, &unnamed)) {
        l->name = fields_keep(g->request, name, &g->no_memory);
    } else {
        snprintf(en, sizeof(en), "must be a text of 1 to %d characters", LAYER_NAME_MAX);
        snprintf(ja, sizeof(ja), "1〜%d 文字の文字列にしてください", LAYER_NAME_MAX);
        layer_problem(g, i, "name", en, ja);
    }
    json_problems_release(&unnamed);
}

static void read_unknown_fields(struct campaign_reading *g, const cJSON *layer, size_t i)
{
    static const char *const names[] = { "name", "price", "positions" };

    for (const cJSON *item = layer->child; item; item = item->next)
        if (!fields_knows(names, COUNT(names), item->string))
            layer_problem(g, i, item->string, FIELDS_UNKNOWN_WORDS);
}

static void read_layer(struct campaign_reading *g, const cJSON *layer, size_t i)
{
    struct layer_input *l = &g->in->layers[i];
    char name[FIELD_MAX];

    if (!cJSON_IsObject(layer)) {
        snprintf(name, sizeof(name), "layers[%zu]", i);
        json_problem_in(&g->problems, name, "must be a JSON object",
                        "JSON オブジェクトにしてください");
        return;
    }
    read_name(g, layer, i, l);
    read_number(g, layer, i, "price", MONEY_MAX, &l->price);
    read_number(g, layer, i, "positions", POSITIONS_MAX, &l->positions);
    read_unknown_fields(g, layer, i);
    g->positions += l->positions;
}

/* --- the body --- */

static void read_layers(struct campaign_reading *g, const cJSON *body)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "layers");
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    size_t i = 0;

    if (n < 1 || n > LAYERS_MAX) {
        json_problem_in(&g->problems, "layers", "must be a list of 1 to 50 layers",
                        "1〜50 件のレイヤーのリストにしてください");
        return;
    }
    g->in->layers = arena_alloc(&g->request->arena, (size_t)n, sizeof(*g->in->layers));
    g->no_memory = g->no_memory || !g->in->layers;
    if (!g->in->layers)
        return;
    g->in->layer_count = (size_t)n;
    for (const cJSON *layer = list->child; layer; layer = layer->next)
        read_layer(g, layer, i++);
    if (g->positions > POSITIONS_MAX)
        json_problem_in(&g->problems, "layers", "must have at most 10000 positions in all",
                        "ポジションは合計 10000 以下にしてください");
}

/* Not more than there are positions, where those could be read. */
static void read_winners(struct campaign_reading *g, const cJSON *body)
{
    g->in->winners = 1;
    if (json_get_int(body, "winners", false, 0, POSITIONS_MAX, &g->in->winners, &g->problems) &&
        g->positions && g->in->winners > g->positions)
        json_problem_in(&g->problems, "winners", "must not be more than there are positions",
                        "ポジションの数以下にしてください");
}

static void read_all(struct campaign_reading *g, const cJSON *body)
{
    static const char *const names[] = { "title", "currency", "winners", "layers" };
    struct str title;

    if (json_get_str(body, "title", true, CAMPAIGN_TITLE_MAX, &title, &g->problems))
        g->in->title = fields_keep(g->request, title, &g->no_memory);
    fields_currency(body, true, g->in->currency, &g->problems);
    read_layers(g, body);
    read_winners(g, body);
    fields_only(body, names, COUNT(names), &g->problems);
}

bool campaign_input_read(struct request *r, struct campaign_input *ret_input)
{
    static const char *const nullable[] = { "winners" };
    struct campaign_reading g = { .request = r, .in = ret_input };
    CLEANUP(json_freep) cJSON *body = NULL;

    if (!fields_body(r, &body))
        return false;
    json_drop_nulls(body, nullable, COUNT(nullable));
    fields_problems(r, &g.problems);
    read_all(&g, body);
    if (fields_refused(r, &g.problems))
        return false;
    if (g.no_memory)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    return !g.no_memory;
}
