/* template.h - the texts of notifications, and the data that go with them. Pure. Only
 * notification.c and its tests include this. */
#pragma once

#include "notify/notification.h"

struct notice_words {
    struct str title, body;
};

/* A text that is composed is stored in the arena. .body.p NULL: no memory. */
struct notice_words notice_words(struct arena *a, const struct notice *n, enum language language);
/* A JSON object. .p NULL: no memory. */
struct str notice_data(struct arena *a, const struct notice *n);
