/* doctor.c - `ichido doctor`: checks the settings, the database, the clock, the gateway and the
 * secrets, and says what is wrong and what to do about it. It changes nothing, and a server may
 * run. */
#include "base/json/write.h"
#include "cli/cli.h"
#include "cli/doctor/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JSON_MAX = 256 * 1024 };

static const char *const words[] = { "ok", "warning", "bad" };

static void doctor_usage(void)
{
    puts("usage: ichido doctor [--json]\n\n"
         "Checks the settings, the database, the clock, the gateway, the secrets and the channels\n"
         "of notifications, and says what is wrong and what to do. It changes nothing; a server "
         "may run.\n\n"
         "Exit code: 0 nothing is bad (there may be warnings), 1 something is, 2 the settings "
         "cannot\n"
         "be read.");
}

void doctor_say(struct doctor *d, enum verdict v, const char *about, const char *advice,
                const char *found, ...)
{
    struct finding *f = &d->findings[d->count];
    va_list args;

    if (d->count == FINDINGS)
        return;
    d->count++;
    f->verdict = v;
    f->about = about;
    va_start(args, found);
    vsnprintf(f->found, sizeof(f->found), found, args);
    va_end(args);
    snprintf(f->advice, sizeof(f->advice), "%s", advice ? advice : "");
}

static void print_json(const struct doctor *d, enum verdict worst)
{
    struct buf b;

    buf_init(&b, JSON_MAX);
    buf_char(&b, '{');
    out_text(&b, "verdict", str_of(words[worst]));
    out_json(&b, "findings", S("["));
    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];

        buf_add(&b, i ? S(",{") : S("{"));
        out_text(&b, "verdict", str_of(words[f->verdict]));
        out_text(&b, "about", str_of(f->about));
        out_text(&b, "found", str_of(f->found));
        out_text(&b, "advice", str_of(f->advice));
        buf_char(&b, '}');
    }
    buf_add(&b, S("]}"));
    printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
    buf_release(&b);
}

static void print_words(const struct doctor *d, enum verdict worst)
{
    static const char *const marks[] = { "ok  ", "WARN", "BAD " };
    static const char *const colours[] = { "\033[32m", "\033[33m", "\033[31m" };
    const char *no = getenv("NO_COLOR");
    bool colour = isatty(STDOUT_FILENO) && !(no && *no);

    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];

        printf("%s%s%s  %-10s %s\n", colour ? colours[f->verdict] : "", marks[f->verdict],
               colour ? "\033[0m" : "", f->about, f->found);
        if (f->advice[0])
            printf("                 -> %s\n", f->advice);
    }
    printf("\n%s\n", worst == DOCTOR_FINE   ? "Nothing is wrong."
                     : worst == DOCTOR_WARN ? "Nothing is bad; the warnings are yours to judge."
                                            : "Something is bad: see the lines above.");
}

static enum verdict doctor_examine(struct doctor *d)
{
    enum verdict worst = DOCTOR_FINE;

    doctor_check_settings(d);
    doctor_check_secrets(d);
    doctor_check_machine(d);
    doctor_check_database(d);
    doctor_check_server(d);
    doctor_check_gateway(d);
    doctor_check_receivers(d);
    for (size_t i = 0; i < d->count; i++)
        if (d->findings[i].verdict > worst)
            worst = d->findings[i].verdict;
    return worst;
}

static int doctor_run(bool json)
{
    struct doctor *d = calloc(1, sizeof(*d));
    enum verdict worst;

    if (!d)
        return EXIT_CANNOT;
    if (!node_init(&d->node)) {
        free(d);
        return EXIT_ASKED_WRONGLY;
    }
    worst = doctor_examine(d);
    (json ? print_json : print_words)(d, worst);
    node_release(&d->node);
    free(d);
    return worst == DOCTOR_BAD ? EXIT_CANNOT : EXIT_FINE;
}

int cli_doctor(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        doctor_usage();
        return EXIT_FINE;
    }
    if (argc > 1 && !json) {
        fprintf(stderr, "ichido doctor: cannot read %.80s; ichido doctor --help\n", argv[1]);
        return EXIT_ASKED_WRONGLY;
    }
    return doctor_run(json);
}
