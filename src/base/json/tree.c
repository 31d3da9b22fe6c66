/* tree.c - makes cJSON trees of text that the scanner has accepted, and reads the fields of their
 * objects. A problem with a field is one entry of json_problems; the caller reports them
 * together. */
#include "base/json/json.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers keep their text where a double would lose it --- */

/* Takes the next number out of *text. The scanner has accepted the text, so only strings are
 * skipped. */
static struct str next_number(struct str *text)
{
    size_t i = 0, from;

    while (i < text->n && !strchr("-0123456789", text->p[i])) {
        if (text->p[i++] != '"')
            continue;
        while (text->p[i] != '"')
            i += text->p[i] == '\\' ? 2 : 1;
        i++;
    }
    from = i;
    while (i < text->n && strchr("+-.0123456789eE", text->p[i]))
        i++;
    *text = (struct str){ text->p + i, text->n - i };
    return (struct str){ text->p - (i - from), i - from };
}

static bool keep_text(cJSON *number, struct str lexeme)
{
    char *copy = cJSON_malloc(lexeme.n + 1);

    if (!copy)
        return false;
    memcpy(copy, lexeme.p, lexeme.n);
    copy[lexeme.n] = '\0';
    number->valuestring = copy; /* cJSON_Delete frees it */
    return true;
}

/* Numbers stand in the tree in the order of the text. */
static bool keep_texts(cJSON *item, struct str *text)
{
    for (; item; item = item->next) {
        if (cJSON_IsNumber(item) && !keep_text(item, next_number(text)))
            return false;
        if (item->child && !keep_texts(item->child, text))
            return false;
    }
    return true;
}

enum err json_parse(struct str text, cJSON **ret_tree, struct json_fault *ret_fault)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    bool odd_numbers;
    enum err e = json_scan(text, &odd_numbers, ret_fault);

    if (e)
        return e;
    tree = cJSON_ParseWithLength(text.p, text.n);
    if (!tree || (odd_numbers && !keep_texts(tree, &text))) {
        if (ret_fault)
            *ret_fault = (struct json_fault){ 0, "needs more memory than there is" };
        return ERR_NO_MEMORY; /* the scanner is the stricter one, so nothing else is left */
    }
    *ret_tree = tree;
    tree = NULL;
    return OK;
}

void json_freep(cJSON **tree)
{
    cJSON_Delete(*tree);
    *tree = NULL;
}

/* --- problems --- */

void json_problems_init(struct json_problems *p)
{
    buf_init(&p->text, LIMIT_JSON_PROBLEMS);
    p->count = 0;
    p->language = LANG_EN;
}

void json_problems_release(struct json_problems *p)
{
    buf_release(&p->text);
    p->count = 0;
}

void json_problem(struct json_problems *p, const char *field, const char *message)
{
    size_t before = p->text.n;

    buf_add(&p->text, before ? S(",{\"field\":") : S("[{\"field\":"));
    buf_json(&p->text, str_of(field));
    buf_add(&p->text, S(",\"message\":"));
    buf_json(&p->text, str_of(message));
    buf_char(&p->text, '}');
    if (!buf_reserve(&p->text, 1))
        p->text.n = before; /* drop what was half written */
    p->count++;
}

void json_problem_in(struct json_problems *p, const char *field, const char *en, const char *ja)
{
    json_problem(p, field, p->language == LANG_JA ? ja : en);
}

/* The scanner's messages and their translations. A message without a row here stays English. */
static const struct {
    const char *en, *ja;
} fault_words[] = {
    { "':' was expected", "「:」がありません" },
    { "',' or '}' was expected", "「,」か「}」がありません" },
    { "',' or ']' was expected", "「,」か「]」がありません" },
    { "a control character in a string", "文字列に制御文字が含まれています" },
    { "a high surrogate stands alone", "上位サロゲートが単独で使われています" },
    { "a key was expected", "キーがありません" },
    { "a low surrogate stands alone", "下位サロゲートが単独で使われています" },
    { "a number may not begin with 0", "数値を 0 で始めることはできません" },
    { "a value was expected", "値がありません" },
    { "digits are missing", "数字がありません" },
    { "digits are missing behind the decimal point", "小数点の後に数字がありません" },
    { "digits are missing in the exponent", "指数に数字がありません" },
    { "needs more memory than there is", "メモリが不足しています" },
    { "nested too deeply", "入れ子が深すぎます" },
    { "no such escape", "不明なエスケープです" },
    { "something stands behind the end", "末尾に余分な文字があります" },
    { "the key occurs twice in its object", "同じキーが 2 回あります" },
    { "the number is too long", "数値が長すぎます" },
    { "the string does not end", "文字列が閉じられていません" },
    { "the string is not UTF-8", "文字列が UTF-8 ではありません" },
    { "the text is too long", "本文が長すぎます" },
    { "too many values", "値が多すぎます" },
    { "\\u needs four hex digits", "\\u には 16 進数 4 桁が必要です" },
    { "\\u0000 is not allowed", "\\u0000 は使えません" },
};

static const char *fault_in_japanese(const char *en)
{
    for (size_t i = 0; i < COUNT(fault_words); i++)
        if (strcmp(fault_words[i].en, en) == 0)
            return fault_words[i].ja;
    return en;
}

void json_problem_fault(struct json_problems *p, const char *field, const struct json_fault *f)
{
    char en[128], ja[160];

    snprintf(en, sizeof(en), "is not JSON: %s (at byte %zu)", f->why, f->offset);
    snprintf(ja, sizeof(ja), "JSON ではありません：%s（%zu バイト目）", fault_in_japanese(f->why),
             f->offset);
    json_problem_in(p, field, en, ja);
}

struct str json_problems_array(struct json_problems *p)
{
    if (!p->text.n)
        return S("[]");
    p->text.p[p->text.n] = ']'; /* its room was reserved; the next problem writes over it */
    return (struct str){ p->text.p, p->text.n + 1 };
}

/* --- fields --- */

void json_drop_nulls(cJSON *object, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cJSON *item = cJSON_GetObjectItemCaseSensitive(object, names[i]);

        if (cJSON_IsNull(item))
            cJSON_Delete(cJSON_DetachItemViaPointer(object, item));
    }
}

/* Returns the field, or NULL where it is absent. A required field that is absent or null is a
 * problem. */
static const cJSON *tree_get(const cJSON *object, const char *field, bool required,
                             struct json_problems *p)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    if (item && !(required && cJSON_IsNull(item)))
        return item;
    if (required)
        json_problem_in(p, field, "is required", "必須です");
    return NULL;
}

static size_t count_chars(const char *utf8)
{
    size_t n = 0;

    for (; *utf8; utf8++)
        n += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return n;
}

bool json_get_str(const cJSON *object, const char *field, bool required, size_t max_chars,
                  struct str *ret_text, struct json_problems *p)
{
    const cJSON *item = tree_get(object, field, required, p);
    size_t least = required ? 1 : 0, n;
    char en[96], ja[96];

    if (!item)
        return false;
    n = cJSON_IsString(item) ? count_chars(item->valuestring) : SIZE_MAX;
    if (n < least || n > max_chars) {
        snprintf(en, sizeof(en), "must be a text of %zu to %zu characters", least, max_chars);
        snprintf(ja, sizeof(ja), "%zu〜%zu 文字の文字列にしてください", least, max_chars);
        json_problem_in(p, field, en, ja);
        return false;
    }
    *ret_text = str_of(item->valuestring);
    return true;
}

static bool to_int(const cJSON *item, int64_t *ret_value)
{
    if (!cJSON_IsNumber(item))
        return false;
    if (item->valuestring)
        return str_to_i64(str_of(item->valuestring), ret_value);
    *ret_value = (int64_t)item->valuedouble; /* a plain integer of at most 15 digits */
    return true;
}

bool json_get_int(const cJSON *object, const char *field, bool required, int64_t least,
                  int64_t most, int64_t *ret_value, struct json_problems *p)
{
    const cJSON *item = tree_get(object, field, required, p);
    char en[96], ja[96];
    int64_t value;

    if (!item)
        return false;
    if (!to_int(item, &value) || value < least || value > most) {
        snprintf(en, sizeof(en), "must be a whole number from %lld to %lld", (long long)least,
                 (long long)most);
        snprintf(ja, sizeof(ja), "%lld〜%lld の整数にしてください", (long long)least,
                 (long long)most);
        json_problem_in(p, field, en, ja);
        return false;
    }
    *ret_value = value;
    return true;
}

bool json_get_bool(const cJSON *object, const char *field, bool required, bool *ret_value,
                   struct json_problems *p)
{
    const cJSON *item = tree_get(object, field, required, p);

    if (!item)
        return false;
    if (!cJSON_IsBool(item)) {
        json_problem_in(p, field, "must be true or false", "true か false にしてください");
        return false;
    }
    *ret_value = cJSON_IsTrue(item);
    return true;
}
