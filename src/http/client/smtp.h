/* smtp.h - the dialogue for one mail after the login (RFC 5321), without sockets and time: it takes
 * the server's replies, and gives the bytes to send.
 *
 *   MAIL --2xx--> RCPT --2xx--> DATA --354--> TEXT --all sent--> END --any reply--> OVER
 *
 * Any 4xx or 5xx ends it: the mail is refused. Before END the server cannot have accepted the mail,
 * since the last dot was not sent. From then on only its answer decides. */
#pragma once

#include "base/buf.h"

enum smtp_stage { SMTP_MAIL, SMTP_RCPT, SMTP_DATA, SMTP_TEXT, SMTP_END, SMTP_OVER };

struct smtp {
    enum smtp_stage stage, reached; /* reached: where it stood when it was over */
    struct str to, body;            /* borrowed */
    struct buf out;
    size_t gone; /* bytes of out that were sent */

    char
        line[16]; /* the start of the server's line; the rest of it is not kept: it has addresses */
    size_t line_n, reply_n;
    char word[12]; /* of that rest: the one it stands at, in small letters */
    size_t word_n;
    bool speaks_of_relaying; /* a word of the last reply did */

    bool may_be_taken; /* the last dot is on its way */
    bool is_broken;    /* this is no SMTP, or memory ran out */
    int code;          /* of the last reply */
    char enhanced[12]; /* "5.1.1" (RFC 3463); "": none */
};

/* All strings must live until it is released. False: an address that cannot be written, or no
 * memory. */
bool smtp_init(struct smtp *s, struct str from, struct str to, struct str body);
void smtp_release(struct smtp *s);

struct str smtp_out(const struct smtp *s); /* to be sent now; empty: it is the server's turn */
void smtp_sent(struct smtp *s, size_t n);
void smtp_heard(struct smtp *s, struct str bytes);

/* It is over and the server has decided: accepted (2xx) or refused (4xx, 5xx). */
bool smtp_has_verdict(const struct smtp *s);
/* A refusal that is about us (who we are, how we log in, for whom it relays), not about the mail or
 * its reader: RFC 4954's codes, any 5xx to MAIL, 5.7.x (RFC 3463: not authorized) to all behind it.
 * Many relays judge a sender only by the whole mail, and not all in such codes: from DATA on also
 * 550 and 554 without one, and Microsoft's 5.2.252; to RCPT where these two speak of relaying. */
bool smtp_refuses_us(const struct smtp *s);
/* "550 5.1.1 to the recipient": nothing of the reply's own words. */
void smtp_words(const struct smtp *s, char *words, size_t size);

/* Writes a bare address as it stands between < and >. A local part with dots where RFC 5321 has
 * none (old addresses of Japanese carriers: "taro.@", "a..b@") is quoted. False, and nothing
 * written: not an address in ASCII that can stand in a mail. */
bool smtp_write_address(struct buf *b, struct str address);
