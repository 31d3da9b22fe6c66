/* WebSockets: the frames by themselves in every split, then a real server with a bare client. */
#include "http/websocket/frame.h"
#include "http/websocket/websocket.h"
#include "unit/http/harness.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* --- frames --- */

enum { MESSAGE_MAX = 300 };

/* A client's frame: first byte, payload, masked with "mask". */
static void add_masked(struct buf *b, unsigned first, struct str payload)
{
    struct buf plain;
    static const char mask[4] = { 'm', 'a', 's', 'k' };
    size_t head;

    buf_init(&plain, 1 << 22);
    frame_add(&plain, FRAME_TEXT, payload);
    head = plain.n - payload.n;
    plain.p[0] = (char)first;
    plain.p[1] = (char)((unsigned char)plain.p[1] | 0x80u);
    buf_add(b, (struct str){ plain.p, head });
    buf_add(b, (struct str){ mask, 4 });
    for (size_t i = 0; i < payload.n; i++)
        buf_char(b, (char)(payload.p[i] ^ mask[i % 4]));
    buf_release(&plain);
}

/* What a reader makes of the bytes, as text: "t:hello p: c:1000 !1002". */
static void read_all(struct str bytes, size_t step, struct buf *out)
{
    struct frame_reader r;
    enum frame_result result = FRAMES_MORE;

    frame_reader_init(&r, MESSAGE_MAX);
    while (bytes.n && result != FRAMES_BAD) {
        struct str part = { bytes.p, bytes.n < step ? bytes.n : step };

        bytes.p += part.n;
        bytes.n -= part.n;
        while (part.n && result != FRAMES_BAD) {
            result = frame_feed(&r, &part);
            if (result == FRAMES_MESSAGE) {
                buf_fmt(out, "%s%c:", out->n ? " " : "", r.kind == FRAME_TEXT ? 't' : 'b');
                buf_add(out, buf_str(&r.message));
            } else if (result == FRAMES_CONTROL && r.opcode == FRAME_CLOSE) {
                buf_fmt(out, "%sc:%d", out->n ? " " : "", frame_close_code(&r));
            } else if (result == FRAMES_CONTROL) {
                buf_fmt(out, "%s%s:%.*s", out->n ? " " : "", r.opcode == FRAME_PING ? "i" : "o",
                        (int)r.control_n, r.control);
            } else if (result == FRAMES_BAD) {
                buf_fmt(out, "%s!%d", out->n ? " " : "", r.code);
            }
        }
    }
    if (result == FRAMES_BAD) { /* and so it stays */
        struct str more = S("\x81\x80mask");

        assert_int_equal(frame_feed(&r, &more), FRAMES_BAD);
    }
    frame_reader_release(&r);
}

static void expect_read(const char *why, struct str bytes, const char *expected)
{
    for (size_t step = 1; step <= bytes.n; step++) {
        struct buf out;

        buf_init(&out, 1 << 20);
        read_all(bytes, step, &out);
        buf_char(&out, '\0');
        if (strcmp(out.p, expected))
            fail_msg("%s, in steps of %zu: \"%s\", not \"%s\"", why, step, out.p, expected);
        buf_release(&out);
    }
}

struct piece {
    unsigned first; /* 0: no more */
    const char *text;
};

#define FIN 0x80u

static void frames_become_messages(void **state)
{
    static const struct {
        const char *why;
        struct piece pieces[5];
        const char *expected;
    } rows[] = {
        { "one frame", { { FIN | 1, "hello" } }, "t:hello" },
        { "an empty one", { { FIN | 1, "" } }, "t:" },
        { "two messages", { { FIN | 1, "a" }, { FIN | 2, "b" } }, "t:a b:b" },
        { "three fragments", { { 1, "a" }, { 0x100, "b" }, { FIN | 0, "c" } }, "t:abc" },
        { "empty fragments", { { 1, "" }, { 0x100, "" }, { FIN | 0, "" } }, "t:" },
        { "a ping between fragments",
          { { 1, "a" }, { FIN | 9, "x" }, { FIN | 0, "b" } },
          "i:x t:ab" },
        { "a pong nobody asked for", { { FIN | 10, "z" } }, "o:z" },
        { "a character in two fragments",
          { { 1, "\xe9\xa0" }, { FIN | 0, "\x98" } },
          "t:\xe9\xa0\x98" },
        { "a close without a code", { { FIN | 8, "" } }, "c:1005" },
        { "a close with one", { { FIN | 8, "\x03\xe8" } }, "c:1000" },
        { "a close of one's own", { { FIN | 8, "\x0f\xa0why" } }, "c:4000" },
        { "a close between fragments", { { 1, "a" }, { FIN | 8, "\x03\xe9" } }, "c:1001" },
        { "binary is not looked at", { { FIN | 2, "\xff" } }, "b:\xff" },
        /* what is refused */
        { "a reserved bit", { { FIN | 0x40 | 1, "a" } }, "!1002" },
        { "another", { { FIN | 0x10 | 1, "a" } }, "!1002" },
        { "opcode 3", { { FIN | 3, "a" } }, "!1002" },
        { "opcode 11", { { FIN | 11, "" } }, "!1002" },
        { "nothing to continue", { { FIN | 0, "a" } }, "!1002" },
        { "a message within one", { { 1, "a" }, { FIN | 1, "b" } }, "!1002" },
        { "a ping in fragments", { { 9, "a" } }, "!1002" },
        { "a close in fragments", { { 8, "" } }, "!1002" },
        { "half a close code", { { FIN | 8, "\x03" } }, "!1002" },
        { "close code 999", { { FIN | 8, "\x03\xe7" } }, "!1002" },
        { "close code 1004", { { FIN | 8, "\x03\xec" } }, "!1002" },
        { "close code 1005", { { FIN | 8, "\x03\xed" } }, "!1002" },
        { "close code 1006", { { FIN | 8, "\x03\xee" } }, "!1002" },
        { "close code 1015", { { FIN | 8, "\x03\xf7" } }, "!1002" },
        { "close code 2999", { { FIN | 8, "\x0b\xb7" } }, "!1002" },
        { "close code 5000", { { FIN | 8, "\x13\x88" } }, "!1002" },
        { "a reason that is not UTF-8", { { FIN | 8, "\x03\xe8\xff" } }, "!1007" },
        { "text that is not UTF-8", { { FIN | 1, "a\xff" } }, "!1007" },
        { "half a character at the end", { { FIN | 1, "\xe9\xa0" } }, "!1007" },
        { "a surrogate", { { FIN | 1, "\xed\xa0\x80" } }, "!1007" },
        { "an overlong form", { { 1, "\xc0" }, { FIN | 0, "\xaf" } }, "!1007" },
        { "good, then bad", { { FIN | 1, "a" }, { FIN | 3, "" } }, "t:a !1002" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf b;

        buf_init(&b, 1 << 20);
        for (const struct piece *p = rows[i].pieces; p->text; p++)
            add_masked(&b, p->first & 0xff, str_of(p->text)); /* 0x100: opcode 0 without FIN */
        expect_read(rows[i].why, buf_str(&b), rows[i].expected);
        buf_release(&b);
    }
}

static void lengths_are_judged_before_their_bytes_come(void **state)
{
    static const struct {
        const char *why;
        struct str head;
        const char *expected;
    } rows[] = {
        { "not masked", S("\x81\x01"), "!1002" },
        { "125 in two bytes", S("\x81\xfe\x00\x7dmask"), "!1002" },
        { "65535 in eight", S("\x81\xff\0\0\0\0\0\0\xff\xffmask"), "!1002" },
        { "the top bit", S("\x81\xff\x80\0\0\0\0\0\0\0mask"), "!1002" },
        { "far too long", S("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xffmask"), "!1009" },
        { "one too long", S("\x81\xfe\x01\x2dmask"), "!1009" },
        { "as long as may be", S("\x81\xfe\x01\x2cmask"), "" },
        { "a ping of 126", S("\x89\xfe\x00\x7emask"), "!1002" },
        { "fragments that are too long together", S("\x01\x82mask\0\0\x80\xfe\x01\x2bmask"),
          "!1009" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_read(rows[i].why, rows[i].head, rows[i].expected);
}

static void every_length_is_written_in_its_shortest_form(void **state)
{
    static const size_t lengths[] = { 0, 1, 125, 126, 300, 65535, 65536, 70000 };
    static const size_t heads[] = { 2, 2, 2, 4, 4, 4, 10, 10 };
    char *text = calloc(1, 70000);

    (void)state;
    memset(text, 'x', 70000);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct frame_reader r;
        struct buf b;
        struct str in;

        buf_init(&b, 1 << 20);
        frame_add(&b, FRAME_TEXT, (struct str){ text, lengths[i] });
        assert_int_equal(b.n, heads[i] + lengths[i]);
        buf_clear(&b);
        add_masked(&b, FIN | 1, (struct str){ text, lengths[i] });
        in = buf_str(&b);
        frame_reader_init(&r, 70000);
        assert_int_equal(frame_feed(&r, &in), FRAMES_MESSAGE);
        assert_int_equal(r.message.n, lengths[i]);
        assert_int_equal(in.n, 0);
        frame_reader_release(&r);
        buf_release(&b);
    }
    free(text);
}

/* --- a server --- */

struct talk {
    struct fixture *f;
    int opened, closed, drained, sent, stuffed, code;
    struct websocket *w;
    struct request *held;
};

static struct talk *talk_of(struct fixture *f)
{
    return (struct talk *)f->options.ctx;
}

static void note(struct talk *k, int *number)
{
    count(k->f, number);
}

static void on_opened(struct websocket *w, void *ctx)
{
    struct talk *k = ctx;

    k->w = w;
    note(k, &k->opened);
}

/* As much as the peer may be sent before he takes any of it. */
static void stuff(struct talk *k)
{
    static char text[100 * 1024];

    memset(text, 's', sizeof(text));
    while (websocket_send(k->w, (struct str){ text, sizeof(text) }))
        note(k, &k->sent);
    note(k, &k->stuffed);
}

static void on_text(struct websocket *w, void *ctx, struct str message)
{
    struct talk *k = ctx;

    if (str_eq(message, S("bye")))
        websocket_close(w, 4321, S("as you wish"));
    else if (str_eq(message, S("stuff")))
        stuff(k);
    else
        websocket_send(w, message);
    websocket_send(w, str_eq(message, S("bye")) ? S("too late") : S("."));
}

static void on_room(struct websocket *w, void *ctx)
{
    struct talk *k = ctx;

    (void)w;
    note(k, &k->drained);
}

static void on_gone(void *ctx, int code)
{
    struct talk *k = ctx;

    k->code = code;
    note(k, &k->closed);
}

static const struct websocket_ops talk_ops = {
    .message_max = 1000, .opened = on_opened, .text = on_text, .drained = on_room, .closed = on_gone
};

static void handle_talk(struct request *r, void *ctx)
{
    static const struct str names[] = { { "two", 3 }, { "one", 3 } };

    websocket_accept(r, websocket_protocol(r, names, COUNT(names)), &talk_ops, ctx);
}

/* Accepts only when it is told to. */
static void handle_later_talk(struct request *r, void *ctx)
{
    struct talk *k = ctx;

    k->held = r;
    note(k, &k->f->holds);
}

struct nudge {
    struct task task;
    struct talk *k;
};

static void accept_now(struct task *t)
{
    struct talk *k = CONTAINER_OF(t, struct nudge, task)->k;

    handle_talk(k->held, k);
    note(k, &k->sent);
}

static void talk_replied(void *ctx, const struct request *r, int status)
{
    (void)ctx;
    assert(r->id.n > 0 && status >= 101);
}

static struct fixture *start_with(void (*set)(struct server_options *o))
{
    static const struct route routes[] = {
        { .method = "GET", .path = "/talk", .handle = handle_talk },
        { .method = "POST", .path = "/talk", .handle = handle_talk },
        { .method = "GET", .path = "/later", .handle = handle_later_talk },
        { .method = "GET", .path = "/echo", .handle = handle_echo },
    };
    struct fixture *f = fixture_new();
    struct talk *k = calloc(1, sizeof(*k));
    struct route *mine = malloc(sizeof(routes));

    memcpy(mine, routes, sizeof(routes));
    for (size_t i = 0; i < COUNT(routes); i++)
        mine[i].ctx = k;
    free((void *)f->options.routes);
    f->options.routes = mine;
    f->options.route_count = COUNT(routes);
    f->options.replied = talk_replied;
    f->options.refused = NULL;
    f->options.ctx = k;
    k->f = f;
    if (set)
        set(&f->options);
    fixture_start(f);
    return f;
}

static void end(struct fixture *f)
{
    struct talk *k = talk_of(f);

    fixture_free(f);
    free(k);
}

#define UPGRADE(path)                                                                              \
    "GET " path " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"            \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static int dial_talk(struct fixture *f)
{
    int fd = dial(f);
    struct answer a;

    say(fd, S(UPGRADE("/talk") "\r\n"));
    a = hear(fd, false);
    assert_int_equal(a.status, 101);
    assert_non_null(strstr(a.text, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    answer_free(&a);
    return fd;
}

static void say_frame(int fd, unsigned first, struct str payload)
{
    struct buf b;

    buf_init(&b, 1 << 22);
    add_masked(&b, first, payload);
    say(fd, buf_str(&b));
    buf_release(&b);
}

struct heard {
    unsigned first;
    size_t n;
    char text[200 * 1024];
};

static void hear_exactly(int fd, void *bytes, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t k = recv(fd, (char *)bytes + got, n - got, 0);

        if (k <= 0)
            fail_msg("the frame ended at %zu of %zu", got, n);
        got += (size_t)k;
    }
}

static struct heard *hear_frame(int fd)
{
    static struct heard h;
    unsigned char head[10];
    size_t more;

    hear_exactly(fd, head, 2);
    assert_int_equal(head[1] & 0x80, 0);
    h.first = head[0];
    h.n = head[1];
    more = h.n == 126 ? 2 : h.n == 127 ? 8 : 0;
    if (more) {
        hear_exactly(fd, head, more);
        h.n = 0;
        for (size_t i = 0; i < more; i++)
            h.n = h.n << 8 | head[i];
    }
    assert_true(h.n < sizeof(h.text));
    hear_exactly(fd, h.text, h.n);
    h.text[h.n] = '\0';
    return &h;
}

static void expect_frame(int fd, unsigned first, const char *text)
{
    const struct heard *h = hear_frame(fd);

    if (h->first != first || strcmp(h->text, text))
        fail_msg("not %x \"%s\" but %x \"%s\"", first, text, h->first, h->text);
}

static void expect_close(int fd, int code)
{
    const struct heard *h = hear_frame(fd);
    int said = h->n < 2 ? 0 : (unsigned char)h->text[0] << 8 | (unsigned char)h->text[1];

    if (h->first != (FIN | 8) || said != code)
        fail_msg("not a close with %d but %x with %d", code, h->first, said);
}

static void expect_gone(struct fixture *f, int code)
{
    wait_for(f, &talk_of(f)->closed, 1);
    assert_int_equal(talk_of(f)->code, code);
    assert_int_equal(talk_of(f)->closed, 1);
}

static void a_request_becomes_a_conversation(void **state)
{
    struct fixture *f = start_with(NULL);
    int fd = dial_talk(f);

    (void)state;
    say_frame(fd, FIN | 1, S("hello"));
    expect_frame(fd, FIN | 1, "hello");
    expect_frame(fd, FIN | 1, ".");
    say_frame(fd, FIN | 9, S("are you there"));
    expect_frame(fd, FIN | 10, "are you there");
    say_frame(fd, FIN | 10, S("nobody asked"));
    say_frame(fd, 1, S("in "));
    say_frame(fd, FIN | 9, S(""));
    say_frame(fd, FIN | 0, S("pieces"));
    expect_frame(fd, FIN | 10, "");
    expect_frame(fd, FIN | 1, "in pieces");
    expect_frame(fd, FIN | 1, ".");
    say_frame(fd, FIN | 8, S("\x03\xe8 done"));
    expect_close(fd, 1000);
    expect_end(fd);
    expect_gone(f, 1000);
    end(f);
}

static void bytes_behind_the_request_are_frames(void **state)
{
    struct fixture *f = start_with(NULL);
    struct talk *k = talk_of(f);
    struct nudge nudge = { { .run = accept_now }, k };
    int fd = dial(f);
    struct answer a;
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_add(&b, S(UPGRADE("/talk") "\r\n"));
    add_masked(&b, FIN | 1, S("at once"));
    say(fd, buf_str(&b));
    a = hear(fd, false);
    assert_int_equal(a.status, 101);
    answer_free(&a);
    expect_frame(fd, FIN | 1, "at once");
    close(fd);

    buf_clear(&b);
    buf_add(&b, S(UPGRADE("/later") "\r\n"));
    add_masked(&b, FIN | 1, S("early"));
    fd = dial(f);
    say(fd, buf_str(&b));
    buf_release(&b);
    wait_for(f, &f->holds, 1);
    executor_post(server_executor(f->server), &nudge.task);
    a = hear(fd, false);
    assert_int_equal(a.status, 101);
    answer_free(&a);
    expect_frame(fd, FIN | 1, "early");
    expect_frame(fd, FIN | 1, ".");
    close(fd);
    wait_for(f, &k->closed, 2);
    end(f);
}

static void who_has_gone_before_is_never_told_of(void **state)
{
    struct fixture *f = start_with(NULL);
    struct talk *k = talk_of(f);
    struct nudge nudge = { { .run = accept_now }, k };
    int fd = dial(f);
    struct linger reset = { .l_onoff = 1 };

    (void)state;
    say(fd, S(UPGRADE("/later") "\r\n"));
    wait_for(f, &f->holds, 1);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    while (server_counts(f->server).connections)
        usleep(1000);
    executor_post(server_executor(f->server), &nudge.task);
    wait_for(f, &k->sent, 1);
    assert_int_equal(k->opened, 0);
    end(f);
    /* end() waited for the loop: `closed` would have come */
}

static void a_handshake_in_another_form_is_refused(void **state)
{
#define BASE "Host: a\r\n"
#define UP "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define V13 "Sec-WebSocket-Version: 13\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    static const struct {
        const char *why;
        struct str request;
        int status;
    } rows[] = {
        { "a plain request", S("GET /talk HTTP/1.1\r\n" BASE "\r\n"), 400 },
        { "no Connection", S("GET /talk HTTP/1.1\r\n" BASE "Upgrade: websocket\r\n" V13 KEY "\r\n"),
          400 },
        { "another protocol",
          S("GET /talk HTTP/1.1\r\n" BASE "Upgrade: h2c\r\nConnection: Upgrade\r\n" V13 KEY "\r\n"),
          400 },
        { "version 8",
          S("GET /talk HTTP/1.1\r\n" BASE UP "Sec-WebSocket-Version: 8\r\n" KEY "\r\n"), 400 },
        { "no version", S("GET /talk HTTP/1.1\r\n" BASE UP KEY "\r\n"), 400 },
        { "no key", S("GET /talk HTTP/1.1\r\n" BASE UP V13 "\r\n"), 400 },
        { "two keys", S("GET /talk HTTP/1.1\r\n" BASE UP V13 KEY KEY "\r\n"), 400 },
        { "a short key",
          S("GET /talk HTTP/1.1\r\n" BASE UP V13 "Sec-WebSocket-Key: dGhlIHM=\r\n\r\n"), 400 },
        { "a key of 17 bytes",
          S("GET /talk HTTP/1.1\r\n" BASE UP V13
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTE=\r\n\r\n"),
          400 },
        { "HTTP/1.0", S("GET /talk HTTP/1.0\r\n" BASE UP V13 KEY "\r\n"), 400 },
        { "POST", S("POST /talk HTTP/1.1\r\n" BASE UP V13 KEY "Content-Length: 0\r\n\r\n"), 400 },
        { "a body", S("GET /talk HTTP/1.1\r\n" BASE UP V13 KEY "Content-Length: 1\r\n\r\nx"), 400 },
        { "words in lists, any case, several lines",
          S("GET /talk HTTP/1.1\r\n" BASE "upgrade: h2c, WebSocket\r\nconnection: keep-alive\r\n"
            "CONNECTION: foo , upgrade\r\n" V13 KEY "\r\n"),
          101 },
        { "not asked for there", S("GET /echo HTTP/1.1\r\n" BASE UP V13 KEY "\r\n"), 200 },
    };
    struct fixture *f = start_with(NULL);

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int fd = dial(f);
        struct answer a;

        say(fd, rows[i].request);
        a = hear(fd, true);
        if (a.status != rows[i].status ||
            (a.status == 400 && !strstr(a.text, "Sec-WebSocket-Version: 13\r\n")))
            fail_msg("%s: %s", rows[i].why, a.text);
        answer_free(&a);
        close(fd);
    }
    end(f);
}

static void a_protocol_is_told_where_both_know_it(void **state)
{
    static const struct {
        struct str line;
        const char *told;
    } rows[] = {
        { S("Sec-WebSocket-Protocol: three, one\r\n"), "Sec-WebSocket-Protocol: one\r\n" },
        { S("Sec-WebSocket-Protocol: one\r\nSec-WebSocket-Protocol: two\r\n"),
          "Sec-WebSocket-Protocol: two\r\n" },
        { S("Sec-WebSocket-Protocol: three\r\n"), NULL },
    };
    struct fixture *f = start_with(NULL);

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int fd = dial(f);
        struct answer a;
        const char *told;

        say(fd, S(UPGRADE("/talk")));
        say(fd, rows[i].line);
        say(fd, S("\r\n"));
        a = hear(fd, false);
        assert_int_equal(a.status, 101);
        told = strstr(a.text, "Sec-WebSocket-Protocol");
        if (rows[i].told ? !told || strncmp(told, rows[i].told, strlen(rows[i].told)) : !!told)
            fail_msg("row %zu: %s", i, a.text);
        answer_free(&a);
        close(fd);
    }
    end(f);
}

static void hostile_frames_end_it_with_a_code(void **state)
{
    static char long_text[1001];
    const struct {
        const char *why;
        unsigned first;
        struct str payload;
        int code;
    } rows[] = {
        { "binary", FIN | 2, S("x"), 1003 },
        { "not UTF-8", FIN | 1, S("\xff"), 1007 },
        { "too long", FIN | 1, { long_text, sizeof(long_text) }, 1009 },
        { "a reserved opcode", FIN | 7, S(""), 1002 },
        { "nothing to continue", FIN | 0, S(""), 1002 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture *f = start_with(NULL);
        int fd = dial_talk(f);

        say_frame(fd, rows[i].first, rows[i].payload);
        say_frame(fd, FIN | 1, S("not looked at"));
        expect_close(fd, rows[i].code);
        expect_end(fd);
        expect_gone(f, rows[i].code);
        end(f);
    }
}

static void we_may_end_it_too(void **state)
{
    struct fixture *f = start_with(NULL);
    int fd = dial_talk(f);

    (void)state;
    say_frame(fd, FIN | 1, S("bye")); /* the handler then tries to send more */
    expect_close(fd, 4321);
    expect_end(fd);
    expect_gone(f, 4321);
    end(f);
}

static void who_leaves_without_a_word_is_told_of(void **state)
{
    struct fixture *f = start_with(NULL);
    int fd = dial_talk(f);

    (void)state;
    wait_for(f, &talk_of(f)->opened, 1);
    close(fd);
    expect_gone(f, 1006);
    end(f);
}

static void a_slow_peer_is_sent_so_much_and_no_more(void **state)
{
    struct fixture *f = start_with(NULL);
    struct talk *k = talk_of(f);
    int fd = dial_talk(f);
    int sent, heard = 0, pongs = 0;
    struct heard *h;

    (void)state;
    say_frame(fd, FIN | 1, S("stuff"));
    for (int i = 0; i < 2000; i++) /* answered once, when he takes it */
        say_frame(fd, FIN | 9, S("ping"));
    wait_for(f, &k->stuffed, 1); /* and only then he reads */
    while ((h = hear_frame(fd))->first != (FIN | 10))
        heard++;
    pongs++;
    wait_for(f, &k->drained, 1);
    sent = k->sent;
    assert_int_equal(heard, sent); /* "." found no room */
    /* what the two kernels hold, one message over our limit */
    assert_true((size_t)sent * 100 * 1024 < LIMIT_WEBSOCKET_QUEUED + 12 * 1024 * 1024);
    say_frame(fd, FIN | 1, S("again"));
    while ((h = hear_frame(fd))->first == (FIN | 10))
        pongs++;
    assert_string_equal(h->text, "again");
    assert_true(pongs <= 2000);
    close(fd);
    end(f);
}

static void be_impatient(struct server_options *o)
{
    o->websocket_ms = 60;
}

static void a_silent_peer_is_asked_and_then_given_up(void **state)
{
    struct fixture *f = start_with(be_impatient);
    int fd = dial_talk(f);

    (void)state;
    expect_frame(fd, FIN | 9, "");
    say_frame(fd, FIN | 10, S("")); /* alive after all */
    expect_frame(fd, FIN | 9, "");
    expect_end(fd);
    expect_gone(f, 1006);
    end(f);
}

static void a_stopping_server_says_so(void **state)
{
    struct fixture *f = start_with(NULL);
    struct talk *k = talk_of(f);
    struct nudge nudge = { { .run = accept_now }, k };
    int fd = dial_talk(f), late = dial(f);
    struct answer a;

    (void)state;
    say(late, S(UPGRADE("/later") "\r\n"));
    wait_for(f, &f->holds, 1);
    server_stop(f->server);
    expect_close(fd, 1001);
    expect_end(fd);
    expect_gone(f, 1001);
    executor_post(server_executor(f->server), &nudge.task);
    a = hear(late, true);
    assert_int_equal(a.status, 503);
    answer_free(&a);
    close(late);
    end(f);
}

/* --- the same over TLS --- */

static void make_certificate(const char *cert, const char *key_file)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    FILE *k = fopen(key_file, "w"), *c = fopen(cert, "w");

    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_sign(x, key, EVP_sha256());
    assert_int_equal(PEM_write_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(PEM_write_X509(c, x), 1);
    fclose(k);
    fclose(c);
    X509_free(x);
    EVP_PKEY_free(key);
}

static char cert_file[64], key_file[64];

static void with_tls(struct server_options *o)
{
    o->tls_cert = cert_file;
    o->tls_key = key_file;
}

static void read_tls(SSL *ssl, char *text, size_t n)
{
    for (size_t got = 0; got < n;) {
        size_t k = 0;

        if (SSL_read_ex(ssl, text + got, n - got, &k) != 1)
            fail_msg("TLS ended at %zu of %zu", got, n);
        got += k;
    }
    text[n] = '\0';
}

static void talk_over_tls(SSL *ssl)
{
    char text[4096] = "";
    struct buf b;
    size_t n;

    buf_init(&b, 1 << 20);
    buf_add(&b, S(UPGRADE("/talk") "\r\n"));
    add_masked(&b, FIN | 1, S("sealed"));
    add_masked(&b, FIN | 8, S("\x03\xe8"));
    assert_int_equal(SSL_write_ex(ssl, b.p, b.n, &n), 1);
    buf_release(&b);
    for (n = 0; !strstr(text, "\r\n\r\n"); n++)
        read_tls(ssl, text + n, 1);
    assert_non_null(strstr(text, "HTTP/1.1 101 "));
    read_tls(ssl, text, 2 + 6 + 2 + 1 + 2 + 2);
    assert_memory_equal(text, "\x81\x06sealed\x81\x01.\x88\x02\x03\xe8", 15);
}

static void it_works_over_tls(void **state)
{
    char dir[] = "/tmp/ichido-ws-XXXXXX";
    struct fixture *f;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(cert_file, sizeof(cert_file), "%s/cert.pem", dir);
    snprintf(key_file, sizeof(key_file), "%s/key.pem", dir);
    make_certificate(cert_file, key_file);
    f = start_with(with_tls);
    fd = dial(f);
    SSL_set_fd(ssl, fd);
    assert_int_equal(SSL_connect(ssl), 1);
    talk_over_tls(ssl);
    SSL_free(ssl);
    close(fd);
    expect_gone(f, 1000);
    end(f);
    SSL_CTX_free(context);
    unlink(cert_file);
    unlink(key_file);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_become_messages),
        cmocka_unit_test(lengths_are_judged_before_their_bytes_come),
        cmocka_unit_test(every_length_is_written_in_its_shortest_form),
        cmocka_unit_test(a_request_becomes_a_conversation),
        cmocka_unit_test(bytes_behind_the_request_are_frames),
        cmocka_unit_test(who_has_gone_before_is_never_told_of),
        cmocka_unit_test(a_handshake_in_another_form_is_refused),
        cmocka_unit_test(a_protocol_is_told_where_both_know_it),
        cmocka_unit_test(hostile_frames_end_it_with_a_code),
        cmocka_unit_test(we_may_end_it_too),
        cmocka_unit_test(who_leaves_without_a_word_is_told_of),
        cmocka_unit_test(a_slow_peer_is_sent_so_much_and_no_more),
        cmocka_unit_test(a_silent_peer_is_asked_and_then_given_up),
        cmocka_unit_test(a_stopping_server_says_so),
        cmocka_unit_test(it_works_over_tls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
