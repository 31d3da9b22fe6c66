/* collection_input.c - checks a collection and each of its participants. A problem of a participant
 * is reported under its place in the list: "participants[2].amount". */
#include "api/collection_input.h"

#include "api/payment_input.h"
#include "base/limits.h"
#include "base/settings/address.h"
#include "base/time/parse.h"
#include "endpoint/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME_MAX = 64, FIELD_MAX = 96, WORDS_MAX = 160 };

/* --- rules --- */

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The characters of RFC 3986, and the braces of "{CHECKOUT_SESSION_ID}", which the gateway
 * replaces. */
static bool is_url_char(char c)
{
    return is_letter_or_digit(c) || (c && strchr("-._~:/?#[]@!$&'()*+,;=%{}", c));
}

bool is_web_url(struct str url)
{
    size_t scheme = str_starts(url, S("https://"))  ? sizeof("https://") - 1
                    : str_starts(url, S("http://")) ? sizeof("http://") - 1
                                                    : 0;

    if (!scheme || url.n <= scheme || url.n > CHECKOUT_URL_MAX)
        return false;
    if (!is_letter_or_digit(url.p[scheme]) && url.p[scheme] != '[')
        return false; /* the host must come first: neither a user nor only a port */
    for (size_t i = 0; i < url.n; i++)
        if (!is_url_char(url.p[i]))
            return false;
    return true;
}

/* Only segments of letters, digits, '_', '+' and '-', so that a name never leaves the folder of the
 * zone files. */
bool is_zone_name(struct str name)
{
    bool begins = true;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (c == '/' ? begins : !is_letter_or_digit(c) && (begins || !strchr("_+-", c)))
            return false;
        begins = c == '/';
    }
    return name.n && name.n <= TIME_ZONE_MAX && !begins && name.p[0] > '9';
}

/* --- one participant --- */

struct collection_reading {
    struct request *request;
    struct collection_input *in;
    struct json_problems problems;
    bool no_memory;
    size_t place; /* of the participant */
};

static void participant_problem(struct collection_reading *g, const char *field, const char *en,
                                const char *ja)
{
    char name[FIELD_MAX];

    snprintf(name, sizeof(name), "participants[%zu]%s%s", g->place, *field ? "." : "", field);
    json_problem_in(&g->problems, name, en, ja);
}

/* The member; NULL: it is absent or null, which is a problem if it is required. */
static const cJSON *participant_member(struct collection_reading *g, const cJSON *participant,
                                       const char *field, bool required)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(participant, field);

    if (item && !cJSON_IsNull(item))
        return item;
    if (required)
        participant_problem(g, field, "is required", "必須です");
    return NULL;
}

static bool participant_take_id(struct collection_reading *g, const cJSON *participant,
                                const char *field, bool required, struct uuid *ret_id)
{
    const cJSON *item = participant_member(g, participant, field, required);

    if (!item)
        return false;
    if (cJSON_IsString(item) && uuid_parse(str_of(item->valuestring), ret_id))
        return true;
    participant_problem(g, field, "must be a UUID", "UUID を指定してください");
    return false;
}

/* Checks as json_get_str() does, but reports the problem under the participant's place. */
static bool participant_take_text(struct collection_reading *g, const cJSON *participant,
                                  const char *field, bool required, int max_chars,
                                  struct str *ret_text)
{
    char en[WORDS_MAX], ja[WORDS_MAX];
    struct json_problems unnamed;
    struct str text = { 0 };
    bool taken;

    if (!participant_member(g, participant, field, required))
        return false;
    json_problems_init(&unnamed);
    taken = json_get_str(participant, field, required, (size_t)max_chars, &text, &unnamed);
    json_problems_release(&unnamed);
    snprintf(en, sizeof(en), "must be a text of %d to %d characters", required, max_chars);
    snprintf(ja, sizeof(ja), "%d〜%d 文字の文字列にしてください", required, max_chars);
    if (!taken)
        participant_problem(g, field, en, ja);
    else
        *ret_text = fields_keep(g->request, text, &g->no_memory);
    return taken;
}

static void participant_take_amount(struct collection_reading *g, const cJSON *participant,
                                    int64_t *ret_amount)
{
    struct json_problems unnamed;

    if (!participant_member(g, participant, "amount", true))
        return;
    json_problems_init(&unnamed);
    if (!json_get_int(participant, "amount", true, 1, MONEY_MAX, ret_amount, &unnamed))
        participant_problem(g, "amount", "must be a whole number from 1 to 99999999",
                            "1〜99999999 の整数にしてください");
    json_problems_release(&unnamed);
}

static void participant_take_unknown_fields(struct collection_reading *g, const cJSON *participant)
{
    static const char *const names[] = { "id", "name", "email", "userId", "amount" };

    for (const cJSON *item = participant->child; item; item = item->next)
        if (!fields_knows(names, COUNT(names), item->string))
            participant_problem(g, item->string, FIELDS_UNKNOWN_WORDS);
}

static void read_participant(struct collection_reading *g, const cJSON *participant,
                             struct participant_input *ret)
{
    if (!cJSON_IsObject(participant)) {
        participant_problem(g, "", "must be a JSON object", "JSON オブジェクトにしてください");
        return;
    }
    participant_take_id(g, participant, "id", true, &ret->id);
    participant_take_text(g, participant, "name", true, PARTICIPANT_NAME_MAX, &ret->name);
    if (participant_take_text(g, participant, "email", false, PARTICIPANT_EMAIL_MAX, &ret->email) &&
        ret->email.n && !address_is_mail(ret->email))
        participant_problem(g, "email", "must be a mail address in ASCII like taro@example.jp",
                            "taro@example.jp のような ASCII のメールアドレスを指定してください");
    ret->has_user = participant_take_id(g, participant, "userId", false, &ret->user);
    participant_take_amount(g, participant, &ret->amount);
    participant_take_unknown_fields(g, participant);
}

/* --- all participants --- */

static int compare_ids(const void *a, const void *b)
{
    const struct participant_input *x = a, *y = b;

    return memcmp(x->id.b, y->id.b, sizeof(x->id.b));
}

/* Sorts by id, so that all requests lock the rows in the same order. */
static void sort_participants(struct collection_reading *g)
{
    struct participant_input *p = g->in->participants;
    size_t n = g->in->participant_count;

    qsort(p, n, sizeof(*p), compare_ids);
    for (size_t i = 1; i < n; i++)
        if (uuid_eq(p[i - 1].id, p[i].id)) {
            json_problem_in(&g->problems, "participants", "must name each id once",
                            "同じ id は 1 回だけ指定してください");
            return;
        }
}

static void read_participants(struct collection_reading *g, const cJSON *body)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "participants");
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;

    if (n < 0 || n > PARTICIPANTS_MAX) {
        json_problem_in(&g->problems, "participants", "must be a list of at most 1000 participants",
                        "1000 人以下の参加者のリストにしてください");
        return;
    }
    g->in->participants =
        arena_alloc(&g->request->arena, (size_t)n + 1, sizeof(*g->in->participants));
    g->no_memory = g->no_memory || !g->in->participants;
    if (!g->in->participants)
        return;
    g->in->participant_count = (size_t)n;
    for (const cJSON *item = list->child; item; item = item->next, g->place++)
        read_participant(g, item, &g->in->participants[g->place]);
    if (!g->problems.count)
        sort_participants(g);
}

/* --- the collection's own --- */

static void read_text(struct collection_reading *g, const cJSON *body, const char *field,
                      bool required, size_t max, struct str *ret)
{
    struct str text;

    if (json_get_str(body, field, required, max, &text, &g->problems))
        *ret = fields_keep(g->request, text, &g->no_memory);
}

static void read_due(struct collection_reading *g, const cJSON *body)
{
    struct str text;

    if (json_get_str(body, "dueAt", false, TIME_MAX, &text, &g->problems) &&
        (!time_parse(text, &g->in->due_ms) || g->in->due_ms <= 0))
        json_problem_in(&g->problems, "dueAt", "must be an RFC 3339 time after 1970",
                        "1970 年より後の RFC 3339 の日時にしてください");
}

/* Checks the form only: the unit of work looks the zone up, since a loop thread reads no files. */
static void read_zone(struct collection_reading *g, const cJSON *body)
{
    struct str text;

    g->in->time_zone = S("Asia/Tokyo");
    if (!json_get_str(body, "timeZone", false, TIME_ZONE_MAX, &text, &g->problems))
        return;
    g->in->time_zone = fields_keep(g->request, text, &g->no_memory);
    if (!is_zone_name(text))
        json_problem_in(&g->problems, "timeZone", "must be a name like Asia/Tokyo",
                        "Asia/Tokyo のような名前にしてください");
}

/* --- its reminders --- */

static bool read_day(const cJSON *item, struct reminder_rule *rule)
{
    double day = cJSON_IsNumber(item) ? item->valuedouble : LIMIT_REMINDER_DAYS + 1;

    if (!(day >= -LIMIT_REMINDER_DAYS && day <= LIMIT_REMINDER_DAYS))
        return false;
    return (double)(int)day == day && reminder_days_add(rule, (int)day);
}

static void read_days(struct collection_reading *g, const cJSON *reminders,
                      struct reminder_rule *rule)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(reminders, "days");
    bool fine = cJSON_IsArray(list);

    for (const cJSON *item = fine ? list->child : NULL; fine && item; item = item->next)
        fine = read_day(item, rule);
    if (!fine)
        json_problem_in(&g->problems, "reminders.days",
                        "must be a list of at most 12 different whole numbers from -90 to 90",
                        "-90〜90 の異なる整数を 12 個以内のリストにしてください");
}

static void read_time(struct collection_reading *g, const cJSON *reminders,
                      struct reminder_rule *rule)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(reminders, "time");

    if (!item || cJSON_IsNull(item))
        return;
    if (!cJSON_IsString(item) || !reminder_time_read(str_of(item->valuestring), &rule->minute))
        json_problem_in(&g->problems, "reminders.time", "must be a time like 10:00, up to 23:59",
                        "10:00 のような 23:59 までの時刻にしてください");
}

static void read_other_members(struct collection_reading *g, const cJSON *reminders)
{
    static const char *const names[] = { "days", "time" };
    char name[FIELD_MAX];

    for (const cJSON *item = reminders->child; item; item = item->next) {
        if (fields_knows(names, COUNT(names), item->string))
            continue;
        snprintf(name, sizeof(name), "reminders.%s", item->string);
        json_problem_in(&g->problems, name, FIELDS_UNKNOWN_WORDS);
    }
}

/* Without `reminders` the collection keeps the server's rule. */
static void read_reminders(struct collection_reading *g, const cJSON *body, int usual_minute)
{
    const cJSON *reminders = cJSON_GetObjectItemCaseSensitive(body, "reminders");
    struct reminder_rule rule = { .minute = usual_minute };
    char days[REMINDER_DAYS_MAX + 1], time[REMINDER_TIME_TEXT + 1];

    if (!reminders)
        return;
    if (!cJSON_IsObject(reminders)) {
        json_problem_in(&g->problems, "reminders", "must be a JSON object, or null",
                        "JSON オブジェクトか null にしてください");
        return;
    }
    read_days(g, reminders, &rule);
    read_time(g, reminders, &rule);
    read_other_members(g, reminders);
    g->in->has_reminders = true;
    reminder_time_text(rule.minute, time);
    g->in->reminder_days = fields_keep(g->request, reminder_days_text(&rule, days), &g->no_memory);
    g->in->reminder_time = fields_keep(g->request, str_of(time), &g->no_memory);
}

bool collection_input_read(struct request *r, int usual_minute, struct collection_input *ret_input)
{
    static const char *const names[] = { "title",    "description", "currency",    "dueAt",
                                         "timeZone", "reminders",   "participants" };
    static const char *const nullable[] = { "description", "dueAt", "timeZone", "reminders" };
    struct collection_reading g = { .request = r, .in = ret_input };
    CLEANUP(json_freep) cJSON *body = NULL;

    if (!fields_body(r, &body))
        return false;
    json_drop_nulls(body, nullable, COUNT(nullable));
    fields_problems(r, &g.problems);
    read_text(&g, body, "title", true, COLLECTION_TITLE_MAX, &ret_input->title);
    read_text(&g, body, "description", false, COLLECTION_DESCRIPTION_MAX, &ret_input->description);
    fields_currency(body, true, ret_input->currency, &g.problems);
    read_due(&g, body);
    read_zone(&g, body);
    read_reminders(&g, body, usual_minute);
    read_participants(&g, body);
    fields_only(body, names, COUNT(names), &g.problems);
    if (fields_refused(r, &g.problems))
        return false;
    if (g.no_memory)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    return !g.no_memory;
}

/* --- Checkout --- */

/* json_get_str() reports a URL that is too long, and a required one that is missing. */
static void read_url(struct request *r, const cJSON *body, const char *field, bool required,
                     struct str *ret_url, struct json_problems *p)
{
    struct str text;

    if (!json_get_str(body, field, required, CHECKOUT_URL_MAX, &text, p))
        return;
    if (!is_web_url(text))
        json_problem_in(p, field, "must be a URL with http or https",
                        "http か https の URL を指定してください");
    *ret_url = arena_str(&r->arena, text);
}

/* A missing body counts as an empty object. */
ANSWERS static bool optional_body(struct request *r, cJSON **ret_object)
{
    if (r->body.n)
        return fields_body(r, ret_object);
    *ret_object = cJSON_CreateObject();
    if (!*ret_object)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    return *ret_object;
}

bool checkout_input_read(struct request *r, bool has_return_url, struct checkout_input *ret_input)
{
    static const char *const names[] = { "successUrl", "cancelUrl" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct payment_input key = { 0 };
    struct json_problems problems;
    size_t count;
    struct str header = request_header(r, S("Idempotency-Key"), &count);

    if (!optional_body(r, &body))
        return false;
    json_drop_nulls(body, names, COUNT(names));
    fields_problems(r, &problems);
    payment_input_key(header, count, &key, &problems);
    ret_input->key = key.key;
    read_url(r, body, "successUrl", !has_return_url, &ret_input->success_url, &problems);
    read_url(r, body, "cancelUrl", false, &ret_input->cancel_url, &problems);
    fields_only(body, names, COUNT(names), &problems);
    return !fields_refused(r, &problems);
}
