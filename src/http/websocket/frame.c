/* frame.c - reads the frames of a client, fed in any split, and writes the frames of a server. */
#include "http/websocket/frame.h"

#include "base/limits.h"

#include <string.h>

void frame_reader_init(struct frame_reader *r, size_t message_max)
{
    *r = (struct frame_reader){ .message_max = message_max, .head_size = 2 };
    buf_init(&r->message, message_max);
}

void frame_reader_release(struct frame_reader *r)
{
    buf_release(&r->message);
}

static enum frame_result frame_bad(struct frame_reader *r, int code, const char *why)
{
    r->code = code;
    r->why = why;
    return FRAMES_BAD;
}

/* --- the head: two bytes, the rest of the length, the mask --- */

static bool is_control(enum frame_opcode opcode)
{
    return opcode >= FRAME_CLOSE;
}

static bool is_known(unsigned opcode)
{
    return opcode <= FRAME_BINARY || (opcode >= FRAME_CLOSE && opcode <= FRAME_PONG);
}

static enum frame_result check_order(struct frame_reader *r)
{
    if (is_control(r->opcode))
        return FRAMES_MORE;
    if (r->opcode == FRAME_CONTINUES && !r->in_message)
        return frame_bad(r, CLOSE_PROTOCOL, "nothing to continue");
    if (r->opcode != FRAME_CONTINUES && r->in_message)
        return frame_bad(r, CLOSE_PROTOCOL, "a message within a message");
    return FRAMES_MORE;
}

/* Reads the first two bytes. */
static enum frame_result begin_head(struct frame_reader *r)
{
    unsigned opcode = r->head[0] & 15u, length = r->head[1] & 127u;

    if (r->head[0] & 0x70u)
        return frame_bad(r, CLOSE_PROTOCOL, "a reserved bit is set");
    if (!is_known(opcode))
        return frame_bad(r, CLOSE_PROTOCOL, "an unknown opcode");
    if (!(r->head[1] & 0x80u))
        return frame_bad(r, CLOSE_PROTOCOL, "a client's frames must be masked");
    r->opcode = (enum frame_opcode)opcode;
    r->last = r->head[0] & 0x80u;
    if (is_control(r->opcode) && (!r->last || length > FRAME_CONTROL_MAX))
        return frame_bad(r, CLOSE_PROTOCOL, "a control frame is one short frame");
    r->head_size = length == 127 ? 2 + 8 + 4 : length == 126 ? 2 + 2 + 4 : 2 + 4;
    return check_order(r);
}

static uint64_t frame_announced(const struct frame_reader *r, bool *ret_shortest)
{
    size_t n = r->head_size - 6;
    uint64_t length = r->head[1] & 127u;

    *ret_shortest = true;
    if (!n)
        return length;
    length = 0;
    for (size_t i = 0; i < n; i++)
        length = length << 8 | r->head[2 + i];
    *ret_shortest = n == 2 ? length > 125 : length > UINT16_MAX;
    return length;
}

static void begin_message(struct frame_reader *r)
{
    if (is_control(r->opcode)) {
        r->control_n = 0;
        return;
    }
    if (r->opcode != FRAME_CONTINUES)
        r->kind = r->opcode;
    r->in_message = true;
}

static enum frame_result end_head(struct frame_reader *r)
{
    bool shortest;

    r->left = frame_announced(r, &shortest);
    r->mask_at = 0;
    if (!shortest || r->left >> 63)
        return frame_bad(r, CLOSE_PROTOCOL, "a length that is not in its shortest form");
    if (!is_control(r->opcode) && r->left > r->message_max - r->message.n)
        return frame_bad(r, CLOSE_TOO_LARGE, "the message is longer than the limit");
    begin_message(r);
    return FRAMES_MORE;
}

/* The message that was given out is no longer needed. The memory of a large one is freed. */
static void release_message(struct frame_reader *r)
{
    if (!r->taken)
        return;
    r->taken = false;
    if (r->message.size > LIMIT_SPARE_BYTES)
        buf_release(&r->message);
    buf_clear(&r->message);
}

static bool has_head(const struct frame_reader *r)
{
    return r->head_n == r->head_size;
}

static enum frame_result feed_head(struct frame_reader *r, struct str *bytes)
{
    while (bytes->n && !has_head(r)) {
        enum frame_result result = FRAMES_MORE;

        r->head[r->head_n++] = (unsigned char)*bytes->p++;
        bytes->n--;
        if (r->head_n == 2)
            result = begin_head(r);
        else if (has_head(r))
            result = end_head(r);
        if (result)
            return result;
    }
    return FRAMES_MORE;
}

/* --- the payload --- */

static void frame_unmask(struct frame_reader *r, char *p, size_t n)
{
    const unsigned char *mask = r->head + r->head_size - 4;

    for (size_t i = 0; i < n; i++)
        p[i] = (char)((unsigned char)p[i] ^ mask[(r->mask_at + i) % 4]);
    r->mask_at = (unsigned)((r->mask_at + n) % 4);
}

static bool read_payload(struct frame_reader *r, struct str *bytes)
{
    size_t n = bytes->n < r->left ? bytes->n : (size_t)r->left;

    if (!n)
        return true;
    if (is_control(r->opcode)) {
        memcpy(r->control + r->control_n, bytes->p, n);
        frame_unmask(r, r->control + r->control_n, n);
        r->control_n += n;
    } else {
        buf_add(&r->message, (struct str){ bytes->p, n });
        if (r->message.failed)
            return false;
        frame_unmask(r, r->message.p + r->message.n - n, n);
    }
    bytes->p += n;
    bytes->n -= n;
    r->left -= n;
    return true;
}

bool frame_is_close_code(int code)
{
    if (code >= 3000)
        return code <= 4999;
    return code >= 1000 && code <= 1014 && code != 1004 && code != CLOSE_NO_CODE &&
           code != CLOSE_ABNORMAL;
}

int frame_close_code(const struct frame_reader *r)
{
    const unsigned char *p = (const unsigned char *)r->control;

    return r->control_n >= 2 ? p[0] << 8 | p[1] : CLOSE_NO_CODE;
}

static enum frame_result end_control(struct frame_reader *r)
{
    struct str reason = { r->control + 2, r->control_n > 2 ? r->control_n - 2 : 0 };

    if (r->opcode != FRAME_CLOSE || !r->control_n)
        return FRAMES_CONTROL;
    if (r->control_n == 1 || !frame_is_close_code(frame_close_code(r)))
        return frame_bad(r, CLOSE_PROTOCOL, "a close code that means nothing");
    return str_is_utf8(reason) ? FRAMES_CONTROL
                               : frame_bad(r, CLOSE_NOT_UTF8, "a reason without UTF-8");
}

static enum frame_result end_frame(struct frame_reader *r)
{
    r->head_n = 0;
    r->head_size = 2;
    if (is_control(r->opcode))
        return end_control(r);
    if (!r->last)
        return FRAMES_MORE;
    r->in_message = false;
    r->taken = true;
    if (r->kind == FRAME_TEXT && !str_is_utf8(buf_str(&r->message)))
        return frame_bad(r, CLOSE_NOT_UTF8, "text that is not UTF-8");
    return FRAMES_MESSAGE;
}

enum frame_result frame_feed(struct frame_reader *r, struct str *bytes)
{
    enum frame_result result = FRAMES_MORE;

    if (r->code)
        return FRAMES_BAD;
    release_message(r);
    while (!result && bytes->n) {
        result = feed_head(r, bytes);
        if (result || !has_head(r))
            break;
        if (!read_payload(r, bytes))
            return frame_bad(r, CLOSE_TROUBLE, "no memory for the message");
        if (!r->left)
            result = end_frame(r);
    }
    return result;
}

/* --- frames of the server --- */

void frame_add(struct buf *b, enum frame_opcode opcode, struct str payload)
{
    uint64_t n = payload.n;

    buf_char(b, (char)(0x80u | (unsigned)opcode));
    if (n <= FRAME_CONTROL_MAX) {
        buf_char(b, (char)n);
    } else {
        int bytes = n <= UINT16_MAX ? 2 : 8;

        buf_char(b, bytes == 2 ? 126 : 127);
        while (bytes--)
            buf_char(b, (char)(n >> 8 * bytes & 255));
    }
    buf_add(b, payload);
}

void frame_add_close(struct buf *b, int code, struct str reason)
{
    char text[FRAME_CONTROL_MAX];
    size_t n = reason.n < sizeof(text) - 2 ? reason.n : sizeof(text) - 2;

    text[0] = (char)(code >> 8);
    text[1] = (char)(code & 255);
    if (n)
        memcpy(text + 2, reason.p, n);
    frame_add(b, FRAME_CLOSE, (struct str){ text, n + 2 });
}
