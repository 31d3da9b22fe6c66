/* collection_input.h - reads and checks a collection and a Checkout session, and reports everything
 * that is wrong in one answer (P5). */
#pragma once

#include "base/json/json.h"
#include "collection/collection.h"
#include "http/http.h"

/* Reads the body of a PUT, which is everything but id and owner. Texts go to the request's arena;
 * participants are sorted by id. usual_minute: the minute of the day for reminders without a time.
 * False: the answer was sent. */
bool collection_input_read(struct request *r, int usual_minute,
                           struct collection_input *ret_input) ANSWERS;

struct checkout_input {
    struct uuid key;
    struct str success_url, cancel_url; /* empty: not given */
};
/* Reads the header and the body of a POST; an empty body counts as {}. has_return_url: successUrl
 * is optional. False: the answer was sent. */
bool checkout_input_read(struct request *r, bool has_return_url,
                         struct checkout_input *ret_input) ANSWERS;

/* Pure rules. */
bool is_web_url(struct str url);    /* http or https, with a host and only characters of a URL */
bool is_zone_name(struct str name); /* the form of "Asia/Tokyo" or "UTC"; the zone may not exist */
