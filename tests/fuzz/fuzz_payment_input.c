/* Any bytes as the body of a payment request. The reader walks the text by itself, without a tree;
 * cJSON's tree is the second opinion: what was taken has only known fields, and their values are
 * the tree's. The first byte picks the operation and the language. */
#include "api/payment_input.h"
#include "base/limits.h"
#include "endpoint/media_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static bool is_known(enum op_kind kind, const char *name)
{
    static const char *const names[OP_KINDS] = {
        [OP_CREATE] = " bookingId amount currency description paymentMethod ",
        [OP_CAPTURE] = " amount ",
        [OP_REFUND] = " amount reason ",
        [OP_VOID] = " ",
    };
    char word[80];

    snprintf(word, sizeof(word), " %s ", name);
    return strlen(name) < 64 && !strchr(name, ' ') && strstr(names[kind], word);
}

static void same_text(const cJSON *tree, const char *field, struct str text)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree, field);

    must(str_eq(text, str_of(cJSON_IsString(item) ? item->valuestring : "")), field);
}

static void same_amount(const cJSON *tree, bool has, int64_t amount)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree, "amount");

    must(has == (item && !cJSON_IsNull(item)), "an amount that is there");
    if (has)
        must(cJSON_IsNumber(item) && item->valuedouble == (double)amount && amount >= 1 &&
                 amount <= MONEY_MAX,
             "the same amount, within its bounds");
}

static void check_taken(enum op_kind kind, struct str body, const struct payment_input *in)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *item;

    if (json_parse(body, &tree, NULL)) {
        for (size_t i = 0; i < body.n; i++)
            must(strchr(" \t\r\n", body.p[i]) != NULL, "only blanks are taken without being JSON");
        must(kind != OP_CREATE, "an order is never empty");
        return;
    }
    must(cJSON_IsObject(tree), "an object");
    cJSON_ArrayForEach(item, tree) must(is_known(kind, item->string), "a field that is known");
    if (kind == OP_CREATE) {
        same_amount(tree, true, in->money.minor);
        same_text(tree, "description", in->description);
        same_text(tree, "paymentMethod", in->method);
        return;
    }
    same_amount(tree, in->has_amount, in->amount);
    same_text(tree, "reason", in->reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_problems problems;
    struct payment_input in = { 0 };
    enum op_kind kind;
    struct arena arena;
    struct str body;

    if (!size)
        return 0;
    kind = (enum op_kind)(data[0] % OP_KINDS);
    body = (struct str){ (const char *)data + 1, size - 1 };
    arena_init(&arena, LIMIT_REQUEST_ARENA);
    json_problems_init(&problems);
    problems.language = data[0] & 0x80 ? LANG_JA : LANG_EN;
    if (payment_input_body(&arena, kind, body, &in, &problems) == OK && !problems.count)
        check_taken(kind, body, &in);
    must(json_check(json_problems_array(&problems), NULL) == OK, "the problems are JSON");
    payment_input_key(body, data[0] % 3, &in, &problems);
    media_type_is_json(body);
    looks_like_card(&arena, body);
    json_problems_release(&problems);
    arena_release(&arena);
    return 0;
}
