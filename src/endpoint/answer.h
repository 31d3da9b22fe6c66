/* answer.h - a request that waits for a unit of work, in its own arena; a part of what its route
 * keeps for it. */
#pragma once

#include "http/http.h"
#include "store/store.h"

struct api_answer {
    struct unit unit;
    struct request *request;
    struct str text; /* out: JSON */
};

/* The request's work. done() answers: api_answer_show(), or what ends with it. */
void api_answer_post(struct api_answer *a, struct request *r, struct store *store,
                     const struct unit_kind *kind, void (*done)(struct unit *));

/* 200 with the text, or the unit's problem. */
void api_answer_show(struct unit *u);

/* Zeroed, in the request's arena. NULL: that was answered. */
void *api_room(struct request *r, size_t size) ANSWERS;
