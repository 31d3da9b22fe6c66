/* read.c - the readers of settings: each checks a text and stores the value, or writes a problem
 * and leaves the field unchanged. */
#include "base/settings/read.h"

#include "base/fault.h"
#include "base/limits.h"
#include "base/settings/address.h"
#include "base/time/zone.h"

#include <stdio.h>
#include <string.h>

static bool is_choice(const char *choices, struct str value)
{
    struct str list = str_of(choices);

    while (list.n)
        if (str_eq(str_cut(&list, ','), value))
            return true;
    return false;
}

/* "must be a, b or c" */
static void not_a_choice(struct load *l, const struct setting *row)
{
    struct str list = str_of(row->choices);
    char words[128] = "";
    size_t n = 0;

    while (list.n) {
        struct str one = str_cut(&list, ',');
        const char *glue = n == 0 ? "" : list.n ? ", " : " or ";

        n += (size_t)snprintf(words + n, sizeof(words) - n, "%s" STR_FMT, glue, STR_ARG(one));
    }
    source_problem(&l->source, row->name, "must be %s", words);
}

void read_text(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (row->choices && !is_choice(row->choices, value))
        not_a_choice(l, row);
    else
        *(struct str *)field = value;
}

void read_mode(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (!is_choice(row->choices, value))
        not_a_choice(l, row);
    else
        *(enum mode *)field = str_eq(value, S("production")) ? MODE_PRODUCTION : MODE_DEV;
}

void read_switch(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (!is_choice("on,off", value))
        source_problem(&l->source, row->name, "must be on or off");
    else
        *(bool *)field = str_eq(value, S("on"));
}

void read_queue(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (!is_choice(row->choices, value))
        not_a_choice(l, row);
    else
        *(bool *)field = str_eq(value, S("qstash"));
}

/* Turns the remote queue off. Its row stands after the one of ICHIDO_QUEUE, so that it wins. */
void read_skip(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (!is_choice(row->choices, value))
        not_a_choice(l, row);
    else if (is_choice("1,true", value))
        *(bool *)field = false;
}

/* With auto the mode decides, as for subscribers; the mode is read before this setting. */
void read_private(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (!is_choice(row->choices, value))
        not_a_choice(l, row);
    else if (str_eq(value, S("auto")))
        *(bool *)field = l->s->mode == MODE_DEV;
    else
        *(bool *)field = str_eq(value, S("on"));
}

static bool read_number(struct load *l, const struct setting *row, struct str value, int64_t *ret)
{
    if (row->choices && !is_choice(row->choices, value)) {
        not_a_choice(l, row);
        return false;
    }
    if (str_to_i64(value, ret) && *ret >= row->least && *ret <= row->most)
        return true;
    source_problem(&l->source, row->name, "must be a whole number from %lld to %lld",
                   (long long)row->least, (long long)row->most);
    return false;
}

void read_int(struct load *l, const struct setting *row, struct str value, void *field)
{
    int64_t v;

    if (read_number(l, row, value, &v))
        *(int *)field = (int)v;
}

void read_i64(struct load *l, const struct setting *row, struct str value, void *field)
{
    int64_t v;

    if (read_number(l, row, value, &v))
        *(int64_t *)field = v;
}

/* "200,paypay=50": each one within the bounds. */
void read_numbers(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct str list = value;

    while (list.n) {
        struct str one = str_trim(str_cut(&list, ',')), number = one;
        struct str name = str_cut(&number, '=');
        int64_t v;

        if (!number.p || number.p == name.p + name.n)
            number = name; /* no name before it */
        else if (!settings_check_gateway(&l->source, row->name, one, str_trim(name)))
            return;
        if (!read_number(l, row, str_trim(number), &v))
            return;
    }
    *(struct str *)field = value;
}

/* Two digits, below `most`. */
static bool is_pair(const char *p, int most)
{
    return p[0] >= '0' && p[0] <= '9' && p[1] >= '0' && p[1] <= '9' &&
           (p[0] - '0') * 10 + p[1] - '0' < most;
}

void read_hour(struct load *l, const struct setting *row, struct str value, void *field)
{
    bool is_time = value.n == strlen("04:00") && value.p[2] == ':' && is_pair(value.p, 24) &&
                   is_pair(value.p + 3, 60);

    if (is_time || str_eq(value, S("off")))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be a time like 04:00, or off");
}

void read_zone(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct zone *zone = NULL;
    enum err e = zone_load(value, &zone);

    if (e == ERR_VALIDATION || e == ERR_NOT_FOUND)
        source_problem(&l->source, row->name, "there is no time zone \"%.*s\"; like Asia/Tokyo",
                       SOURCE_SHOWN(value));
    else if (e)
        source_problem(&l->source, row->name, "cannot be read from the system's tzdata now");
    else
        *(struct str *)field = value;
    zone_free(zone);
}

void read_routes(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (settings_check_routes(&l->source, row->name, value))
        *(struct str *)field = value;
}

void read_db(struct load *l, const struct setting *row, struct str value, void *field)
{
    bool sqlite = str_starts(value, S("sqlite:")) && value.n > strlen("sqlite:");

    if (sqlite || str_starts(value, S("postgres://")) || str_starts(value, S("postgresql://")))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name,
                       "must be sqlite:FILE, like sqlite:data/ichido.db, or postgres://...");
}

void read_faults(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct faults f;

    if (faults_parse(&f, value))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be like commit=crash@3,apply:x=fail");
}

/* A list of some of the words. An empty list is not possible, since an empty value means "not
 * set". */
void read_owner_may(struct load *l, const struct setting *row, struct str value, void *field)
{
    static const char all[] = "create,read,capture,refund,void";
    struct str rest = value;

    while (rest.n)
        if (!is_choice(all, str_trim(str_cut(&rest, ',')))) {
            source_problem(&l->source, row->name, "must be some of %s, separated by commas", all);
            return;
        }
    *(struct str *)field = value;
}

void read_url(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (address_is_url(value))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be an http:// or https:// address");
}

/* A base URL to which paths are appended: it has no slash at its end and no query. */
void read_base(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (memchr(value.p, '?', value.n) || memchr(value.p, '#', value.n)) {
        source_problem(&l->source, row->name, "must be an http:// or https:// address");
        return;
    }
    while (address_is_url(value) && value.p[value.n - 1] == '/')
        value.n--;
    read_url(l, row, value, field);
}

void read_pem(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (str_starts(value, S("-----BEGIN PUBLIC KEY-----")))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name,
                       "must be a PEM text, -----BEGIN PUBLIC KEY-----...; best in a file that "
                       "ICHIDO_JWT_PUBLIC_KEY_FILE names");
}

/* --- what leaves the house --- */

/* As OpenTelemetry's specification says, only the word "true" is true. */
void read_true(struct load *l, const struct setting *row, struct str value, void *field)
{
    (void)l;
    (void)row;
    *(bool *)field = str_eq_nocase(value, S("true"));
}

void read_ratio(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct str rest = value, whole = str_cut(&rest, '.');
    bool is_number = whole.n == 1 && (whole.p[0] == '0' || whole.p[0] == '1') && rest.n <= 9;

    for (size_t i = 0; i < rest.n; i++)
        is_number &= rest.p[i] >= '0' && rest.p[i] <= (whole.p[0] == '1' ? '0' : '9');
    if (is_number)
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be a number from 0 to 1, like 0.1");
}

void read_smtp(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (str_starts(value, S("smtp://")) || str_starts(value, S("smtps://")))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name,
                       "must be smtp://user:password@host:587 or smtps://user:password@host:465");
}

void read_mail(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (address_is_mail(value))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be an address like payments@example.com");
}

/* "-3,0,7": whole days, each once. */
void read_days(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (settings_are_days(value))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name,
                       "must be days from the due date like -3,0,7: at most %d, from -%d to %d",
                       LIMIT_REMINDERS, LIMIT_REMINDER_DAYS, LIMIT_REMINDER_DAYS);
}

/* --- addresses --- */

void read_listen(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (address_is_listen(value))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be host:port, like 127.0.0.1:8787");
}

void read_sandbox_listen(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (str_eq(value, S("off")))
        *(struct str *)field = (struct str){ 0 };
    else
        read_listen(l, row, value, field);
}

void read_networks(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct str rest = value;

    while (rest.n)
        if (!address_is_network(str_trim(str_cut(&rest, ',')))) {
            source_problem(
                &l->source, row->name,
                "must be networks like 10.0.0.0/8 or 2001:db8::/32, separated by commas");
            return;
        }
    *(struct str *)field = value;
}

/* --- secrets: what is wrong with one is said, the secret never --- */

static bool is_secret(struct load *l, const struct setting *row, struct str value)
{
    const char *why = value.n ? NULL : "has an empty element in its list";

    for (size_t i = 0; i < value.n && !why; i++) {
        unsigned char c = (unsigned char)value.p[i];

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            why = "has a blank or a line break in it or around it";
        else if (c < 0x21 || c > 0x7e)
            why = "has a character that is not printable ASCII";
    }
    if (why)
        source_problem(&l->source, row->name, "%s", why);
    return !why;
}

void read_secret(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (is_secret(l, row, value))
        *(struct str *)field = value;
}

void read_secrets(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct str *list = arena_alloc(&l->s->arena, LIMIT_SECRETS, sizeof(*list));
    size_t n = 0;
    bool more = true;

    (void)field;
    if (!list) {
        source_problem(&l->source, row->name, "needs more memory than there is");
        return;
    }
    while (more) {
        more = value.n && memchr(value.p, ',', value.n); /* "a," has an empty element behind it */
        if (n == LIMIT_SECRETS) {
            source_problem(&l->source, row->name, "has more than %d secrets", LIMIT_SECRETS);
            return;
        }
        list[n] = str_cut(&value, ',');
        if (!is_secret(l, row, list[n++]))
            return;
    }
    l->s->webhook_secrets = list;
    l->s->webhook_secret_count = n;
}
