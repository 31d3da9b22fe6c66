/* emit.h - domain events of payments (B2), with the fields of 004 section 4. */
#pragma once

#include "payment/transition.h"

enum err tell_created(struct tx *tx, struct payments *pp, struct arena *a, const struct payment *p,
                      int64_t now_ms, struct str trace);
enum err tell_move(struct tx *tx, const struct taking *t, const struct payment *p,
                   const struct move *m);
enum err tell_refund(struct tx *tx, const struct taking *t, const struct payment *p,
                     const struct refund *r);
