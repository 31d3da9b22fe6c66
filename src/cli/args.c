/* args.c - finds the option of each argument in the command's table and passes its value to its
 * reader. The first problem ends the reading, and `why` says what to write instead. */
#include "cli/args.h"

#include "base/time/parse.h"

#include <stdio.h>
#include <string.h>

enum { DATE_TEXT = 10 };

bool args_wrong(struct args *a, const char *what, const char *words)
{
    return why_false(a->why, "%.60s %s", what, words);
}

bool args_ask_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 ||
            (i == 1 && strcmp(argv[i], "help") == 0))
            return true;
    return false;
}

bool args_verb(struct args *a, const char *const *verbs, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, verbs[i]) == 0) {
            a->verb = (int)i;
            return true;
        }
    return false;
}

static const struct args_option *option_of(const struct args *a, struct str name)
{
    for (size_t i = 0; i < a->count; i++)
        if (str_eq(name, str_of(a->options[i].name)))
            return &a->options[i];
    return NULL;
}

/* Two names of one option have the same index. */
static size_t place_of(const struct args *a, const struct args_option *o)
{
    size_t i = 0;

    while (a->options[i].read != o->read)
        i++;
    return i;
}

/* Checks everything about the option except its value. */
static bool may_take(struct args *a, const struct args_option *o, const char *said, bool glued)
{
    uint64_t bit;

    if (!o || !(o->verbs & 1 << a->verb))
        return why_false(a->why,
                         o ? "%.60s does not go with this command; see %s --help"
                           : "%.60s is not an option; %s --help lists them",
                         o ? o->name : said, a->command);
    bit = UINT64_C(1) << place_of(a, o);
    if ((a->seen & bit) && !o->often)
        return args_wrong(a, o->name, "may be given once");
    a->seen |= bit;
    return !(o->flag && glued) || args_wrong(a, o->name, "takes no value");
}

bool args_take_option(struct args *a, int argc, char **argv, int *i)
{
    struct str value = str_of(argv[*i]), name = str_cut(&value, '=');
    bool glued = argv[*i][name.n] == '=';
    const struct args_option *o = option_of(a, name);

    if (!may_take(a, o, argv[*i], glued))
        return false;
    if (!o->flag && !glued) {
        if (*i + 1 >= argc)
            return args_wrong(a, o->name, o->must);
        value = str_of(argv[++*i]);
    }
    return o->read(a->ctx, value) || args_wrong(a, o->name, o->must);
}

/* --- values --- */

/* "90m", "24h", "7d". */
static bool read_ago(struct str value, int64_t now_ms, int64_t *ret_ms)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = { { 's', 1000 }, { 'm', 60000 }, { 'h', 3600000 }, { 'd', 86400000 } };
    int64_t n;

    if (value.n < 2 || !str_to_i64((struct str){ value.p, value.n - 1 }, &n) || n < 0)
        return false;
    for (size_t i = 0; i < COUNT(units); i++)
        if (value.p[value.n - 1] == units[i].unit)
            return !__builtin_mul_overflow(n, units[i].ms, &n) &&
                   !__builtin_sub_overflow(now_ms, n, ret_ms);
    return false;
}

bool args_time(struct str value, int64_t now_ms, int64_t *ret_ms)
{
    char whole[DATE_TEXT + 11];

    if (value.n == DATE_TEXT) {
        snprintf(whole, sizeof(whole), STR_FMT "T00:00:00Z", STR_ARG(value));
        value = str_of(whole);
    }
    return (time_parse(value, ret_ms) || read_ago(value, now_ms, ret_ms)) && *ret_ms > 0;
}
