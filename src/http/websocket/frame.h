/* frame.h - WebSocket frames (RFC 6455): bytes of a client in, messages out. No sockets and no
 * time: the tests and the fuzzer feed it in every split.
 *
 * What two readers could take in two ways is rejected: reserved bits, unknown opcodes, lengths in
 * more bytes than they need, unmasked frames, text that is not UTF-8. A message is never longer than
 * message_max; its buffer grows with the received bytes, not with the announced length. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

enum frame_opcode {
    FRAME_CONTINUES = 0,
    FRAME_TEXT = 1,
    FRAME_BINARY = 2,
    FRAME_CLOSE = 8,
    FRAME_PING = 9,
    FRAME_PONG = 10,
};

/* Why a connection ends. */
enum close_code {
    CLOSE_NORMAL = 1000,
    CLOSE_GOING_AWAY = 1001,
    CLOSE_PROTOCOL = 1002,
    CLOSE_UNSUPPORTED = 1003,
    CLOSE_NO_CODE = 1005,  /* never sent: the peer gave none */
    CLOSE_ABNORMAL = 1006, /* never sent: the connection ended without a close frame */
    CLOSE_NOT_UTF8 = 1007,
    CLOSE_TOO_LARGE = 1009,
    CLOSE_TROUBLE = 1011,
    CLOSE_TRY_LATER = 1013,
};

enum { FRAME_HEAD_MAX = 14, FRAME_CONTROL_MAX = 125 };

struct frame_reader {
    size_t message_max;
    struct buf message; /* what has come of the message under way */
    enum frame_opcode kind;
    bool in_message; /* further frames of it follow */
    bool taken;      /* the message was given out: the next frame begins a new one */

    /* the frame under way */
    unsigned char head[FRAME_HEAD_MAX];
    size_t head_n, head_size;
    enum frame_opcode opcode;
    bool last;
    uint64_t left;    /* bytes of it still to come */
    unsigned mask_at; /* of the four bytes, the one that is next */
    char control[FRAME_CONTROL_MAX];
    size_t control_n;

    int code;        /* after BAD: the close code to answer with */
    const char *why; /* after BAD: static words */
};

void frame_reader_init(struct frame_reader *r, size_t message_max);
void frame_reader_release(struct frame_reader *r);

/* Takes bytes off the front of *bytes. MORE: all were taken. MESSAGE: kind and message hold one,
 * until the next call. CONTROL: opcode and control hold a ping, a pong or a close. BAD: the
 * connection cannot go on; see code and why. */
enum frame_result { FRAMES_MORE, FRAMES_MESSAGE, FRAMES_CONTROL, FRAMES_BAD };
enum frame_result frame_feed(struct frame_reader *r, struct str *bytes);

/* After CONTROL: what the peer's close said; CLOSE_NO_CODE where it gave no code. */
int frame_close_code(const struct frame_reader *r);
bool frame_is_close_code(int code); /* one that may be sent */

/* One whole frame, as a server sends it: not masked. */
void frame_add(struct buf *b, enum frame_opcode opcode, struct str payload);
void frame_add_close(struct buf *b, int code, struct str reason); /* cut where it is too long */
