/* attempts.h - one line for each try at a gateway (O7). They are collected in memory during a call
 * and written in the commit that stores its result: they cost no commit of their own, and a crash
 * before it loses lines, never money. */
#pragma once

#include "gateway/port.h"
#include "store/tx.h"

/* who: the operation, or the message whose job called. */
enum err attempts_write(struct tx *tx, struct uuid payment, struct uuid who,
                        const struct gateway_tries *tries);
