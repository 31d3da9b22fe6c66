/* dead_letter.h - part of all.h: read its rules there. No include guard: read many times.
 * Failed attempts, and what an operator does with dead letters (Q6).
 *
 * PostgreSQL: dead letters are locked in the order of their ids, before outcomes, lanes and messages. */

/* --- attempts --- */

SQL(message_failure_add,
    "INSERT INTO message_failures (message_id, attempt, at, error) VALUES ($1, $2, $3, $4)")

SQL(message_failures_of, /* the newest */
    "SELECT attempt, at, error FROM message_failures WHERE message_id = $1"
    " ORDER BY seq DESC LIMIT $2")

SQL2(message_failures_expire, /* reads only the $1 oldest: seq grows with time */
     "DELETE FROM message_failures WHERE seq IN (SELECT seq FROM (SELECT seq, at FROM"
     " message_failures ORDER BY seq LIMIT $1) oldest WHERE at < $2) RETURNING 1",
     "DELETE FROM message_failures WHERE seq = ANY (ARRAY (SELECT seq FROM (SELECT seq, at FROM"
     " message_failures ORDER BY seq LIMIT $1) oldest WHERE at < $2)) RETURNING 1")

/* --- the payment that a message is about, read when it is buried --- */

SQL(letter_payment, "UPDATE dead_letters SET payment_id = $1 WHERE id = $2")

SQL(payment_of_domain_event, "SELECT aggregate_id FROM domain_events WHERE id = $1")

SQL(payment_of_notification,
    "SELECT payment_id FROM notifications WHERE id = $1 AND payment_id IS NOT NULL")

/* --- pages: _down shows the newest first, _up is how they are worked on ---
 *
 * PostgreSQL compares whole index keys. With "kind = $1" it may choose the index by time, which has the
 * same order, and scan all other kinds to find a rare one. */

#define LETTER_COLUMNS                                                                             \
    "SELECT id, kind, lane, ref, payment_id, reason, attempts, added_at, died_at,"                 \
    " CASE WHEN body IS NULL THEN 0 ELSE 1 END, cause FROM dead_letters WHERE "
#define DOWN(by)                                                                                   \
    LETTER_COLUMNS by " = $1 AND (died_at, id) < ($2, $3) AND died_at >= $4"                       \
    " ORDER BY died_at DESC, id DESC LIMIT $5"
#define PG_DOWN(by)                                                                                \
    LETTER_COLUMNS by " IS NOT NULL AND (" by ", died_at, id) < ($1, $2, $3)"                      \
    " AND (" by ", died_at) >= ($1, $4) ORDER BY " by " DESC, died_at DESC, id DESC LIMIT $5"
#define UP(by)                                                                                     \
    LETTER_COLUMNS by " = $1 AND (died_at, id) > ($2, $3) AND died_at <= $4"                       \
    " ORDER BY died_at, id LIMIT $5"
#define PG_UP(by)                                                                                  \
    LETTER_COLUMNS by " IS NOT NULL AND (" by ", died_at, id) > ($1, $2, $3)"                      \
    " AND (" by ", died_at) <= ($1, $4) ORDER BY " by ", died_at, id LIMIT $5"

SQL(letters_down, LETTER_COLUMNS "(died_at, id) < ($1, $2) AND died_at >= $3"
                                 " ORDER BY died_at DESC, id DESC LIMIT $4")
SQL(letters_up, LETTER_COLUMNS "(died_at, id) > ($1, $2) AND died_at <= $3"
                               " ORDER BY died_at, id LIMIT $4")
SQL2(letters_of_kind_down, DOWN("kind"), PG_DOWN("kind"))
SQL2(letters_of_kind_up, UP("kind"), PG_UP("kind"))
SQL2(letters_of_ref_down, DOWN("ref"), PG_DOWN("ref"))
SQL2(letters_of_ref_up, UP("ref"), PG_UP("ref"))
SQL2(letters_of_payment_down, DOWN("payment_id"), PG_DOWN("payment_id"))
SQL2(letters_of_payment_up, UP("payment_id"), PG_UP("payment_id"))

/* Of one kind and one cause: those of a group. */
#define CAUSE_DOWN                                                                                 \
    LETTER_COLUMNS "kind = $1 AND cause = $2 AND (died_at, id) < ($3, $4) AND died_at >= $5"       \
                   " ORDER BY died_at DESC, id DESC LIMIT $6"
#define CAUSE_UP                                                                                   \
    LETTER_COLUMNS "kind = $1 AND cause = $2 AND (died_at, id) > ($3, $4) AND died_at <= $5"       \
                   " ORDER BY died_at, id LIMIT $6"
#define PG_KIND "(kind COLLATE \"C\")" /* that index's own order: no other one fits */
SQL2(letters_of_cause_down, CAUSE_DOWN,
     LETTER_COLUMNS "(" PG_KIND ", cause, died_at, id) < ($1, $2, $3, $4) AND (" PG_KIND
                    ", cause, died_at) >= ($1, $2, $5) ORDER BY " PG_KIND " DESC, cause DESC,"
                    " died_at DESC, id DESC LIMIT $6")
SQL2(letters_of_cause_up, CAUSE_UP,
     LETTER_COLUMNS "(" PG_KIND ", cause, died_at, id) > ($1, $2, $3, $4) AND (" PG_KIND
                    ", cause, died_at) <= ($1, $2, $5) ORDER BY " PG_KIND ", cause, died_at, id"
                    " LIMIT $6")

SQL(letters_newest, "SELECT died_at FROM dead_letters ORDER BY died_at DESC, id DESC LIMIT 1")

SQL(letter_get, LETTER_COLUMNS "id = $1")

SQL2(letters_read, /* bulk */
     LETTER_COLUMNS "id = $1",
     LETTER_COLUMNS "id = ANY ($1::bytea[])")

SQL(letter_body, "SELECT body FROM dead_letters WHERE id = $1")

SQL(letter_event, /* where it is about one of the provider's */
    "SELECT type, livemode, created_at, received_at FROM webhook_events"
    " WHERE stripe_event_id = $1")

/* --- groups: a loose index scan over (kind, cause), from ($1, $2) on, $3 of them at most ---
 *
 * Each step jumps to the next pair, however many letters have this one; of each but the last no more than
 * $7 are counted, between the times $5 and $6. $4: of this kind only; empty: of all. */

/* The two parts of a row comparison, since SQLite would only use the first of them here. */
#define SAME_KIND(kind, what)                                                                      \
    "(SELECT " what " FROM dead_letters d WHERE " kind " = g.kind AND d.cause > g.cause"           \
    " ORDER BY " kind ", d.cause, d.died_at, d.id LIMIT 1)"
#define NEXT_KIND(kind, what)                                                                      \
    "(SELECT " what " FROM dead_letters d WHERE " kind " > g.kind"                                 \
    " ORDER BY " kind ", d.cause, d.died_at, d.id LIMIT 1)"
#define NEXT(kind, what)                                                                           \
    "coalesce(" SAME_KIND(kind, what) ", " NEXT_KIND(kind, what) ")"
#define OF_GROUP(kind)                                                                             \
    " FROM dead_letters d WHERE " kind " = g.kind AND d.cause = g.cause AND d.died_at >= $5"       \
    " AND d.died_at < $6"
#define GROUPS(kind)                                                                               \
    "WITH RECURSIVE g (kind, cause, n) AS (SELECT * FROM (SELECT " kind ", d.cause,"               \
    " CAST(1 AS BIGINT) FROM dead_letters d WHERE (" kind ", d.cause) >= ($1, $2)"                 \
    " ORDER BY " kind ", d.cause, d.died_at, d.id LIMIT 1) first UNION ALL SELECT "                \
    NEXT(kind, kind) ", " NEXT(kind, "d.cause") ", g.n + 1 FROM g WHERE g.n < $3"                  \
    " AND g.kind IS NOT NULL AND ($4 = '' OR g.kind = $4))"                                        \
    " SELECT g.kind, g.cause, CASE WHEN g.n < $3 THEN (SELECT count(*) FROM (SELECT 1"             \
    OF_GROUP(kind) " LIMIT $7) x) ELSE 0 END,"                                                     \
    " (SELECT d.died_at" OF_GROUP(kind) " ORDER BY d.died_at, d.id LIMIT 1),"                      \
    " (SELECT d.died_at" OF_GROUP(kind) " ORDER BY d.died_at DESC, d.id DESC LIMIT 1),"            \
    " (SELECT d.id" OF_GROUP(kind) " ORDER BY d.died_at DESC, d.id DESC LIMIT 1)"                  \
    " FROM g WHERE g.kind IS NOT NULL AND ($4 = '' OR g.kind = $4) ORDER BY g.n"
SQL2(letter_groups, GROUPS("d.kind"), GROUPS("(d.kind COLLATE \"C\")"))

SQL(letters_nameless, /* from before there were causes */
    "SELECT id, reason FROM dead_letters WHERE cause = '' ORDER BY id LIMIT $1")
SQL(letter_name, "UPDATE dead_letters SET cause = $1 WHERE id = $2 AND cause = ''")

/* --- acts --- */

SQL2(letters_lock, /* bulk; those that still exist; locked until the commit */
     LETTER_COLUMNS "id = $1",
     LETTER_COLUMNS "id = ANY ($1::bytea[]) ORDER BY id FOR UPDATE")

SQL2(letters_retried, /* bulk; the id of each whose retry $3 begins the words of an audit row */
     "SELECT $1 WHERE EXISTS (SELECT 1 FROM audit a WHERE a.subject = $2"
     " AND a.operation = 'DLQ_RETRY' AND substr(a.detail, 1, length($3)) = $3)",
     "SELECT n.id FROM unnest($1::bytea[], $2::text[], $3::text[]) AS n (id, subject, words)"
     " WHERE (SELECT a.seq FROM audit a WHERE a.subject = n.subject AND a.operation = 'DLQ_RETRY'"
     " AND substr(a.detail, 1, length(n.words)) = n.words LIMIT 1) IS NOT NULL")

/* An event is added anew: how long it took from its reception to its effect counts from here, since
 * nothing was done in between. Other kinds keep their time, by which a send waits. */
#define ADDED(now)                                                                                 \
    " CASE WHEN d.kind IN ('stripe.event', 'stripe.refetch', 'paypay.refetch') THEN " now          \
    " ELSE d.added_at END, "
SQL2(letters_revive, /* bulk, under the lanes' locks; $3: the first of its lane within this call */
     "INSERT INTO message (seq, id, kind, lane, due_at, added_at, ref, body, ready)"
     " SELECT max(coalesce((SELECT max(seq) FROM message), 0), coalesce(d.seq, 0)) + 1, d.id, d.kind,"
     " d.lane, $1," ADDED("$1") "d.ref, d.body,"
     " $3 = 1 AND NOT EXISTS (SELECT 1 FROM message m WHERE m.lane = d.lane)"
     " FROM dead_letters d WHERE d.id = $2",
     "INSERT INTO message (id, kind, lane, due_at, added_at, ref, body, ready)"
     " SELECT d.id, d.kind, d.lane, ($1::bigint[])[1]," ADDED("($1::bigint[])[1]") "d.ref, d.body, CASE WHEN"
     " n.first = 1 AND (SELECT m.seq FROM message m WHERE m.lane = d.lane ORDER BY m.seq LIMIT 1)"
     " IS NULL THEN 1 ELSE 0 END FROM unnest($2::bytea[], $3::bigint[]) WITH ORDINALITY"
     " AS n (id, first, ord) JOIN dead_letters d ON d.id = n.id ORDER BY n.ord RETURNING seq")

#undef ADDED

SQL2(letters_delete, /* bulk; a row for each */
     "DELETE FROM dead_letters WHERE id = $1",
     "DELETE FROM dead_letters WHERE id = ANY ($1::bytea[]) RETURNING 1")

SQL2(letters_failures_delete, /* bulk */
     "DELETE FROM message_failures WHERE message_id = $1",
     "DELETE FROM message_failures WHERE message_id = ANY ($1::bytea[])")

SQL2(outcomes_undo, /* bulk, by event ids: what will be tried again has no outcome any more */
     "DELETE FROM webhook_outcomes WHERE outcome = 'dead' AND message_id ="
     " (SELECT message_id FROM webhook_events WHERE stripe_event_id = $1)",
     "DELETE FROM webhook_outcomes WHERE outcome = 'dead' AND message_id = ANY (ARRAY (SELECT"
     " message_id FROM webhook_events WHERE stripe_event_id = ANY ($1::text[])))")

SQL2(audit_letters, /* bulk */
     "INSERT INTO audit (at, operation, subject, result, times, detail, user_id, payment_id)"
     " VALUES ($1, $2, $3, 'success', 1, $4, $5, $6)",
     "INSERT INTO audit (at, operation, subject, result, times, detail, user_id, payment_id)"
     " SELECT n.at, n.operation, n.subject, 'success', 1, n.detail, n.user_id, n.payment_id"
     " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[])"
     " WITH ORDINALITY AS n (at, operation, subject, detail, user_id, payment_id, ord)"
     " ORDER BY n.ord")

SQL(letter_mend, /* fills what can be read now and could not be when it was stored */
    "UPDATE dead_letters SET body = $1, lane = $2, payment_id = $3 WHERE id = $4")

SQL(webhook_event_stored, /* with the body that an operator edited, if any */
    "SELECT coalesce((SELECT m.body FROM message_edits m WHERE m.message_id = e.message_id"
    " ORDER BY m.seq DESC LIMIT 1), e.body), e.trace, e.body FROM webhook_events e"
    " WHERE e.stripe_event_id = $1")

SQL(webhook_event_need, /* how much webhook_event_stored brings */
    "SELECT length(e.body) + coalesce((SELECT length(m.body) FROM message_edits m"
    " WHERE m.message_id = e.message_id ORDER BY m.seq DESC LIMIT 1), length(e.body))"
    " FROM webhook_events e WHERE e.stripe_event_id = $1")

#undef LETTER_COLUMNS
#undef CAUSE_DOWN
#undef CAUSE_UP
#undef PG_KIND
#undef SAME_KIND
#undef NEXT_KIND
#undef NEXT
#undef OF_GROUP
#undef GROUPS
#undef DOWN
#undef PG_DOWN
#undef UP
#undef PG_UP
