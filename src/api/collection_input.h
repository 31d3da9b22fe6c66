/* collection_input.h - what a client says about a collection and about a session of Checkout,
 * checked, with all that is wrong named at once (P5). */
#pragma once

#include "base/json/json.h"
#include "collection/collection.h"
#include "http/http.h"

/* The body of a PUT: all but id and owner. Texts go to the request's arena, participants are
 * sorted. usual_minute: of the day, for reminders that name none. False: the answer was sent. */
bool collection_input_read(struct request *r, int usual_minute,
                           struct collection_input *ret_input) ANSWERS;

struct checkout_input {
    struct uuid key;
    struct str success_url, cancel_url; /* empty: not given */
};
/* Header and body of a POST; an empty body counts as {}. has_return_url: successUrl may be left
 * out. False: the answer was sent. */
bool checkout_input_read(struct request *r, bool has_return_url,
                         struct checkout_input *ret_input) ANSWERS;

/* Pure rules. */
bool is_web_url(struct str url);    /* http or https, with a host, nothing that a url cannot have */
bool is_zone_name(struct str name); /* has the form of "Asia/Tokyo" or "UTC" */
