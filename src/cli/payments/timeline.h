/* timeline.h - `ichido payments timeline ID [--json]`: prints a timeline (O7). payments.c gets it
 * by timeline_read() from the database, or by GET /api/v1/admin/payments/ID/timeline from the
 * server that has it (M4); both give the same JSON. */
#pragma once

#include "base/str.h"

/* Prints a table at a terminal, lines with tabs for programs, or the JSON with as_json. Returns the
 * exit code. */
int payments_timeline_print(struct str json, bool as_json);
