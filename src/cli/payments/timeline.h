/* timeline.h - `ichido payments timeline ID [--json]`: how a timeline is shown (O7). Where
 * it comes from is payments.c's: timeline_read() of timeline/timeline.h on the store itself, or
 * GET /api/v1/admin/payments/ID/timeline of the server that has it (M4); both give the same JSON.
 */
#pragma once

#include "base/str.h"

/* On standard output: a picture for people at a terminal, lines with tabs for programs, the answer
 * as it is with as_json. The exit code. */
int payments_timeline_print(struct str json, bool as_json);
