/* Feeds the WebSocket frame reader whole and in pieces chosen by the input: both must see the same
 * messages, and whatever is taken must keep its promises. What we write ourselves, it must read. */
#include "http/websocket/frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE_MAX = 600 };

static void promise(int holds)
{
    if (!holds)
        abort();
}

/* Everything that the reader gave out, one behind the other. */
struct seen {
    struct buf text;
    int messages, controls, code;
};

static void check_message(const struct frame_reader *r, struct seen *s)
{
    promise(r->message.n <= MESSAGE_MAX && r->message.size <= MESSAGE_MAX && !r->in_message);
    promise(r->kind == FRAME_TEXT || r->kind == FRAME_BINARY);
    promise(r->kind == FRAME_BINARY || str_is_utf8(buf_str(&r->message)));
    buf_char(&s->text, r->kind == FRAME_TEXT ? 't' : 'b');
    buf_add(&s->text, buf_str(&r->message));
    s->messages++;
}

static void check_control(const struct frame_reader *r, struct seen *s)
{
    promise(r->control_n <= FRAME_CONTROL_MAX && r->opcode >= FRAME_CLOSE);
    if (r->opcode == FRAME_CLOSE)
        promise(frame_close_code(r) == CLOSE_NO_CODE || frame_is_close_code(frame_close_code(r)));
    buf_char(&s->text, 'c');
    buf_add(&s->text, (struct str){ r->control, r->control_n });
    s->controls++;
}

static void look(struct frame_reader *r, struct str in, struct seen *s)
{
    while (in.n && !s->code) {
        size_t before = in.n;

        switch (frame_feed(r, &in)) {
        case FRAMES_MORE: promise(!in.n); break;
        case FRAMES_MESSAGE: check_message(r, s); break;
        case FRAMES_CONTROL: check_control(r, s); break;
        case FRAMES_BAD:
            promise(frame_is_close_code(r->code) && r->why);
            s->code = r->code;
            break;
        }
        promise(s->code || in.n < before);
    }
}

static size_t piece(const uint8_t *data, size_t size, size_t at)
{
    return 1 + (data[at] * 31u + at) % (size < 64 ? 7 : 251);
}

static void run(const uint8_t *data, size_t size, bool in_pieces, struct seen *s)
{
    struct frame_reader r;

    buf_init(&s->text, 1 << 24);
    frame_reader_init(&r, MESSAGE_MAX);
    for (size_t used = 0; used < size && !s->code;) {
        size_t n = in_pieces ? piece(data, size, used) : size;

        n = n < size - used ? n : size - used;
        look(&r, (struct str){ (const char *)data + used, n }, s);
        used += n;
    }
    frame_reader_release(&r);
}

/* As a client would send it back: masked with zeros. */
static void read_back(const uint8_t *data, size_t size)
{
    static const char mask[4];
    struct frame_reader r;
    struct buf ours, theirs;
    struct str in;
    size_t head;

    buf_init(&ours, 1 << 20);
    buf_init(&theirs, 1 << 20);
    frame_add(&ours, FRAME_BINARY, (struct str){ (const char *)data, size });
    head = ours.n - size;
    ours.p[1] = (char)((unsigned char)ours.p[1] | 0x80u);
    buf_add(&theirs, (struct str){ ours.p, head });
    buf_add(&theirs, (struct str){ mask, sizeof(mask) });
    buf_add(&theirs, (struct str){ ours.p + head, size });
    in = buf_str(&theirs);
    frame_reader_init(&r, 1 << 20);
    promise(frame_feed(&r, &in) == FRAMES_MESSAGE && !in.n && r.kind == FRAME_BINARY);
    promise(r.message.n == size && (!size || !memcmp(r.message.p, data, size)));
    frame_reader_release(&r);
    buf_release(&ours);
    buf_release(&theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = { 0 }, pieces = { 0 };

    run(data, size, false, &whole);
    run(data, size, true, &pieces);
    promise(whole.messages == pieces.messages && whole.controls == pieces.controls &&
            whole.code == pieces.code && str_eq(buf_str(&whole.text), buf_str(&pieces.text)));
    buf_release(&whole.text);
    buf_release(&pieces.text);
    read_back(data, size);
    return 0;
}
