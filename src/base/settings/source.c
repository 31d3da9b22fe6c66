/* source.c - finds the text of a setting. The environment wins over the file of ICHIDO_CONFIG;
 * NAME_FILE names a file with the value, and setting both NAME and NAME_FILE is a problem. Texts of
 * files are wiped after use. */
#include "base/settings/source.h"

#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void source_problem(struct source *s, const char *name, const char *format, ...)
{
    char words[512];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    buf_add(s->problems, str_of(name));
    buf_add(s->problems, S(": "));
    buf_add(s->problems, str_of(words));
    buf_char(s->problems, '\n');
    s->problem_count++;
}

static void settings_source_wipe(struct buf *b)
{
    if (b->p)
        OPENSSL_cleanse(b->p, b->size);
    buf_release(b);
}

/* --- files --- */

/* The room is reserved at the start, because a buffer that grows leaves an unwiped copy behind. */
static const char *read_all(int fd, struct buf *ret_text, size_t limit)
{
    if (!buf_reserve(ret_text, limit + 1))
        return "needs more memory than there is";
    for (;;) {
        ssize_t n = read(fd, ret_text->p + ret_text->n, limit + 1 - ret_text->n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return strerrordesc_np(errno);
        if (n == 0)
            return NULL;
        ret_text->n += (size_t)n;
        if (ret_text->n > limit)
            return "the file is too long";
    }
}

/* Returns NULL, or the reason why the file could not be read. */
static const char *read_file(const char *path, struct buf *ret_text, size_t limit)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *why;

    if (fd < 0)
        return strerrordesc_np(errno);
    buf_init(ret_text, limit + 1);
    why = read_all(fd, ret_text, limit);
    close(fd);
    if (why)
        settings_source_wipe(ret_text);
    return why;
}

static struct str without_newline(struct str s)
{
    if (s.n && s.p[s.n - 1] == '\n')
        s.n--;
    if (s.n && s.p[s.n - 1] == '\r')
        s.n--;
    return s;
}

/* --- the places a name may stand in --- */

static struct str from_env(const struct source *s, struct str name)
{
    char text[128];

    if (name.n >= sizeof(text))
        return (struct str){ 0 };
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return str_of(s->get(text));
}

/* The next line of a config file that is neither empty nor a comment; false at the end. */
static bool next_line(struct str *text, int *line_number, struct str *ret_line)
{
    while (text->n) {
        struct str line = str_cut(text, '\n');

        ++*line_number;
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (!str_trim(line).n || str_trim(line).p[0] == '#')
            continue;
        *ret_line = line;
        return true;
    }
    return false;
}

static struct str from_config(const struct source *s, struct str name)
{
    struct str text = buf_str(&s->config), line;
    int number = 0;

    while (next_line(&text, &number, &line)) {
        struct str key = str_trim(str_cut(&line, '='));

        if (str_eq(key, name))
            return line;
    }
    return (struct str){ 0 };
}

/* --- names --- */

static bool is_setting(const struct source *s, struct str name)
{
    if (s->is_known(name))
        return true;
    if (!str_ends(name, S("_FILE")))
        return false;
    name.n -= strlen("_FILE");
    return s->is_known(name) && !str_eq(name, S("ICHIDO_CONFIG"));
}

static void unknown_name(struct source *s, struct str name, const char *where)
{
    struct str near = s->nearest(name);
    char text[64];

    snprintf(text, sizeof(text), STR_FMT, name.n < 60 ? (int)name.n : 60, name.p);
    if (near.n)
        source_problem(s, text, "%sis not a setting; did you mean " STR_FMT "?", where,
                       STR_ARG(near));
    else
        source_problem(s, text, "%sis not a setting", where);
}

static void check_env_names(struct source *s)
{
    for (char *const *e = s->env; e && *e; e++) {
        struct str value = str_of(*e), name = str_cut(&value, '=');

        /* Names without the prefix belong to other programs. */
        if (str_starts(name, S("ICHIDO_")) && !is_setting(s, name))
            unknown_name(s, name, "");
    }
}

static bool occurs_before(const struct source *s, struct str name, int line_number)
{
    struct str text = buf_str(&s->config), line;
    int number = 0;

    while (next_line(&text, &number, &line) && number < line_number)
        if (str_eq(str_trim(str_cut(&line, '=')), name))
            return true;
    return false;
}

static void check_config_line(struct source *s, struct str line, int number)
{
    struct str value = line, name = str_trim(str_cut(&value, '='));
    char where[32];

    snprintf(where, sizeof(where), "line %d ", number);
    if (!memchr(line.p, '=', line.n))
        source_problem(s, s->config_name, "line %d must be NAME=value or a # comment", number);
    else if (str_eq(name, S("ICHIDO_CONFIG")))
        source_problem(s, s->config_name, "line %d: ICHIDO_CONFIG belongs to the environment",
                       number);
    else if (!is_setting(s, name))
        unknown_name(s, name, where);
    else if (occurs_before(s, name, number))
        source_problem(s, s->config_name, "line %d sets " STR_FMT " again", number, STR_ARG(name));
    else if (value.n && (value.p[0] == '"' || value.p[0] == '\''))
        source_problem(s, s->config_name, "line %d: write the value without quotes", number);
    else if (memmem(value.p, value.n, " #", 2) || memmem(value.p, value.n, "\t#", 2))
        source_problem(s, s->config_name, "line %d: a # comment needs a line of its own", number);
}

static void open_config(struct source *s)
{
    struct str path = from_env(s, S("ICHIDO_CONFIG")), text, line;
    const char *why;
    int number = 0;

    if (!path.n)
        return;
    s->config_name = path.p; /* a NUL follows: it is the environment's */
    why = read_file(path.p, &s->config, LIMIT_SETTINGS_FILE);
    if (why) {
        source_problem(s, "ICHIDO_CONFIG", "cannot read %s: %s", path.p, why);
        return;
    }
    text = buf_str(&s->config);
    while (next_line(&text, &number, &line))
        check_config_line(s, line, number);
}

void source_open(struct source *s)
{
    check_env_names(s);
    open_config(s);
}

void source_release(struct source *s)
{
    settings_source_wipe(&s->config);
}

/* --- values --- */

static struct str settings_source_keep(struct source *s, struct arena *a, const char *name,
                                       struct str value)
{
    struct str copy = { 0 };

    if (value.n > LIMIT_SETTING)
        source_problem(s, name, "is longer than %d bytes", LIMIT_SETTING);
    else if (value.n && !(copy = arena_str(a, value)).p)
        source_problem(s, name, "needs more memory than there is");
    return copy;
}

static struct str value_of_file(struct source *s, struct arena *a, const char *name,
                                struct str path)
{
    char *path_text = arena_cstr(a, path);
    struct buf text = { 0 };
    const char *why =
        path_text ? read_file(path_text, &text, LIMIT_SETTING) : "needs more memory than there is";
    struct str value;

    if (why) {
        source_problem(s, name, "cannot read " STR_FMT " (from %s_FILE): %s", STR_ARG(path), name,
                       why);
        return (struct str){ 0 };
    }
    value = settings_source_keep(s, a, name, without_newline(buf_str(&text)));
    if (!value.n && !without_newline(buf_str(&text)).n)
        source_problem(s, name, STR_FMT " (from %s_FILE) is empty", STR_ARG(path), name);
    settings_source_wipe(&text);
    return value;
}

struct str source_value(struct source *s, struct arena *a, const char *name,
                        enum setting_source *ret_source)
{
    struct str (*const places[])(const struct source *, struct str) = { from_env, from_config };
    char file_name[128];

    snprintf(file_name, sizeof(file_name), "%s_FILE", name);
    for (size_t i = 0; i < COUNT(places); i++) {
        struct str value = places[i](s, str_of(name));
        struct str path = places[i](s, str_of(file_name));

        if (value.n && path.n) {
            source_problem(s, name, "is set, and %s_FILE too: only one of them", name);
            return (struct str){ 0 };
        }
        if (value.n || path.n)
            *ret_source = path.n ? SETTING_CONTENTS : i ? SETTING_CONFIG : SETTING_ENVIRONMENT;
        if (value.n)
            return settings_source_keep(s, a, name, value);
        if (path.n)
            return value_of_file(s, a, name, path);
    }
    return (struct str){ 0 };
}
