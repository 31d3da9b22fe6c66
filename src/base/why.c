#include "base/why.h"

#include <stdio.h>

/* The last character of a text that was cut may be there in part: it is taken off. */
static size_t why_whole(const char *text, size_t n)
{
    while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
        n--;
    return n && (unsigned char)text[n - 1] >= 0xc0 ? n - 1 : n;
}

void why_vset(struct why *w, const char *format, va_list args)
{
    if (vsnprintf(w->text, sizeof(w->text), format, args) >= (int)sizeof(w->text))
        w->text[why_whole(w->text, sizeof(w->text) - 1)] = '\0';
}

void why_set(struct why *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    why_vset(w, format, args);
    va_end(args);
}
