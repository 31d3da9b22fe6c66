/* filter.h - which messages, dead messages or log lines a call is about: its query or its JSON
 * body, read by one set of rules (sections 5.1, 14 and 15.1 of the reference).
 *
 *   (1) A key given several times, or with commas, matches any of its values; different keys must
 *       all match.
 *   (2) An unknown key, an empty value or a bad number is a 400, so that a typing error never
 *       selects everything.
 *   (3) No key besides `count` and `cursor` selects everything. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/uuid.h"
#include "base/why.h"
#include "qstash/message.h"

/* Texts of a message's content, in the order of qstash_facts. */
enum filter_key {
    FILTER_URL,
    FILTER_HOST,
    FILTER_PATH,
    FILTER_LABEL,
    FILTER_QUEUE,
    FILTER_FLOW,
    FILTER_SCHEDULE,
    FILTER_TOPIC,
    FILTER_CALLER,
    FILTER_TEXTS,
};

struct filter_texts {
    struct str *v;
    size_t n, room;
};

struct filter {
    struct filter_texts text[FILTER_TEXTS]; /* n 0: any */

    bool has_ids; /* of messages; if none of them is valid, nothing matches */
    struct uuid *ids;
    size_t id_count;

    int64_t *status; /* of the last answer */
    size_t status_count;

    unsigned states; /* of a line: bits 1 << enum qstash_state; 0: any */

    bool has_dates;
    int64_t from_ms, to_ms; /* both included */
};

struct selection {
    struct filter filter;
    bool by_ids;             /* messageIds or dlqIds: exactly these */
    struct filter_texts ids; /* may be none */
    int64_t count;           /* 0: not given */
    struct str cursor;       /* empty: from the beginning */
};

enum selection_of { SELECT_LIVE = 1, SELECT_DEAD = 2, SELECT_LOG = 4 };

/* query is raw; body may be empty. Texts are slices or in the arena. VALIDATION: 400 with why. */
enum err selection_read(struct arena *a, enum selection_of of, struct str query, struct str body,
                        struct selection *ret_selection, struct why *why);

/* --- matching --- */

struct filter_facts { /* the part of a content that filters check */
    int64_t created_ms;
    struct str text[FILTER_TEXTS]; /* label: "a,b" */
};

bool filter_has_texts(const struct filter *f);
bool filter_fits_texts(const struct filter *f, const struct filter_facts *facts);
bool filter_fits_id(const struct filter *f, struct uuid id);
bool filter_fits_status(const struct filter *f, int64_t status);
bool filter_fits_state(const struct filter *f, int64_t state);
bool filter_fits_time(const struct filter *f, int64_t at_ms);
