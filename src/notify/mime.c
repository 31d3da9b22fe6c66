/* mime.c - writes one mail: Date, From, To, Subject, ids, and the text as base64. See mime.h.
 * Pure. */
#include "notify/mime.h"

#include "base/limits.h"
#include "base/time/civil.h"
#include "http/client/smtp.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum {
    WORD_MAX = 75, /* an encoded word (RFC 2047); its line has one more column */
    WORD_FRAME = sizeof("=?UTF-8?B?") - 1 + 2,
    LINE_BYTES = 57, /* 76 columns of base64 */
};

/* --- base64 --- */

static void mime_add_base64(struct buf *b, struct str s)
{
    unsigned char text[4 * ((LINE_BYTES + 2) / 3) + 1];
    int n = EVP_EncodeBlock(text, (const unsigned char *)s.p, (int)s.n);

    buf_add(b, (struct str){ (const char *)text, (size_t)n });
}

static void mime_add_base64_lines(struct buf *b, struct str s)
{
    while (s.n) {
        size_t n = s.n < LINE_BYTES ? s.n : LINE_BYTES;

        mime_add_base64(b, (struct str){ s.p, n });
        buf_add(b, S("\r\n"));
        s.p += n;
        s.n -= n;
    }
}

/* --- the subject --- */

static bool mime_is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Cuts off what fits into `columns` of base64, in whole characters. */
static struct str mime_cut_word(struct str *s, size_t columns)
{
    size_t most = columns / 4 * 3, n = s->n < most ? s->n : most;
    struct str word;

    while (n < s->n && mime_is_continuation(s->p[n]))
        n--;
    word = (struct str){ s->p, n };
    s->p += n;
    s->n -= n;
    return word;
}

static bool mime_is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return s.n > 0 && s.p[0] != ' ' && s.p[s.n - 1] != ' ' && !memmem(s.p, s.n, "=?", 2);
}

static char mime_visible(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f ? ' ' : c;
}

/* A title may contain a tab or another control character: it becomes a blank. */
static struct str mime_without_control(struct str s, char clean[LIMIT_MAIL_TITLE])
{
    for (size_t i = 0; i < s.n; i++)
        clean[i] = mime_visible(s.p[i]);
    return (struct str){ clean, s.n };
}

static void mime_add_subject(struct buf *b, struct str words)
{
    char clean[LIMIT_MAIL_TITLE];
    struct str title = mime_without_control(words, clean);
    size_t used = sizeof("Subject: ") - 1;

    buf_add(b, S("Subject: "));
    if (used + title.n <= WORD_MAX + 1 && mime_is_plain(title)) {
        buf_add(b, title);
        title.n = 0;
    }
    while (title.n) {
        buf_add(b, S("=?UTF-8?B?"));
        mime_add_base64(b, mime_cut_word(&title, WORD_MAX + 1 - used - WORD_FRAME));
        buf_add(b, title.n ? S("?=\r\n ") : S("?="));
        used = 1;
    }
    buf_add(b, S("\r\n"));
}

/* --- the other headers --- */

static void mime_add_address(struct buf *b, struct str name, struct str address)
{
    buf_add(b, name);
    smtp_write_address(b, address);
    buf_add(b, S("\r\n"));
}

static void mime_add_date(struct buf *b, int64_t ms)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t s = floor_div(ms, 1000), day = floor_div(s, DAY_S);
    int at = (int)floor_mod(s, DAY_S);
    struct civil c = civil_of(day);

    buf_fmt(b, "Date: %.3s, %02d %.3s %lld %02d:%02d:%02d +0000\r\n", days + 3 * civil_weekday(day),
            c.day, months + 3 * (c.month - 1), (long long)c.year, at / 3600, at / 60 % 60, at % 60);
}

static void mime_add_ids(struct buf *b, const struct letter *l)
{
    struct str domain = l->from;
    char send[UUID_TEXT + 1], notification[UUID_TEXT + 1];

    str_cut(&domain, '@');
    uuid_text(l->send, send);
    uuid_text(l->notification, notification);
    buf_fmt(b, "Message-ID: <%s@" STR_FMT ">\r\n", send, STR_ARG(domain));
    buf_fmt(b, "X-Ichido-Notification: %s\r\n", notification);
}

static void mime_add_headers(struct buf *b, const struct letter *l)
{
    mime_add_date(b, l->now_ms);
    mime_add_address(b, S("From: "), l->from);
    mime_add_address(b, S("To: "), l->to);
    mime_add_subject(b, l->title);
    mime_add_ids(b, l);
    buf_add(b, S("Auto-Submitted: auto-generated\r\n"
                 "MIME-Version: 1.0\r\n"
                 "Content-Type: text/plain; charset=UTF-8\r\n"
                 "Content-Transfer-Encoding: base64\r\n"));
    buf_add(b, l->is_japanese ? S("Content-Language: ja\r\n") : S("Content-Language: en\r\n"));
}

/* --- the text --- */

/* Every kind of line end becomes CRLF, other control characters become blanks. */
static void mime_add_text(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\n' || (s.p[i] == '\r' && (i + 1 == s.n || s.p[i + 1] != '\n')))
            buf_add(b, S("\r\n"));
        else if (s.p[i] != '\r')
            buf_char(b, mime_visible(s.p[i]));
    }
}

static bool mime_is_link(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' || strchr("<>\"", s.p[i]))
            return false;
    return s.n <= LIMIT_MAIL_LINK && (str_starts(s, S("https://")) || str_starts(s, S("http://")));
}

static void mime_add_link(struct buf *b, struct str label, struct str link)
{
    if (!mime_is_link(link))
        return;
    buf_add(b, S("\r\n"));
    buf_add(b, label);
    buf_add(b, S("\r\n"));
    buf_add(b, link);
    buf_add(b, S("\r\n"));
}

static void mime_add_body(struct buf *b, const struct letter *l)
{
    bool ja = l->is_japanese;

    mime_add_text(b, l->body);
    buf_add(b, S("\r\n"));
    mime_add_link(b, ja ? S("お支払いはこちら:") : S("Pay here:"), l->pay);
    mime_add_link(b, ja ? S("領収書:") : S("Your receipt:"), l->receipt);
    buf_add(b, S("\r\n-- \r\nこのメールは自動で送信されています。\r\n"
                 "This mail was sent automatically.\r\n"));
}

static void mime_add_encoded(struct buf *b, const struct letter *l)
{
    struct buf text;

    buf_init(&text, LIMIT_MAIL);
    mime_add_body(&text, l);
    if (text.failed)
        b->failed = true;
    else
        mime_add_base64_lines(b, buf_str(&text));
    buf_release(&text);
}

/* --- all of it --- */

static bool mime_is_address(struct str s)
{
    struct buf b;
    bool is;

    buf_init(&b, 2 * LIMIT_MAIL_ADDRESS);
    is = smtp_write_address(&b, s);
    buf_release(&b);
    return is;
}

static const char *mime_problem(const struct letter *l)
{
    if (!mime_is_address(l->from))
        return "the sender's address cannot stand in a mail";
    if (!mime_is_address(l->to))
        return "the address cannot stand in a mail: ASCII only, an international domain as xn--";
    if (!str_is_utf8(l->title) || !str_is_utf8(l->body))
        return "its words are not UTF-8";
    return l->body.n > LIMIT_MAIL_TEXT || l->title.n > LIMIT_MAIL_TITLE
               ? "it is too long for a mail"
               : NULL;
}

bool mime_write(struct buf *b, const struct letter *l, const char **ret_why)
{
    *ret_why = mime_problem(l);
    if (*ret_why)
        return false;
    mime_add_headers(b, l);
    buf_add(b, S("\r\n"));
    mime_add_encoded(b, l);
    if (b->failed)
        *ret_why = "it needs more memory than there is";
    return !b->failed;
}
