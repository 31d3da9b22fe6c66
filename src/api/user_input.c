/* user_input.c - reads the body of PUT /api/v1/users/{id}. A field that is left out is removed from
 * the person's contact. Only `channels` differs: left out, it is every channel with an address. */
#include "api/users.h"
#include "base/limits.h"
#include "base/settings/address.h"
#include "collection/collection.h"
#include "endpoint/fields.h"

#include <stdlib.h>
#include <string.h>

struct user_reading {
    struct request *request;
    struct contact *contact;
    struct json_problems problems;
    bool no_memory;
};

static void take_email(struct user_reading *g, const cJSON *body)
{
    struct str email;

    if (!json_get_str(body, "email", false, PARTICIPANT_EMAIL_MAX, &email, &g->problems))
        return;
    if (!address_is_mail(email))
        json_problem_in(&g->problems, "email",
                        "must be a mail address in ASCII like taro@example.jp",
                        "taro@example.jp のような ASCII のメールアドレスを指定してください");
    g->contact->email = fields_keep(g->request, email, &g->no_memory);
}

static void take_language(struct user_reading *g, const cJSON *body)
{
    struct str language;

    if (!json_get_str(body, "language", false, 2, &language, &g->problems))
        return;
    if (str_eq(language, S("ja")))
        g->contact->language = S("ja");
    else if (str_eq(language, S("en")))
        g->contact->language = S("en");
    else
        json_problem_in(&g->problems, "language", "must be ja or en",
                        "ja または en を指定してください");
}

/* --- devices --- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* A token as FCM issues it: no character that would need escaping in a log, a header or a path. */
static bool is_token(const cJSON *item)
{
    const char *p = cJSON_IsString(item) ? item->valuestring : "";
    size_t n = strlen(p);

    for (size_t i = 0; i < n; i++)
        if (p[i] <= ' ' || p[i] > '~' || strchr("\"'\\<>*", p[i]))
            return false;
    return n > 0 && n <= LIMIT_DEVICE_TOKEN;
}

static bool keep_tokens(struct user_reading *g, const cJSON *list)
{
    struct contact *c = g->contact;
    size_t n = 0;

    c->tokens = arena_alloc(&g->request->arena, LIMIT_DEVICES, sizeof(*c->tokens));
    g->no_memory |= !c->tokens;
    for (const cJSON *item = list->child; item && !g->no_memory; item = item->next) {
        if (n == LIMIT_DEVICES || !is_token(item))
            return false;
        c->tokens[n++] = fields_keep(g->request, str_of(item->valuestring), &g->no_memory);
    }
    if (g->no_memory)
        return true;
    qsort(c->tokens, n, sizeof(*c->tokens), by_text);
    for (size_t i = 1; i < n; i++)
        if (str_eq(c->tokens[i - 1], c->tokens[i]))
            return false;
    c->token_count = n;
    return true;
}

static void take_tokens(struct user_reading *g, const cJSON *body)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "deviceTokens");

    if (!list)
        return;
    if (!cJSON_IsArray(list) || !keep_tokens(g, list))
        json_problem_in(&g->problems, "deviceTokens",
                        "must be a list of at most 20 device tokens, each once: 1 to 1024 visible "
                        "ASCII characters without quotes, backslash, <, > and *",
                        "重複しない 20 個以下のデバイストークンのリストにしてください（引用符、"
                        "バックスラッシュ、<、>、* を除く 1〜1024 文字の ASCII 文字）");
}

/* --- channels --- */

static bool read_channels(const cJSON *list, unsigned *ret_channels)
{
    enum channel c;

    *ret_channels = 0;
    for (const cJSON *item = list->child; item; item = item->next) {
        if (!cJSON_IsString(item) || !channel_parse(str_of(item->valuestring), &c) ||
            (*ret_channels & CHANNEL_BIT(c)))
            return false;
        *ret_channels |= CHANNEL_BIT(c);
    }
    return true;
}

static void take_channels(struct user_reading *g, const cJSON *body)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "channels");
    struct contact *c = g->contact;

    if (!list) {
        c->channels = (c->email.n ? CHANNEL_BIT(CHANNEL_MAIL) : 0) |
                      (c->token_count ? CHANNEL_BIT(CHANNEL_PUSH) : 0);
        return;
    }
    if (!cJSON_IsArray(list) || !read_channels(list, &c->channels))
        json_problem_in(&g->problems, "channels",
                        "must be a list of mail, push and webhook, each at most once",
                        "mail、push、webhook の重複しないリストにしてください");
    else if ((c->channels & CHANNEL_BIT(CHANNEL_MAIL)) && !c->email.n)
        json_problem_in(&g->problems, "channels", "has mail, which needs an email",
                        "mail を指定する場合は email も指定してください");
}

/* --- the body --- */

bool user_input(struct request *r, struct contact *ret_contact)
{
    static const char *const names[] = { "email", "language", "channels", "deviceTokens" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct user_reading g = { .request = r, .contact = ret_contact };

    if (!fields_body(r, &body))
        return false;
    json_drop_nulls(body, names, COUNT(names));
    fields_problems(r, &g.problems);
    take_email(&g, body);
    take_language(&g, body);
    take_tokens(&g, body);
    take_channels(&g, body);
    fields_only(body, names, COUNT(names), &g.problems);
    return !fields_failed(r, &g.problems, g.no_memory ? ERR_NO_MEMORY : OK);
}
