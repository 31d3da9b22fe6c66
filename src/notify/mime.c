#include "notify/mime.h"

#include "base/limits.h"
#include "base/time/civil.h"
#include "http/client/smtp.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum {
    WORD_MAX = 75, /* RFC 2047: an encoded word; its line is one longer */
    WORD_FRAME = sizeof("=?UTF-8?B?") - 1 + 2,
    LINE_BYTES = 57, /* 76 columns of base64 */
};

/* --- base64 --- */

static void add_base64(struct buf *b, struct str s)
{
    unsigned char text[4 * ((LINE_BYTES + 2) / 3) + 1];
    int n = EVP_EncodeBlock(text, (const unsigned char *)s.p, (int)s.n);

    buf_add(b, (struct str){ (const char *)text, (size_t)n });
}

static void add_base64_lines(struct buf *b, struct str s)
{
    while (s.n) {
        size_t n = s.n < LINE_BYTES ? s.n : LINE_BYTES;

        add_base64(b, (struct str){ s.p, n });
        buf_add(b, S("\r\n"));
        s.p += n;
        s.n -= n;
    }
}

/* --- the subject --- */

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* What fits into `columns` of base64, and no half character. */
static struct str cut_word(struct str *s, size_t columns)
{
    size_t most = columns / 4 * 3, n = s->n < most ? s->n : most;
    struct str word;

    while (n < s->n && is_continuation(s->p[n]))
        n--;
    word = (struct str){ s->p, n };
    s->p += n;
    s->n -= n;
    return word;
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return s.n > 0 && s.p[0] != ' ' && s.p[s.n - 1] != ' ' && !memmem(s.p, s.n, "=?", 2);
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

static char mime_visible(char c)
{
    if (is_control(c))
        return ' ';
    return c;
}

/* Somebody named his collection with a tab in it; his people are told all the same. */
static struct str without_control(struct str s, char clean[LIMIT_MAIL_TITLE])
{
    for (size_t i = 0; i < s.n; i++)
        clean[i] = mime_visible(s.p[i]);
    return (struct str){ clean, s.n };
}

static void add_subject(struct buf *b, struct str words)
{
    char clean[LIMIT_MAIL_TITLE];
    struct str title = without_control(words, clean);
    size_t used = sizeof("Subject: ") - 1;

    buf_add(b, S("Subject: "));
    if (used + title.n <= WORD_MAX + 1 && is_plain(title)) {
        buf_add(b, title);
        title.n = 0;
    }
    while (title.n) {
        buf_add(b, S("=?UTF-8?B?"));
        add_base64(b, cut_word(&title, WORD_MAX + 1 - used - WORD_FRAME));
        buf_add(b, title.n ? S("?=\r\n ") : S("?="));
        used = 1;
    }
    buf_add(b, S("\r\n"));
}

/* --- the other headers --- */

static void add_address(struct buf *b, struct str name, struct str address)
{
    buf_add(b, name);
    smtp_write_address(b, address);
    buf_add(b, S("\r\n"));
}

static void add_date(struct buf *b, int64_t ms)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t s = floor_div(ms, 1000), day = floor_div(s, DAY_S);
    int at = (int)floor_mod(s, DAY_S);
    struct civil c = civil_of(day);

    buf_fmt(b, "Date: %.3s, %02d %.3s %lld %02d:%02d:%02d +0000\r\n", days + 3 * civil_weekday(day),
            c.day, months + 3 * (c.month - 1), (long long)c.year, at / 3600, at / 60 % 60, at % 60);
}

static void add_ids(struct buf *b, const struct letter *l)
{
    struct str domain = l->from;
    char send[UUID_TEXT + 1], notification[UUID_TEXT + 1];

    str_cut(&domain, '@');
    uuid_text(l->send, send);
    uuid_text(l->notification, notification);
    buf_fmt(b, "Message-ID: <%s@" STR_FMT ">\r\n", send, STR_ARG(domain));
    buf_fmt(b, "X-Ichido-Notification: %s\r\n", notification);
}

static void add_headers(struct buf *b, const struct letter *l)
{
    add_date(b, l->now_ms);
    add_address(b, S("From: "), l->from);
    add_address(b, S("To: "), l->to);
    add_subject(b, l->title);
    add_ids(b, l);
    buf_add(b, S("Auto-Submitted: auto-generated\r\n"
                 "MIME-Version: 1.0\r\n"
                 "Content-Type: text/plain; charset=UTF-8\r\n"
                 "Content-Transfer-Encoding: base64\r\n"));
    buf_add(b, l->is_japanese ? S("Content-Language: ja\r\n") : S("Content-Language: en\r\n"));
}

/* --- the text --- */

/* Every kind of line end becomes CRLF, and other control characters blanks. */
static void add_text(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\n' || (s.p[i] == '\r' && (i + 1 == s.n || s.p[i + 1] != '\n')))
            buf_add(b, S("\r\n"));
        else if (s.p[i] != '\r')
            buf_char(b, mime_visible(s.p[i]));
    }
}

/* Only what a reader's program will take for a link, and nothing else. */
static bool is_link(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' || strchr("<>\"", s.p[i]))
            return false;
    return s.n <= LIMIT_MAIL_LINK && (str_starts(s, S("https://")) || str_starts(s, S("http://")));
}

static void add_link(struct buf *b, struct str label, struct str link)
{
    if (!is_link(link))
        return;
    buf_add(b, S("\r\n"));
    buf_add(b, label);
    buf_add(b, S("\r\n"));
    buf_add(b, link);
    buf_add(b, S("\r\n"));
}

static void add_body(struct buf *b, const struct letter *l)
{
    bool ja = l->is_japanese;

    add_text(b, l->body);
    buf_add(b, S("\r\n"));
    add_link(b, ja ? S("お支払いはこちら:") : S("Pay here:"), l->pay);
    add_link(b, ja ? S("領収書:") : S("Your receipt:"), l->receipt);
    buf_add(b, S("\r\n-- \r\nこのメールは自動で送信されています。\r\n"
                 "This mail was sent automatically.\r\n"));
}

static void add_encoded(struct buf *b, const struct letter *l)
{
    struct buf text;

    buf_init(&text, LIMIT_MAIL);
    add_body(&text, l);
    if (text.failed)
        b->failed = true;
    else
        add_base64_lines(b, buf_str(&text));
    buf_release(&text);
}

/* --- all of it --- */

static bool is_address(struct str s)
{
    struct buf b;
    bool is;

    buf_init(&b, 2 * LIMIT_MAIL_ADDRESS);
    is = smtp_write_address(&b, s);
    buf_release(&b);
    return is;
}

static const char *mime_judge(const struct letter *l)
{
    if (!is_address(l->from))
        return "the sender's address cannot stand in a mail";
    if (!is_address(l->to))
        return "the address cannot stand in a mail: ASCII only, an international domain as xn--";
    if (!str_is_utf8(l->title) || !str_is_utf8(l->body))
        return "its words are not UTF-8";
    return l->body.n > LIMIT_MAIL_TEXT || l->title.n > LIMIT_MAIL_TITLE
               ? "it is too long for a mail"
               : NULL;
}

bool mime_write(struct buf *b, const struct letter *l, const char **ret_why)
{
    *ret_why = mime_judge(l);
    if (*ret_why)
        return false;
    add_headers(b, l);
    buf_add(b, S("\r\n"));
    add_encoded(b, l);
    if (b->failed)
        *ret_why = "it needs more memory than there is";
    return !b->failed;
}
