/* forget.h - retention: the job "qstash.forget", of which there is always one. */
#pragma once

#include "qstash/qstash.h"

/* In a unit at each start: adds the job if it is missing. */
enum err qstash_forget_start(struct qstash *q, struct tx *tx, int64_t now_ms);
