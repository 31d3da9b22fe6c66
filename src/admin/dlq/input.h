/* input.h - which dead letters a request means: from its query, or from its body. What is
 * unknown is refused, since a misspelt filter would mean all of them. */
#pragma once

#include "dlq/dead_letter.h"
#include "endpoint/query.h"

struct dlq_page { /* GET */
    struct dead_filter filter;
    int limit;
    bool has_cursor;
    struct dead_cursor cursor;
};
/* False: 400 was answered. */
bool dlq_read_page(struct request *r, struct dlq_page *ret_page) ANSWERS;

/* GET groups. The same. */
bool dlq_read_groups(struct request *r, struct dead_groups *ret_groups) ANSWERS;

/* The id in the path. False: 400 was answered. */
bool dlq_read_id(struct request *r, const struct dead_letters *letters,
                 struct uuid *ret_id) ANSWERS;

/* The body of an act: ids, filter or all; dryRun, limit, cursor. False: the answer was sent. */
bool dlq_read_act(struct request *r, struct dead_act *ret_act) ANSWERS; /* its letters are set */
/* The same and ratePerSecond; neither limit nor cursor. */
bool dlq_read_redrive(struct request *r, struct dead_act *ret_act, int64_t *ret_rate) ANSWERS;
/* eventId, or from, to and type; ratePerSecond, dryRun. The filter's kind is the type, its ref the
 * event. */
bool dlq_read_replay(struct request *r, struct dead_act *ret_act, int64_t *ret_rate) ANSWERS;
/* {"body": "..."}, or nothing. *ret_has: it was given. False: the answer was sent. */
bool dlq_read_edit(struct request *r, bool *ret_has, struct str *ret_body) ANSWERS;
