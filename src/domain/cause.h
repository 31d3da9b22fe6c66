/* cause.h - the failure cause, by which dead letters are grouped (Q6): the reason of a failure with
 * ids, numbers and times replaced by # and quoted texts by "*":
 *
 *   no payment 019a8c3e-7b7a-7c3e-9a55-0242ac120002   no payment #
 *   127.0.0.1:8080 answered 503 after 1.5 s           # answered # after # s
 *   unknown status "on hold"                          unknown status "*" */
#pragma once

#include "base/str.h"

enum { CAUSE_TEXT = 200 }; /* bytes, without the NUL */

/* Never empty; UTF-8, one line. The rules must not change between versions that share a database,
 * since the causes of older dead letters stay as they are stored. */
struct str cause_of(struct str reason, char text[CAUSE_TEXT + 1]);
