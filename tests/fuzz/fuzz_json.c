/* Any bytes through the JSON scanner. What it takes, cJSON must take too and read the same way;
 * what it refuses must be refused by all three doors, with a reason and a place within the text. */
#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = { "id", "a", "a.b", "data.object.id", "data.object.amount" };

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static const cJSON *walk(const cJSON *tree, const char *path)
{
    struct str rest = str_of(path);

    while (rest.n && tree) {
        struct str part = str_cut(&rest, '.');
        char name[32] = "";

        memcpy(name, part.p, part.n);
        tree = cJSON_IsObject(tree) ? cJSON_GetObjectItemCaseSensitive(tree, name) : NULL;
    }
    return tree;
}

static void same_value(const struct json_value *v, const cJSON *item)
{
    struct arena a;
    struct str text;

    must((v->type == JSON_ABSENT) == !item, "both find the value or neither does");
    if (!item)
        return;
    must((v->type == JSON_STRING) == cJSON_IsString(item), "both see a string");
    must((v->type == JSON_NUMBER) == cJSON_IsNumber(item), "both see a number");
    must((v->type == JSON_OBJECT) == cJSON_IsObject(item), "both see an object");
    if (v->type == JSON_NUMBER && item->valuestring)
        must(str_eq(v->raw, str_of(item->valuestring)), "the number kept its own text");
    if (v->type != JSON_STRING)
        return;
    arena_init(&a, 1 << 24);
    must(json_unescape(&a, v, &text) == OK, "a picked string unescapes");
    must(str_eq(text, str_of(item->valuestring)), "both read the same string");
    arena_release(&a);
}

static void check_taken(struct str text, const struct json_value *values)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    char *printed;

    must(json_parse(text, &tree, NULL) == OK, "cJSON takes what the scanner takes");
    for (size_t i = 0; i < COUNT(paths); i++)
        same_value(&values[i], walk(tree, paths[i]));
    printed = cJSON_PrintUnformatted(tree);
    must(printed && json_check(str_of(printed), NULL) == OK, "what cJSON prints is taken again");
    cJSON_free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    struct json_value values[COUNT(paths)];
    struct json_fault fault = { 0 }, again = { 0 };
    enum err e = json_check(text, &fault);
    cJSON *tree = NULL;

    must(json_pick(text, paths, COUNT(paths), values, &again) == e, "pick agrees with check");
    if (e == OK) {
        check_taken(text, values);
        return 0;
    }
    must(fault.why && fault.offset <= size && fault.offset == again.offset, "a reason and a place");
    must(json_parse(text, &tree, NULL) == e && !tree, "parse agrees with check");
    for (size_t i = 0; i < COUNT(paths); i++)
        must(values[i].type == JSON_ABSENT, "nothing is picked from a bad text");
    return 0;
}
