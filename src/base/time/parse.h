/* parse.h - reads points in time: RFC 3339 in JSON, and the dates of HTTP. */
#pragma once

#include "base/str.h"

/* RFC 3339 with any offset and any fraction, cut to milliseconds. False: it is not one. */
bool time_parse(struct str text, int64_t *ret_ms);

/* RFC 9110's three forms: "Sun, 06 Nov 1994 08:49:37 GMT" and the two obsolete ones. */
bool time_parse_http(struct str text, int64_t *ret_ms);
