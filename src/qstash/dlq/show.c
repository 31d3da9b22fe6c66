/* show.c - a dead message among all dead letters, as an operator sees it (Q6). The names are those
 * of the API. Unlike there, answers are cut, and nothing that grants access and no card data is
 * shown
 * (A6): of bytes that are not plain text, only the length and the hash appear. */
#include "base/hex.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "base/url_mask.h"
#include "observe/redact.h"
#include "qstash/dlq/dead_letter.h"
#include "store/values.h"

#include <openssl/sha.h>
#include <stdio.h>

/* "iin":1, becomes "iin":"[redacted]", at most REDACTED_GROWS times as long. */
enum { TRIES_SHOWN = 100, TEXTS = 4 * 1024 * 1024, REDACTED_GROWS = 3 };

/* --- bytes --- */

/* Plain text grows at most twice as long as JSON; a control character would be six times as long,
 * and strict readers like ours reject NUL. */
static bool is_plain(struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return false;
    }
    return str_is_utf8(bytes);
}

/* Cuts between two characters. */
static struct str dlq_show_cut(struct str bytes)
{
    struct str s = { bytes.p, LIMIT_QSTASH_SHOWN };

    if (bytes.n <= LIMIT_QSTASH_SHOWN)
        return bytes;
    while (s.n > LIMIT_QSTASH_SHOWN - 4 && !str_is_utf8(s))
        s.n--;
    return s;
}

/* Card data in binary content cannot be recognized, so none of it is shown. */
static void binary_out(struct buf *b, const char *name, struct str bytes)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char text[2 * SHA256_DIGEST_LENGTH];

    SHA256((const unsigned char *)bytes.p, bytes.n, digest);
    hex_put(text, digest, sizeof(digest));
    out_name(b, name);
    buf_char(b, '{');
    out_int(b, "bytes", (int64_t)bytes.n);
    out_text(b, "sha256", (struct str){ text, sizeof(text) });
    buf_char(b, '}');
}

/* A message may carry a provider's event, so card data is masked here too (A6). */
static void bytes_out(struct buf *b, const char *name, const char *binary_name, struct str bytes,
                      struct str (*shorten)(struct str))
{
    struct buf shown;

    if (!is_plain(bytes)) {
        binary_out(b, binary_name, bytes);
        return;
    }
    buf_init(&shown, REDACTED_GROWS * bytes.n + 1);
    redact_text(&shown, bytes);
    b->failed |= shown.failed;
    render_text(b, name, shorten ? shorten(buf_str(&shown)) : buf_str(&shown));
    buf_release(&shown);
}

static void url_out(struct buf *b, struct str url)
{
    struct buf shown;

    buf_init(&shown, 2 * LIMIT_QSTASH_URL);
    url_mask(&shown, url, false);
    b->failed |= shown.failed;
    out_text(b, "url", buf_str(&shown));
    buf_release(&shown);
}

/* --- what was sent --- */

static void id_out(struct buf *b, const char *name, struct uuid id)
{
    char text[MESSAGE_ID_TEXT + 1];

    message_id_text(id, text);
    out_text(b, name, str_of(text));
}

static void payload_out(struct buf *b, const struct parcel *p)
{
    struct redact hide = redact_of(p->redact);

    hide.secrets = true;
    out_name(b, "payload");
    buf_char(b, '{');
    id_out(b, "messageId", p->id);
    id_out(b, "webhookId", p->has_webhook_id ? p->webhook_id : p->id);
    out_text(b, "method", p->method);
    url_out(b, p->url);
    render_header(b, "header", p->header, &hide);
    if (hide.body)
        render_body(b, p, &hide);
    else
        bytes_out(b, "body", "bodyBinary", p->body, NULL);
    render_text(b, "queueName", p->queue);
    render_flow(b, p);
    render_labels(b, p);
    render_text(b, "topicName", p->topic);
    render_text(b, "scheduleId", p->schedule_id);
    buf_char(b, '}');
}

/* --- its attempts --- */

struct attempts_shown {
    int64_t seqs[TRIES_SHOWN]; /* of their lines, the newest first */
    size_t n, rows;
    int64_t before;
};

static enum err attempts_add_row(void *ctx, const struct row *row)
{
    struct attempts_shown *t = ctx;

    t->rows++;
    t->before = row->col[0].i;
    if (row->col[3].i == QSTASH_ERROR && t->n < TRIES_SHOWN)
        t->seqs[t->n++] = t->before;
    return OK;
}

/* A failed attempt is one line ERROR, among others that say less. */
static enum err attempts_find(struct tx *tx, struct uuid id, struct attempts_shown *t)
{
    size_t looked = 0;
    enum err e;

    *t = (struct attempts_shown){ .before = INT64_MAX };
    do {
        struct val v[] = { v_uuid(&id), V_INT(t->before), V_INT(LIMIT_STATEMENT_ROWS) };

        t->rows = 0;
        e = tx_each(tx, STMT_qstash_log_of_id, v, COUNT(v), attempts_add_row, t);
        looked += t->rows;
    } while (!e && t->rows == LIMIT_STATEMENT_ROWS && t->n < TRIES_SHOWN &&
             looked < LIMIT_QSTASH_LOOKED);
    return e;
}

static void error_out(struct buf *b, struct str error, int status)
{
    char words[32];

    snprintf(words, sizeof(words), "answered %d", status);
    out_text(b, "error", error.n ? error : str_of(words));
}

static void attempt_out(struct buf *b, int64_t number, const struct log_entry *line)
{
    if (b->n && b->p[b->n - 1] == '}')
        buf_char(b, ',');
    buf_char(b, '{');
    out_int(b, "attempt", number);
    out_time(b, "at", line->at_ms);
    error_out(b, line->error, line->status);
    if (line->status)
        out_int(b, "status", line->status);
    bytes_out(b, "responseBody", "responseBodyBinary", line->response_body, dlq_show_cut);
    buf_char(b, '}');
}

static enum err attempt_read_line(struct tx *tx, int64_t seq, struct log_entry *ret_line)
{
    struct row row;
    const struct val *c = row.col;
    enum err e = TX_ROW(tx, STMT_qstash_log_line, &row, V_INT(seq));

    if (e)
        return e;
    *ret_line =
        (struct log_entry){ .at_ms = c[1].i,
                            .status = c[4].type == VAL_INT ? (int)c[4].i : 0,
                            .error = c[5].type == VAL_TEXT ? c[5].s : (struct str){ 0 },
                            .response_body = c[7].type == VAL_BLOB ? c[7].s : (struct str){ 0 } };
    return OK;
}

static void last_attempt_out(struct buf *b, const struct dead_letter *d, const struct dead *dead)
{
    struct log_entry line = { .at_ms = d->died_ms,
                              .status = dead->status,
                              .error = dead->status ? (struct str){ 0 } : d->reason,
                              .response_body = dead->response_body };

    attempt_out(b, d->attempts, &line);
}

static enum err attempts_out(struct tx *tx, struct buf *b, const struct dead_letter *d,
                             const struct dead *dead)
{
    struct attempts_shown t;
    enum err e = attempts_find(tx, d->id, &t);

    out_name(b, "failures");
    buf_char(b, '[');
    for (size_t i = t.n; i-- > 0 && !e;) {
        struct log_entry line;

        e = attempt_read_line(tx, t.seqs[i], &line);
        if (!e)
            attempt_out(b, d->attempts - (int64_t)i, &line);
        else if (e == ERR_NOT_FOUND) /* deleted meanwhile */
            e = OK;
    }
    if (!e && !t.n)
        last_attempt_out(b, d, dead);
    buf_char(b, ']');
    return e;
}

enum err qstash_dead_show(struct tx *tx, struct qstash *q, const struct dead_letter *d,
                          struct buf *b)
{
    CLEANUP(arena_release) struct arena a;
    struct parcel p;
    struct dead dead;
    enum err e;

    (void)q;
    arena_init(&a, TEXTS);
    e = dead_read(tx, &a, d->id, true, &p, &dead);
    if (e)
        return e;
    payload_out(b, &p);
    return attempts_out(tx, b, d, &dead);
}
