/* dead_letter.h - messages that failed for good, and what the API or an operator does with them. A
 * dead message is a row of qstash_dead with its labels, and a row of dead_letters with the same
 * id. */
#pragma once

#include "dlq/dead_letter.h"
#include "qstash/message.h"
#include "qstash/render.h"

/* The caller has locked the row of dead_letters and deletes it; these functions change only the
 * rows of QStash. NOT_FOUND: it is not a dead message (any more), and nothing was changed.
 *
 * A retry stores a new message under new_id with new attempts: the same content and options, and
 * the webhook-id of the first message. */
enum err qstash_dead_retry(struct tx *tx, struct qstash *q, struct uuid id, struct uuid new_id);
enum err qstash_dead_forget(struct tx *tx, struct qstash *q, struct uuid id);
/* The same as a retry, with another body; NULL: its own. */
enum err qstash_dead_edit(struct tx *tx, struct qstash *q, struct uuid id, struct uuid new_id,
                          const struct str *body);
/* dead_kind.need of a retry. */
enum err qstash_dead_need(struct tx *tx, struct uuid id, struct dead_need *ret_need);
/* Its body, in the unit's own memory. *ret_hidden: its publisher has hidden it. NOT_FOUND. */
enum err qstash_dead_body(struct tx *tx, struct uuid id, struct str *ret_body, bool *ret_hidden);

/* Writes members of an open object: payload (what was sent and where to, without what is hidden)
 * and failures (the last 100 attempts with their answers). The log is deleted earlier than dead
 * messages; then only the last answer is left. NOT_FOUND: nothing was written. */
enum err qstash_dead_show(struct tx *tx, struct qstash *q, const struct dead_letter *d,
                          struct buf *b);

/* --- its steps, for the API --- */

/* NOT_FOUND. Texts go to the arena; the body and the answer are the unit's own memory, and without
 * with_body they are left out. */
enum err dead_read(struct tx *tx, struct arena *a, struct uuid id, bool with_body,
                   struct parcel *ret_parcel, struct dead *ret_dead);
/* Stores it again under new_id, for not_before_ms. The record of operators' edits moves with it, so
 * that the original body stays known. */
enum err dead_repost(struct qstash *q, struct tx *tx, const struct parcel *p, struct uuid new_id,
                     int64_t now_ms, int64_t not_before_ms);
/* Deletes it. Its content stays as long as the log has lines about it. */
enum err dead_remove(struct tx *tx, const struct parcel *p, const struct dead *d);

/* --- dlqId: "1760000000000-12" --- */

enum { DLQ_ID_TEXT = 48 };
void dlq_id_text(int64_t died_ms, int64_t seq, char text[DLQ_ID_TEXT]);
bool dlq_id_parse(struct str text, int64_t *ret_died_ms, int64_t *ret_seq);
