/* dead_kinds.h - the kinds of dead letters with a retry of their own (dlq/dead_letter.h), for the
 * server and for the command line. */
#pragma once

#include "dlq/dead_letter.h"

enum { DEAD_KINDS = 8 };

struct qstash;

/* Only env and queue of q are used, and queue is NULL where no queue runs. A caller that only reads
 * ids (dead_id_read) may pass NULL for q. */
size_t dead_kinds_fill(struct dead_kind kinds[DEAD_KINDS], struct qstash *q);
