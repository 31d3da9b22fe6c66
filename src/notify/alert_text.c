/* alert_text.c - an alert as a mail, in both languages, since any operator may read it. */
#include "base/json/json.h"
#include "notify/alert.h"

#include <stdio.h>

enum { TEXT_MAX = 16 * 1024, FIELD_MAX = 1000 };

struct alert_text_words {
    struct str name, state, unit, since, node, reason, summary[2], next[2];
    struct str value, threshold;
    bool again;
};

static struct str alert_text_number(const cJSON *tree, const char *name, char text[32])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree, name);
    int n = snprintf(text, 32, "%.10g", cJSON_IsNumber(item) ? item->valuedouble : 0);

    return (struct str){ text, (size_t)n };
}

static bool alert_text_read(const cJSON *tree, struct alert_text_words *w)
{
    struct json_problems p;
    bool fine;

    json_problems_init(&p);
    fine = json_get_str(tree, "name", true, FIELD_MAX, &w->name, &p) &
           json_get_str(tree, "state", true, FIELD_MAX, &w->state, &p) &
           json_get_str(tree, "unit", true, FIELD_MAX, &w->unit, &p) &
           json_get_str(tree, "since", true, FIELD_MAX, &w->since, &p) &
           json_get_str(tree, "reason", true, FIELD_MAX, &w->reason, &p) &
           json_get_str(tree, "summary", true, FIELD_MAX, &w->summary[LANG_EN], &p) &
           json_get_str(tree, "summaryJa", true, FIELD_MAX, &w->summary[LANG_JA], &p) &
           json_get_str(tree, "whatNext", true, FIELD_MAX, &w->next[LANG_EN], &p) &
           json_get_str(tree, "whatNextJa", true, FIELD_MAX, &w->next[LANG_JA], &p) &
           json_get_bool(tree, "again", true, &w->again, &p);
    json_get_str(tree, "node", false, FIELD_MAX, &w->node, &p);
    json_problems_release(&p);
    return fine;
}

static bool alert_text_is_resolved(const struct alert_text_words *w)
{
    return str_eq(w->state, S("resolved"));
}

static const char *alert_text_state(const struct alert_text_words *w, enum language l)
{
    if (alert_text_is_resolved(w))
        return l == LANG_JA ? "解消しました" : "RESOLVED, it was";
    if (w->again)
        return l == LANG_JA ? "継続中" : "STILL FIRING";
    return l == LANG_JA ? "発生" : "FIRING";
}

static void alert_text_add_body(struct buf *b, const struct alert_text_words *w, enum language l)
{
    bool ja = l == LANG_JA;

    buf_fmt(b, "%s: " STR_FMT "\n" STR_FMT "\n", alert_text_state(w, l), STR_ARG(w->name),
            STR_ARG(w->summary[l]));
    if (str_eq(w->reason, S("node_gone")))
        buf_add(b, ja ? S("このノードからの報告が途絶えたため、終了とみなしました。\n")
                      : S("Its node has not been seen any more.\n"));
    buf_fmt(b,
            ja ? "値: " STR_FMT " " STR_FMT "（しきい値 " STR_FMT "）\n"
               : "Value: " STR_FMT " " STR_FMT " (threshold " STR_FMT ")\n",
            STR_ARG(w->value), STR_ARG(w->unit), STR_ARG(w->threshold));
    if (alert_text_is_resolved(w))
        buf_fmt(b, ja ? "終了: " STR_FMT "\n" : "Ended: " STR_FMT "\n", STR_ARG(w->since));
    else
        buf_fmt(b, ja ? "開始: " STR_FMT "\n" : "Since: " STR_FMT "\n", STR_ARG(w->since));
    if (w->node.n)
        buf_fmt(b, ja ? "ノード: " STR_FMT "\n" : "Node: " STR_FMT "\n", STR_ARG(w->node));
    if (!alert_text_is_resolved(w))
        buf_fmt(b, ja ? "対応: " STR_FMT "\n" : "What to do: " STR_FMT "\n", STR_ARG(w->next[l]));
}

enum err alert_mail_text(struct arena *a, struct str json, enum language first,
                         struct str *ret_title, struct str *ret_body)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    char value[32], threshold[32];
    struct alert_text_words w = { 0 };
    struct buf b;

    if (json_parse(json, &tree, NULL) || !alert_text_read(tree, &w))
        return ERR_VALIDATION;
    w.value = alert_text_number(tree, "value", value);
    w.threshold = alert_text_number(tree, "threshold", threshold);
    buf_init(&b, TEXT_MAX);
    buf_fmt(&b, "[Ichido] %s: " STR_FMT, alert_text_state(&w, first), STR_ARG(w.summary[first]));
    *ret_title = arena_str(a, buf_str(&b));
    buf_clear(&b);
    alert_text_add_body(&b, &w, first);
    buf_char(&b, '\n');
    alert_text_add_body(&b, &w, first == LANG_JA ? LANG_EN : LANG_JA);
    *ret_body = arena_str(a, buf_str(&b));
    if (b.failed)
        *ret_body = (struct str){ 0 };
    buf_release(&b);
    return ret_title->p && ret_body->p ? OK : ERR_NO_MEMORY;
}
