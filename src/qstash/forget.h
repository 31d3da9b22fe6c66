/* forget.h - retention: "qstash.forget", of which there is always one. */
#pragma once

#include "qstash/qstash.h"

/* At each start, in a unit. It may be there already. */
enum err qstash_forget_start(struct qstash *q, struct tx *tx, int64_t now_ms);
