/* command.h - what the files of `ichido doctor` share. */
#pragma once

#include "server/node.h"

enum verdict { DOCTOR_FINE, DOCTOR_WARN, DOCTOR_BAD };

enum { FINDINGS = 64, FOUND = 320, ADVICE = 320 };

struct finding {
    enum verdict verdict;
    const char *about;   /* "database" */
    char found[FOUND];   /* the state that was found */
    char advice[ADVICE]; /* what to do; empty where it is fine */
};

struct doctor {
    struct node node;
    struct finding findings[FINDINGS];
    size_t count;
    bool serves; /* a server answers */
};

/* advice NULL: none is needed. */
void doctor_say(struct doctor *d, enum verdict v, const char *about, const char *advice,
                const char *found, ...) __attribute__((format(printf, 5, 6)));

void doctor_check_settings(struct doctor *d); /* checks.c */
void doctor_check_secrets(struct doctor *d);
void doctor_check_machine(struct doctor *d); /* clock, files, certificate */
void doctor_check_database(struct doctor *d);
void doctor_check_server(struct doctor *d); /* net.c; after the check of the database */
void doctor_check_gateway(struct doctor *d);
void doctor_check_receivers(struct doctor *d); /* mail, push, traces, errors */
