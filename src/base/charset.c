#include "base/charset.h"

#include <errno.h>
#include <iconv.h>

bool charset_parse(struct str name, enum charset *ret_charset)
{
    static const struct {
        const char *name;
        enum charset charset;
    } names[] = {
        { "utf-8", CHARSET_UTF8 },          { "utf8", CHARSET_UTF8 },
        { "shift_jis", CHARSET_SHIFT_JIS }, { "shift-jis", CHARSET_SHIFT_JIS },
        { "sjis", CHARSET_SHIFT_JIS },      { "cp932", CHARSET_SHIFT_JIS },
        { "ms932", CHARSET_SHIFT_JIS },     { "windows-31j", CHARSET_SHIFT_JIS },
    };

    for (size_t i = 0; i < COUNT(names); i++)
        if (str_eq_nocase(name, str_of(names[i].name))) {
            *ret_charset = names[i].charset;
            return true;
        }
    return false;
}

static int line_at(struct str text, size_t at)
{
    int line = 1;

    for (size_t i = 0; i < at && i < text.n; i++)
        line += text.p[i] == '\n';
    return line;
}

/* The first line that is not UTF-8. */
static int broken_line(struct str text)
{
    struct str rest = text;
    int line = 0;

    do {
        struct str one = str_cut(&rest, '\n');

        line++;
        if (!str_is_utf8(one))
            break;
    } while (rest.n);
    return line;
}

/* A character of CP932 has one or two bytes and becomes at most three bytes of UTF-8. */
static enum err charset_convert(struct arena *a, iconv_t with, struct str text,
                                struct str *ret_text, int *ret_line)
{
    size_t room = text.n * 3 + 1, left = room, from_left = text.n;
    char *out = arena_alloc(a, room, 1), *to = out, *from = (char *)text.p;

    if (!out)
        return ERR_NO_MEMORY;
    if (iconv(with, &from, &from_left, &to, &left) == (size_t)-1) {
        *ret_line = line_at(text, text.n - from_left);
        return errno == E2BIG ? ERR_INTERNAL : ERR_VALIDATION;
    }
    *ret_text = (struct str){ out, room - left };
    return OK;
}

static enum err from_shift_jis(struct arena *a, struct str text, struct str *ret_text,
                               int *ret_line)
{
    iconv_t with = iconv_open("UTF-8", "CP932");
    enum err e;

    if (with == (iconv_t)-1) /* NOLINT(performance-no-int-to-ptr): iconv_open() failed */
        return ERR_UNAVAILABLE;
    e = charset_convert(a, with, text, ret_text, ret_line);
    iconv_close(with);
    return e;
}

enum err charset_decode(struct arena *a, enum charset charset, struct str text,
                        struct str *ret_text, int *ret_line)
{
    bool utf8 = charset != CHARSET_SHIFT_JIS && str_is_utf8(text);

    *ret_line = 0;
    if (utf8) {
        *ret_text = text;
        return OK;
    }
    if (charset != CHARSET_UTF8)
        return from_shift_jis(a, text, ret_text, ret_line);
    *ret_line = broken_line(text);
    return ERR_VALIDATION;
}
