/* dead_kinds.h - the kinds whose dead letters have their own way back (dlq/dead_letter.h), for the
 * server and for the command line alike. */
#pragma once

#include "dlq/dead_letter.h"

enum { DEAD_KINDS = 8 };

struct qstash;

/* Of q only env and queue are used; where no queue runs that is NULL. For ids alone (dead_id_read)
 * q may be NULL. */
size_t dead_kinds_fill(struct dead_kind kinds[DEAD_KINDS], struct qstash *q);
