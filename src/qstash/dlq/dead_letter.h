/* dead_letter.h - parcels that failed for good: what is done with them, by the API or by an operator. A
 * dead parcel is a row of qstash_dead with its labels, and a row of dead_letters with the same id.
 */
#pragma once

#include "dlq/dead_letter.h"
#include "qstash/message.h"
#include "qstash/render.h"

/* Both for a letter whose row of dead_letters the caller holds, and removes; they take what is
 * ours. NOT_FOUND: it is no dead parcel (any more), and nothing was changed.
 *
 * Retried, it is a new parcel under new_id with a fresh budget: the same content and options, and
 * the webhook-id of its first life. */
enum err qstash_dead_retry(struct tx *tx, struct qstash *q, struct uuid id, struct uuid new_id);
enum err qstash_dead_forget(struct tx *tx, struct qstash *q, struct uuid id);
/* The same as a retry, with another body; NULL: its own. */
enum err qstash_dead_edit(struct tx *tx, struct qstash *q, struct uuid id, struct uuid new_id,
                          const struct str *body);
/* dead_kind.need of a retry. */
enum err qstash_dead_need(struct tx *tx, struct uuid id, struct dead_need *ret_need);
/* Its body, the unit's own memory. *ret_hidden: its publisher wants nobody to see it. NOT_FOUND. */
enum err qstash_dead_body(struct tx *tx, struct uuid id, struct str *ret_body, bool *ret_hidden);

/* Members of an object that was begun: payload, what was sent and to whom, without what may not be
 * seen; failures, its attempts with their answers, the last 100 of them. The log forgets before
 * this does; then the last answer is left. NOT_FOUND: nothing was written. */
enum err qstash_dead_show(struct tx *tx, struct qstash *q, const struct dead_letter *d,
                          struct buf *b);

/* --- its steps, for the API --- */

/* NOT_FOUND. Texts go to the arena; the body and the answer are the unit's own memory, and without
 * with_body they are left out. */
enum err dead_read(struct tx *tx, struct arena *a, struct uuid id, bool with_body,
                   struct parcel *ret_parcel, struct dead *ret_dead);
/* Posts it under new_id, for not_before_ms. What operators made of its body goes with it, so that
 * it is known what came first. */
enum err dead_repost(struct qstash *q, struct tx *tx, const struct parcel *p, struct uuid new_id,
                     int64_t now_ms, int64_t not_before_ms);
/* It is dead no more. Its content goes with it, unless the log has lines that it belongs to. */
enum err dead_remove(struct tx *tx, const struct parcel *p, const struct dead *d);

/* --- dlqId: "1760000000000-12" --- */

enum { DLQ_ID_TEXT = 48 };
void dlq_id_text(int64_t died_ms, int64_t seq, char text[DLQ_ID_TEXT]);
bool dlq_id_parse(struct str text, int64_t *ret_died_ms, int64_t *ret_seq);
