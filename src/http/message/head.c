/* head.c - a state machine over the bytes of a head, fed in any split. */
#include "http/message/head.h"

#include "base/limits.h"

void head_scan_init(struct head_scan *s)
{
    *s = (struct head_scan){ .state = HEAD_START };
}

void head_scan_init_trailers(struct head_scan *s)
{
    *s = (struct head_scan){ .state = HEAD_START, .in_headers = true, .lines = 1 };
}

static enum err head_fault(enum err e, const char *why, const char **ret_why)
{
    *ret_why = why;
    return e;
}

/* A byte that may stand in a line: visible, blank, tab, or beyond ASCII. */
static bool is_text(unsigned char c)
{
    return (c >= 0x20 && c != 0x7f) || c == '\t';
}

static enum err in_line(struct head_scan *s, unsigned char c, const char **ret_why)
{
    if (c == '\r') {
        s->state = HEAD_CR;
        return OK;
    }
    if (c == '\n')
        return head_fault(ERR_VALIDATION, "A line of the head ends without a carriage return.",
                          ret_why);
    return is_text(c) ? OK : head_fault(ERR_VALIDATION, "The head has a control byte.", ret_why);
}

static enum err at_line_start(struct head_scan *s, unsigned char c, const char **ret_why)
{
    if (c == '\r') {
        s->state = HEAD_LAST_CR;
        return OK;
    }
    if (c == ' ' || c == '\t')
        return head_fault(ERR_VALIDATION, "A line of the head begins with a blank.", ret_why);
    if (++s->lines > LIMIT_HEADER_COUNT + 1)
        return head_fault(ERR_HEADERS_TOO_LARGE, NULL, ret_why);
    if (!s->in_headers)
        s->line_start = s->bytes;
    s->state = HEAD_LINE;
    return in_line(s, c, ret_why);
}

static void line_ended(struct head_scan *s)
{
    if (!s->in_headers)
        s->line_end = s->bytes - 1;
    s->in_headers = true;
    s->state = HEAD_START;
}

static enum err head_step(struct head_scan *s, unsigned char c, const char **ret_why)
{
    switch (s->state) {
    case HEAD_START: return at_line_start(s, c, ret_why);
    case HEAD_LINE: return in_line(s, c, ret_why);
    case HEAD_CR:
    case HEAD_LAST_CR:
        if (c != '\n')
            return head_fault(ERR_VALIDATION, "A carriage return stands alone.", ret_why);
        if (s->state == HEAD_CR)
            line_ended(s);
        else /* an empty line before the request line means nothing */
            s->state = s->in_headers ? HEAD_DONE : HEAD_START;
        return OK;
    case HEAD_DONE: break;
    }
    return ERR_INTERNAL;
}

static enum err over_limit(const struct head_scan *s)
{
    if (!s->in_headers)
        return s->bytes > LIMIT_REQUEST_LINE ? ERR_URI_TOO_LONG : OK;
    return s->bytes - s->line_end > LIMIT_HEADERS ? ERR_HEADERS_TOO_LARGE : OK;
}

enum err head_scan(struct head_scan *s, struct str bytes, size_t *ret_used, const char **ret_why)
{
    size_t i = 0;
    enum err e = OK;

    while (i < bytes.n && s->state != HEAD_DONE && !e) {
        e = head_step(s, (unsigned char)bytes.p[i++], ret_why);
        s->bytes++;
        if (!e)
            e = over_limit(s);
    }
    *ret_used = i;
    return e;
}
