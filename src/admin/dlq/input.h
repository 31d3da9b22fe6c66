/* input.h - reads from the query or the body which dead letters a request means. An unknown filter
 * is rejected, since a misspelt one would mean all of them. */
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

/* The query of GET groups. False: 400 was answered. */
bool dlq_read_groups(struct request *r, struct dead_groups *ret_groups) ANSWERS;

/* The id in the path. False: 400 was answered. */
bool dlq_read_id(struct request *r, const struct dead_letters *letters,
                 struct uuid *ret_id) ANSWERS;

/* The body of an act: ids, filter or all; dryRun, limit, cursor. ret_act->letters is set already.
 * False: the answer was sent. */
bool dlq_read_act(struct request *r, struct dead_act *ret_act) ANSWERS;
/* The body of a redrive: ids, filter or all; dryRun, ratePerSecond. */
bool dlq_read_redrive(struct request *r, struct dead_act *ret_act, int64_t *ret_rate) ANSWERS;
/* The body of a replay: eventId, or from, to and type; dryRun, ratePerSecond. The type goes to the
 * filter's kind, the event's id to its ref. */
bool dlq_read_replay(struct request *r, struct dead_act *ret_act, int64_t *ret_rate) ANSWERS;
/* {"body": "..."}, {} or no body. *ret_has: an edited body was given. False: the answer was
 * sent. */
bool dlq_read_edit(struct request *r, bool *ret_has, struct str *ret_body) ANSWERS;
