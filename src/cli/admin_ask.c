/* admin_ask.c - finds the server that has the database and calls its admin API. A busy server is
 * called again with pauses, so every request must be harmless when it is sent twice. */
#include "cli/admin_ask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOCK_PATH = 4200, BUSY_TRIES = 30 };

/* --- the server --- */

void admin_owner(struct str file, char ret_owner[ADMIN_OWNER])
{
    char path[LOCK_PATH];
    FILE *f;

    ret_owner[0] = '\0';
    snprintf(path, sizeof(path), STR_FMT ".lock", STR_ARG(file));
    f = fopen(path, "re");
    if (!f)
        return;
    if (!fgets(ret_owner, ADMIN_OWNER, f))
        ret_owner[0] = '\0';
    ret_owner[strcspn(ret_owner, "\r\n")] = '\0';
    fclose(f);
}

enum err admin_find(const struct settings *s, struct admin **ret_admin, struct why *why)
{
    struct str file = s->db, scheme = str_cut(&file, ':');
    char address[ADMIN_OWNER];

    if (str_eq(scheme, S("sqlite")))
        admin_owner(file, address);
    else
        snprintf(address, sizeof(address), STR_FMT, STR_ARG(s->listen));
    if (address[0] && !str_starts(str_of(address), S("the command "))) /* a command is no server */
        return admin_open(s, address, ret_admin, why);
    return why_err(why, ERR_VALIDATION,
                   "no server has this database; start one (ichido serve), it does the work");
}

/* --- asking --- */

enum err admin_ask(struct admin *a, struct arena *arena, const char *method, struct str path,
                   enum admin_type type, struct str body, int *ret_status, struct str *ret_answer,
                   struct why *why)
{
    for (int tries = 1;; tries++) {
        enum err e = admin_send(a, arena, method, path, type, body, ret_status, ret_answer, why);

        if (e || (*ret_status != 429 && *ret_status != 503) || tries == BUSY_TRIES)
            return e;
        sleep(1);
    }
}

void admin_problem(int status, const cJSON *problem, struct why *why)
{
    if (status == 401 || status == 403)
        why_set(why, "the server refused ICHIDO_ADMIN_TOKEN (%d): it must be that server's token",
                status);
    else
        why_set(why, "the server answered %d %.60s: %.300s", status, answer_words(problem, "code"),
                answer_words(problem, "detail"));
}

static void add_encoded(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-._~", c))
            buf_char(b, (char)c);
        else
            buf_fmt(b, "%%%02X", c);
    }
}

void admin_parameter(struct buf *path, const char *name, struct str value)
{
    if (!value.n)
        return;
    buf_char(path, memchr(path->p, '?', path->n) ? '&' : '?');
    buf_add(path, str_of(name));
    buf_char(path, '=');
    add_encoded(path, value);
}

/* --- answers --- */

const char *answer_words(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsString(item) ? item->valuestring : "";
}

struct str answer_text(const cJSON *o, const char *name)
{
    return str_of(answer_words(o, name));
}

long long answer_number(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsNumber(item) ? (long long)item->valuedouble : 0;
}

void answer_print(const cJSON *tree)
{
    char *text = cJSON_PrintUnformatted(tree);

    puts(text ? text : "");
    cJSON_free(text);
}
