/* smtp.c - the SMTP dialogue of one mail as a state machine, drawn in smtp.h. Of the server's replies
 * only codes and the presence of certain words are kept, since their text has addresses. */
#include "http/client/smtp.h"

#include "base/limits.h"
#include "base/settings/address.h"

#include <stdio.h>
#include <string.h>

/* --- addresses --- */

static bool needs_quotes(struct str local)
{
    for (size_t i = 1; i < local.n; i++)
        if (local.p[i] == '.' && local.p[i - 1] == '.')
            return true;
    return local.p[0] == '.' || local.p[local.n - 1] == '.';
}

bool smtp_write_address(struct buf *b, struct str address)
{
    struct str domain = address, local = str_cut(&domain, '@');
    bool quoted;

    if (!address_is_mail(address))
        return false;
    quoted = needs_quotes(local);
    if (quoted)
        buf_char(b, '"');
    buf_add(b, local);
    if (quoted)
        buf_char(b, '"');
    buf_char(b, '@');
    buf_add(b, domain);
    return !b->failed;
}

/* --- our side --- */

static void smtp_say(struct smtp *s, enum smtp_stage stage, struct str command)
{
    s->stage = stage;
    buf_clear(&s->out);
    s->gone = 0;
    buf_add(&s->out, command);
}

static void give_path(struct smtp *s, struct str address)
{
    if (!smtp_write_address(&s->out, address))
        s->out.failed = true;
    buf_add(&s->out, S(">\r\n"));
}

static void smtp_over(struct smtp *s, bool is_broken)
{
    s->reached = s->stage;
    s->stage = SMTP_OVER;
    s->is_broken = is_broken;
    buf_clear(&s->out);
    s->gone = 0;
}

/* Every line ends in CRLF, whatever it ended in before, since two servers must not disagree on where
 * the mail ends ("\n.\n" and the like). A dot at its start is doubled. */
static void add_line(struct buf *b, struct str line)
{
    if (line.n && line.p[0] == '.')
        buf_char(b, '.');
    buf_add(b, line);
    buf_add(b, S("\r\n"));
}

static struct str next_line(struct str *text)
{
    struct str line = { text->p, 0 };
    size_t end;

    while (line.n < text->n && line.p[line.n] != '\r' && line.p[line.n] != '\n')
        line.n++;
    end = line.n < text->n ? line.n + 1 : line.n;
    if (end < text->n && line.p[line.n] == '\r' && line.p[end] == '\n')
        end++;
    text->p += end;
    text->n -= end;
    return line;
}

static void say_text(struct smtp *s)
{
    struct str left = s->body;

    smtp_say(s, SMTP_TEXT, (struct str){ 0 });
    while (left.n)
        add_line(&s->out, next_line(&left));
    if (s->out.failed)
        smtp_over(s, true);
}

bool smtp_init(struct smtp *s, struct str from, struct str to, struct str body)
{
    *s = (struct smtp){ .to = to, .body = body };
    buf_init(&s->out, 2 * LIMIT_MAIL + LIMIT_MAIL_ADDRESS);
    if (!smtp_write_address(&s->out, to) || body.n > LIMIT_MAIL) /* better now than half-way */
        return false;
    smtp_say(s, SMTP_MAIL, S("MAIL FROM:<"));
    give_path(s, from);
    return !s->out.failed;
}

void smtp_release(struct smtp *s)
{
    buf_release(&s->out);
}

struct str smtp_out(const struct smtp *s)
{
    struct str all = buf_str(&s->out);

    return (struct str){ all.p + s->gone, all.n - s->gone };
}

void smtp_sent(struct smtp *s, size_t n)
{
    s->gone += n;
    if (s->stage == SMTP_TEXT && s->gone == s->out.n) {
        smtp_say(s, SMTP_END, S(".\r\n"));
        s->may_be_taken = !s->out.failed;
        if (s->out.failed)
            smtp_over(s, true);
    }
}

/* --- the server's side --- */

static void smtp_continue(struct smtp *s)
{
    if (s->stage == SMTP_MAIL && s->code / 100 == 2) {
        smtp_say(s, SMTP_RCPT, S("RCPT TO:<"));
        give_path(s, s->to);
    } else if (s->stage == SMTP_RCPT && s->code / 100 == 2) {
        smtp_say(s, SMTP_DATA, S("DATA\r\n"));
    } else if (s->stage == SMTP_DATA && s->code == 354) {
        say_text(s);
    } else {
        smtp_over(s, s->stage != SMTP_END || s->code / 100 != 2);
    }
    if (s->out.failed)
        smtp_over(s, true);
}

/* A positive reply to a command that was not sent completely is not accepted. */
static void smtp_apply_reply(struct smtp *s)
{
    if (s->code / 100 == 4 || s->code / 100 == 5)
        smtp_over(s, false);
    else if (smtp_out(s).n)
        smtp_over(s, true);
    else
        smtp_continue(s);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits_at(const char *text)
{
    size_t n = 0;

    while (is_digit(text[n]))
        n++;
    return n;
}

/* "5.1.1 Unknown user" -> "5.1.1". */
static void keep_enhanced(struct smtp *s, const char *text)
{
    size_t subject = text[0] == s->line[0] && text[1] == '.' ? digits_at(text + 2) : 0;
    size_t detail = subject && text[2 + subject] == '.' ? digits_at(text + 3 + subject) : 0;

    s->enhanced[0] = '\0';
    if (subject && subject <= 3 && detail && detail <= 3)
        snprintf(s->enhanced, sizeof(s->enhanced), "%.*s", (int)(3 + subject + detail), text);
}

static void smtp_read_line(struct smtp *s)
{
    char *l = s->line;

    l[s->line_n < sizeof(s->line) ? s->line_n : sizeof(s->line) - 1] = '\0';
    if (l[0] < '2' || l[0] > '5' || !is_digit(l[1]) || !is_digit(l[2]) ||
        (l[3] && l[3] != ' ' && l[3] != '-')) {
        smtp_over(s, true);
        return;
    }
    s->line_n = 0;
    if (l[3] == '-')
        return;
    s->code = (l[0] - '0') * 100 + (l[1] - '0') * 10 + (l[2] - '0');
    keep_enhanced(s, l[3] ? l + 4 : "");
    s->reply_n = 0;
    smtp_apply_reply(s);
}

/* --- words of a reply: only their presence is kept --- */

static void smtp_end_word(struct smtp *s)
{
    struct str word = { s->word, s->word_n < sizeof(s->word) ? s->word_n : 0 };

    if (word.n && word.p[word.n - 1] == '.')
        word.n--;
    if (str_eq(word, S("relay")) || str_eq(word, S("relaying")))
        s->speaks_of_relaying = true;
    s->word_n = 0;
}

/* A word ends at a blank or a punctuation mark. Dots and @ are part of it, so addresses and hosts are
 * not split into words. */
static void smtp_read_letter(struct smtp *s, char c)
{
    if (s->reply_n == 1)
        s->speaks_of_relaying = false;
    if (strchr(" \t\r\n,;:!()", c) || s->line_n < 4) { /* 4: behind the code */
        smtp_end_word(s);
    } else {
        if (s->word_n < sizeof(s->word))
            s->word[s->word_n] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        s->word_n++;
    }
}

static void smtp_read_byte(struct smtp *s, char c)
{
    s->reply_n++;
    smtp_read_letter(s, c);
    if (s->reply_n > LIMIT_MAIL_REPLY) {
        smtp_over(s, true);
    } else if (c == '\n') {
        smtp_read_line(s);
    } else if (c != '\r') {
        if (s->line_n < sizeof(s->line))
            s->line[s->line_n] = c;
        s->line_n++;
    }
}

void smtp_heard(struct smtp *s, struct str bytes)
{
    for (size_t i = 0; i < bytes.n && s->stage != SMTP_OVER; i++)
        smtp_read_byte(s, bytes.p[i]);
}

bool smtp_has_verdict(const struct smtp *s)
{
    return s->stage == SMTP_OVER && !s->is_broken;
}

static bool refuses_the_login(int code)
{
    return code == 530 || code == 534 || code == 535 || code == 538;
}

bool smtp_refuses_us(const struct smtp *s)
{
    struct str enhanced = str_of(s->enhanced);
    bool says_no_more = !enhanced.n && (s->code == 550 || s->code == 554);

    if (!smtp_has_verdict(s) || s->code / 100 != 5)
        return false;
    if (s->reached == SMTP_MAIL || refuses_the_login(s->code) || str_starts(enhanced, S("5.7.")))
        return true;
    if (s->reached == SMTP_RCPT)
        return says_no_more && s->speaks_of_relaying;
    return says_no_more || str_eq(enhanced, S("5.2.252"));
}

void smtp_words(const struct smtp *s, char *words, size_t size)
{
    static const char *const to_what[] = {
        [SMTP_MAIL] = "the sender", [SMTP_RCPT] = "the recipient", [SMTP_DATA] = "a mail",
        [SMTP_TEXT] = "the mail",   [SMTP_END] = "the mail",       [SMTP_OVER] = "",
    };

    snprintf(words, size, "%d%s%s to %s", s->code, s->enhanced[0] ? " " : "", s->enhanced,
             to_what[s->reached]);
}
