/* message.c - a message's address, its ids on the wire, the text of its job. */
#include "qstash/message.h"

#include "base/hex.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const state_words[QSTASH_STATES] = {
    [QSTASH_CREATED] = "CREATED",
    [QSTASH_ACTIVE] = "ACTIVE",
    [QSTASH_RETRY] = "RETRY",
    [QSTASH_ERROR] = "ERROR",
    [QSTASH_DELIVERED] = "DELIVERED",
    [QSTASH_FAILED] = "FAILED",
    [QSTASH_CANCEL_REQUESTED] = "CANCEL_REQUESTED",
    [QSTASH_CANCELED] = "CANCELED",
};

const char *qstash_state_word(enum qstash_state s)
{
    return (unsigned)s < QSTASH_STATES ? state_words[s] : NULL;
}

static struct str until_any(struct str s, const char *stops)
{
    for (size_t i = 0; i < s.n; i++)
        if (strchr(stops, s.p[i]))
            return (struct str){ s.p, i };
    return s;
}

static struct str str_behind(struct str s, size_t n)
{
    return (struct str){ s.p + n, s.n - n };
}

static bool is_scheme(struct str url, struct str scheme)
{
    return url.n > scheme.n && str_eq_nocase((struct str){ url.p, scheme.n }, scheme);
}

bool parcel_set_url(struct parcel *p, struct str url)
{
    size_t scheme = is_scheme(url, S("https://")) ? 8 : is_scheme(url, S("http://")) ? 7 : 0;
    struct str rest = str_behind(url, scheme);

    if (!scheme)
        return false;
    p->url = url;
    p->host = until_any(rest, "/?#");
    rest = str_behind(rest, p->host.n);
    p->path = until_any(rest, "?#");
    for (size_t at = p->host.n; at-- > 0;)
        if (p->host.p[at] == '@') { /* user and password are not part of the host */
            p->host = str_behind(p->host, at + 1);
            break;
        }
    return p->host.n > 0 && p->host.p[0] != ':';
}

/* --- ids --- */

void message_id_text(struct uuid id, char text[MESSAGE_ID_TEXT + 1])
{
    memcpy(text, "msg_", 4);
    *hex_put(text + 4, id.b, sizeof(id.b)) = '\0';
}

bool message_id_parse(struct str text, struct uuid *ret_id)
{
    if (text.n != MESSAGE_ID_TEXT || !str_starts(text, S("msg_")))
        return false;
    for (size_t i = 0; i < sizeof(ret_id->b); i++) {
        int high = hex_value_lower(text.p[4 + 2 * i]), low = hex_value_lower(text.p[5 + 2 * i]);

        if (high < 0 || low < 0)
            return false;
        ret_id->b[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* --- the text of a job: "p 120 example.com:80" --- */

bool job_text_read(struct str body, struct job_text *ret_text)
{
    struct str gated = str_cut(&body, ' '), bytes = str_cut(&body, ' ');

    ret_text->gated = str_eq(gated, S("g"));
    ret_text->host = body;
    return (ret_text->gated || str_eq(gated, S("p"))) && str_to_i64(bytes, &ret_text->bytes) &&
           body.n > 0;
}
