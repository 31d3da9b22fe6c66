/* cause.h - what a failure has in common with others: its words without what is only its own. Ids,
 * numbers and times become #, quoted texts "*":
 *
 *   no payment 019a8c3e-7b7a-7c3e-9a55-0242ac120002   no payment #
 *   127.0.0.1:8080 answered 503 after 1.5 s           # answered # after # s
 *   unknown status "on hold"                          unknown status "*" */
#pragma once

#include "base/str.h"

enum { CAUSE_TEXT = 200 }; /* bytes, without the NUL */

/* Never empty; UTF-8, one line. Equal for equal reasons, in every version that shares a database:
 * old letters keep what they got. */
struct str cause_of(struct str reason, char text[CAUSE_TEXT + 1]);
