/* fields.c - each reader adds its problem to the list and goes on, so that one 400 names every bad
 * field. Texts read here borrow from the tree; what outlives it is copied with fields_keep(). */
#include "endpoint/fields.h"

#include "endpoint/media_type.h"

#include <string.h>

#define VERSION_MAX INT64_C(9007199254740991) /* 2^53 - 1: exact in every JSON reader */

enum { STATUS_MAX = 16, CURRENCY_MAX = 3 };

void fields_problems(struct request *r, struct json_problems *p)
{
    json_problems_init(p);
    p->language = r->language;
}

bool fields_refused(struct request *r, struct json_problems *p)
{
    bool refused = p->count;

    if (refused)
        reply_problem_errors(r, ERR_VALIDATION, NULL, json_problems_array(p));
    json_problems_release(p);
    return refused;
}

bool fields_failed(struct request *r, struct json_problems *p, enum err e)
{
    if (e) {
        json_problems_release(p);
        reply_problem(r, e, NULL);
        return true;
    }
    return fields_refused(r, p);
}

void fields_refuse(struct request *r, const char *field, const char *en, const char *ja)
{
    struct json_problems p;

    fields_problems(r, &p);
    json_problem_in(&p, field, en, ja);
    reply_problem_errors(r, ERR_VALIDATION, NULL, json_problems_array(&p));
    json_problems_release(&p);
}

ANSWERS static bool refuse_fault(struct request *r, const struct json_fault *fault)
{
    struct json_problems p;

    fields_problems(r, &p);
    json_problem_fault(&p, "body", fault);
    return !fields_refused(r, &p);
}

bool fields_body(struct request *r, cJSON **ret_object)
{
    struct json_fault fault = { 0 };
    enum err e;

    if (!media_type_is_json(request_header(r, S("Content-Type"), NULL))) {
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
        return false;
    }
    e = json_parse(r->body, ret_object, &fault);
    if (e == ERR_VALIDATION)
        return refuse_fault(r, &fault);
    if (e) {
        reply_problem(r, e, NULL);
        return false;
    }
    if (cJSON_IsObject(*ret_object))
        return true;
    fields_refuse(r, "body", "must be a JSON object", "JSON オブジェクトにしてください");
    return false;
}

struct str fields_keep(struct request *r, struct str text, bool *no_memory)
{
    struct str copy = arena_str(&r->arena, text);

    *no_memory = *no_memory || !copy.p;
    return copy;
}

bool fields_path_id(struct request *r, struct uuid *ret_id)
{
    if (uuid_parse(r->params[0], ret_id))
        return true;
    fields_refuse(r, "id", "must be a UUID", "UUID を指定してください");
    return false;
}

bool fields_knows(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

void fields_only(const cJSON *object, const char *const *names, size_t n, struct json_problems *p)
{
    for (const cJSON *item = object->child; item; item = item->next)
        if (!fields_knows(names, n, item->string))
            json_problem_in(p, item->string, FIELDS_UNKNOWN_WORDS);
}

bool fields_uuid(const cJSON *object, const char *field, bool required, struct uuid *ret_id,
                 struct json_problems *p)
{
    struct str text;

    if (!json_get_str(object, field, required, UUID_TEXT, &text, p))
        return false;
    if (uuid_parse(text, ret_id))
        return true;
    json_problem_in(p, field, "must be a UUID", "UUID を指定してください");
    return false;
}

bool fields_currency(const cJSON *object, bool required, char ret_code[4], struct json_problems *p)
{
    struct str text;

    if (!json_get_str(object, "currency", required, CURRENCY_MAX, &text, p))
        return false;
    if (currency_parse(text, ret_code))
        return true;
    json_problem_in(p, "currency", "must be an ISO 4217 code like JPY",
                    "JPY のような ISO 4217 通貨コードにしてください");
    return false;
}

/* --- a booking --- */

static void read_money(const cJSON *object, bool required, struct booking_change *c,
                       struct json_problems *p)
{
    int64_t amount = 0;
    char code[4];
    bool has_amount = json_get_int(object, "amount", required, 1, MONEY_MAX, &amount, p);
    bool has_currency = fields_currency(object, required, code, p);

    c->has_money = has_amount && has_currency && money_make(amount, str_of(code), &c->money);
}

static void read_status(const cJSON *object, struct booking_change *c, struct json_problems *p)
{
    struct str text;

    if (!json_get_str(object, "status", false, STATUS_MAX, &text, p))
        return;
    c->has_status = booking_status_parse(text, &c->status);
    if (!c->has_status)
        json_problem_in(p, "status", "must be PENDING, CONFIRMED or CANCELLED",
                        "PENDING、CONFIRMED、CANCELLED のいずれかにしてください");
}

void fields_booking(const cJSON *object, bool required, struct booking_change *c,
                    struct json_problems *p)
{
    c->has_user = fields_uuid(object, "userId", required, &c->user_id, p);
    read_money(object, required, c, p);
    read_status(object, c, p);
    c->has_version = json_get_int(object, "version", false, 1, VERSION_MAX, &c->version, p);
}
