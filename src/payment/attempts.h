/* attempts.h - what a gateway was asked, one line for each try (O7). They are collected in memory
 * while something runs and written with the commit that says what came of it: no commit is made for
 * them, and a crash before it loses lines, never money. */
#pragma once

#include "gateway/port.h"
#include "store/tx.h"

/* who: the operation, or the message that asked. */
enum err attempts_write(struct tx *tx, struct uuid payment, struct uuid who,
                        const struct gateway_tries *tries);
