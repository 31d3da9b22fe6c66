/* operators.c - `ichido operators`: lists and changes the people who may log in (A3). Where a
 * server has the SQLite file it uses the admin API, otherwise it opens the database (M4). */
#include "auth/operators.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/operators/command.h"
#include "cli/prompt.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

enum verb { ADD, LIST, PASSWD, ROLE, DISABLE, ENABLE };

enum { ARENA = 16 * 1024 * 1024, CURSOR = 64 };

struct operators_run {
    struct node node;
    enum verb verb;
    struct operators_order order;
    bool json;
    struct operators_source *source;
    struct arena arena;
    char password[PROMPT_MAX];
};

static void operators_usage(void)
{
    puts("ichido operators - the people who may log in to /admin\n"
         "\n"
         "usage: ichido operators add     NAME --role viewer|operator [--json]\n"
         "       ichido operators list    [--json]\n"
         "       ichido operators passwd  NAME [--json]\n"
         "       ichido operators role    NAME --role viewer|operator [--json]\n"
         "       ichido operators disable NAME [--json]\n"
         "       ichido operators enable  NAME [--json]\n"
         "\n"
         "A viewer sees everything and changes nothing; an operator may act. NAME has lower-case "
         "letters,\n"
         "digits, dots, hyphens and underscores. The password is asked for without showing it; "
         "where\n"
         "standard input is no terminal, its first line is the password (12 to 256 bytes).\n"
         "Another password, another role, and disabling end that person's sessions at once.\n"
         "While a server has the SQLite file this goes through its admin API and needs\n"
         "ICHIDO_ADMIN_TOKEN.\n"
         "\n"
         "examples:\n"
         "  ichido operators add yui --role operator\n"
         "  ichido operators disable yui\n"
         "\n"
         "Exit codes: 0 success, 1 there is no operator of that name or something failed, 2 wrong "
         "arguments or settings.");
}

/* --- arguments --- */

static bool read_role(void *ctx, struct str value)
{
    struct operators_run *r = ctx;

    r->order.has_role = true;
    return operator_role(value, &r->order.viewer);
}

static bool read_json(void *ctx, struct str value)
{
    (void)value;
    ((struct operators_run *)ctx)->json = true;
    return true;
}

static const struct args_option options[] = {
    { "--role", 1 << ADD | 1 << ROLE, false, false, read_role, "needs viewer or operator" },
    { "--json", ~0, true, false, read_json, NULL },
};

static bool operators_check(struct args *a, const struct operators_run *r)
{
    if (r->verb == LIST)
        return !r->order.name.n || args_wrong(a, "list", "takes options only");
    if (!r->order.name.n)
        return args_wrong(a, "say who:", "a name, like ichido operators passwd yui");
    if (!operator_name_is_fit(r->order.name))
        return args_wrong(
            a, "a name",
            "may have lower-case letters, digits, dots, hyphens and underscores, at most 64, "
            "and begins with a letter or a digit");
    return (r->verb != ADD && r->verb != ROLE) || r->order.has_role ||
           args_wrong(a, "--role", "is needed: viewer or operator");
}

static bool read_arguments(struct args *a, struct operators_run *r, int argc, char **argv)
{
    static const char *const verbs[] = { "add", "list", "passwd", "role", "disable", "enable" };

    if (argc < 2 || !args_verb(a, verbs, COUNT(verbs), argv[1]))
        return args_wrong(a, argc < 2 ? "ichido operators" : argv[1],
                          "is not add, list, passwd, role, disable or enable; see ichido operators "
                          "--help");
    r->verb = (enum verb)a->verb;
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] == '-') {
            if (!args_take_option(a, argc, argv, &i))
                return false;
        } else if (r->order.name.n) {
            return args_wrong(a, "one name", "at a time; a password is never an argument");
        } else {
            r->order.name = str_of(argv[i]);
        }
    }
    r->order.has_disabled = r->verb == DISABLE || r->verb == ENABLE;
    r->order.disabled = r->verb == DISABLE;
    return operators_check(a, r);
}

/* --- answers --- */

static void print_person(const cJSON *p)
{
    bool disabled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(p, "disabled"));
    const char *last = answer_words(p, "lastLoginAt");

    printf("%-24s %-9s %-9s %-25s %s\n", answer_words(p, "name"), answer_words(p, "role"),
           disabled ? "disabled" : "active", last[0] ? last : "never", answer_words(p, "id"));
}

static void print_answer(const struct operators_run *r, const cJSON *p)
{
    static const char *const done[] = { [ADD] = "may log in now",
                                        [PASSWD] = "has a new password",
                                        [ROLE] = "has that role now",
                                        [DISABLE] = "may not log in any more",
                                        [ENABLE] = "may log in again" };

    if (r->json)
        answer_print(p);
    else
        printf("%s (%s) %s\n", answer_words(p, "name"), answer_words(p, "role"), done[r->verb]);
}

static int operators_failed(const struct operators_run *r, enum err e)
{
    if (e == ERR_NOT_FOUND && !r->source->why.text[0])
        fprintf(stderr, "ichido operators: there is no operator of that name; ichido operators "
                        "list shows them\n");
    else if (e == ERR_CONFLICT)
        fprintf(stderr, "ichido operators: another operator has that name already\n");
    else
        fprintf(stderr, "ichido operators: %s\n",
                r->source->why.text[0] ? r->source->why.text : err_words(e, LANG_EN));
    return EXIT_CANNOT;
}

/* --- acts --- */

static enum err list_page(struct operators_run *r, int *shown, char cursor[CURSOR])
{
    CLEANUP(json_freep) cJSON *page = NULL;
    const cJSON *p;
    struct str json;
    enum err e;

    arena_release(&r->arena);
    e = r->source->page(r->source, &r->arena, str_of(cursor), &json);
    if (!e)
        e = json_parse(json, &page, NULL);
    if (e)
        return e;
    cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(page, "data"))
    {
        if (!(*shown)++ && !r->json)
            printf("%-24s %-9s %-9s %-25s %s\n", "NAME", "ROLE", "STATE", "LAST LOGIN", "ID");
        if (r->json)
            answer_print(p);
        else
            print_person(p);
    }
    snprintf(cursor, CURSOR, "%s", answer_words(page, "nextCursor"));
    return OK;
}

static int operators_list(struct operators_run *r)
{
    char cursor[CURSOR] = "";
    int shown = 0;
    enum err e;

    do
        e = list_page(r, &shown, cursor);
    while (!e && cursor[0]);
    if (e)
        return operators_failed(r, e);
    if (!shown)
        fputs("there are no operators yet: ichido operators add NAME --role operator\n", stderr);
    return EXIT_FINE;
}

static int operators_act(struct operators_run *r)
{
    CLEANUP(json_freep) cJSON *answer = NULL;
    struct operators_source *s = r->source;
    struct str json;
    enum err e = r->verb == ADD ? s->add(s, &r->arena, &r->order, &json)
                                : s->change(s, &r->arena, &r->order, &json);

    if (!e)
        e = json_parse(json, &answer, NULL);
    if (e)
        return operators_failed(r, e);
    print_answer(r, answer);
    return EXIT_FINE;
}

/* Called before anything is opened, because a person may take long to type. */
static bool ask_password(struct operators_run *r)
{
    char name[LIMIT_OPERATOR_NAME + 1];
    struct why why;

    if (r->verb != ADD && r->verb != PASSWD)
        return true;
    snprintf(name, sizeof(name), STR_FMT, STR_ARG(r->order.name));
    if (!prompt_new_password(name, r->password, &why)) {
        fprintf(stderr, "ichido operators: %s\n", why.text);
        return false;
    }
    r->order.password = str_of(r->password);
    if (password_is_fit(r->order.password))
        return true;
    fputs("ichido operators: a password must have 12 to 256 bytes of UTF-8\n", stderr);
    return false;
}

/* --- all together --- */

static bool open_source(struct operators_run *r)
{
    char owner[ADMIN_OWNER];
    struct why why = { 0 };
    enum err e = operators_local_open(&r->node, &r->source, owner, &why);

    if (e == ERR_CONFLICT)
        e = operators_remote_open(&r->node, owner, &r->source, &why);
    if (e)
        fprintf(stderr, "ichido operators: %s\n", why.text[0] ? why.text : err_words(e, LANG_EN));
    return !e;
}

static int with_settings(struct operators_run *r)
{
    int code = EXIT_CANNOT;

    if (!node_init(&r->node))
        return EXIT_ASKED_WRONGLY;
    node_log_errors_only(&r->node);
    arena_init(&r->arena, ARENA);
    if (open_source(r)) {
        code = r->verb == LIST ? operators_list(r) : operators_act(r);
        r->source->free(r->source);
    }
    arena_release(&r->arena);
    node_release(&r->node);
    return code;
}

int cli_operators(int argc, char **argv)
{
    struct operators_run r = { 0 };
    struct why why = { 0 };
    struct args a = { .command = "ichido operators",
                      .options = options,
                      .count = COUNT(options),
                      .ctx = &r,
                      .why = &why };
    int code = EXIT_ASKED_WRONGLY;

    if (args_ask_for_help(argc, argv)) {
        operators_usage();
        return EXIT_FINE;
    }
    if (!read_arguments(&a, &r, argc, argv))
        fprintf(stderr, "ichido operators: %s\n", why.text);
    else if (ask_password(&r))
        code = with_settings(&r);
    OPENSSL_cleanse(r.password, sizeof(r.password));
    return code;
}
