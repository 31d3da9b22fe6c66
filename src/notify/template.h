/* template.h - the words of what people are told, and the data that go along. Pure. Only
 * notification.c and its tests include this. */
#pragma once

#include "notify/notification.h"

struct notice_words {
    struct str title, body;
};

/* What is made goes to the arena. .body.p NULL: no memory. */
struct notice_words notice_words(struct arena *a, const struct notice *n, enum language language);
/* A JSON object. .p NULL: no memory. */
struct str notice_data(struct arena *a, const struct notice *n);
