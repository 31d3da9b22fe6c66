/* answer.h - a request that waits for a unit of work. A route embeds struct api_answer in the
 * structure that it keeps for the request, in the request's arena. */
#pragma once

#include "http/http.h"
#include "store/store.h"

struct api_answer {
    struct unit unit;
    struct request *request;
    struct str text; /* out: JSON */
};

/* Posts the unit of work of a request. done() answers the request: api_answer_show(), or a function
 * of the route. */
void api_answer_post(struct api_answer *a, struct request *r, struct store *store,
                     const struct unit_kind *kind, void (*done)(struct unit *));

/* Answers 200 with the text, or the problem of the unit's error. */
void api_answer_show(struct unit *u);

/* Zeroed memory in the request's arena. NULL: the arena is full, and that was answered. */
void *api_room(struct request *r, size_t size) ANSWERS;
