#include "base/url_mask.h"

#include <string.h>

static struct str url_mask_behind(struct str s, const char *from)
{
    return (struct str){ from, s.n - (size_t)(from - s.p) };
}

/* The length up to the first of these characters; s.n where there is none. */
static size_t url_mask_upto(struct str s, const char *these)
{
    size_t i = 0;

    while (i < s.n && !strchr(these, s.p[i]))
        i++;
    return i;
}

/* "user:password" */
static void add_user(struct buf *out, struct str who)
{
    size_t n = url_mask_upto(who, ":");

    if (n < who.n && url_mask_upto((struct str){ who.p, n }, "/?#@") == n)
        buf_add(out, (struct str){ who.p, n + 1 });
    buf_add(out, S("***@"));
}

static void add_place(struct buf *out, struct str place, bool bare)
{
    size_t shown = url_mask_upto(place, bare ? "/?#" : "?#");

    buf_add(out, (struct str){ place.p, shown });
    if (shown == place.n)
        return;
    buf_char(out, place.p[shown]);
    if (shown + 1 < place.n)
        buf_add(out, S("***"));
}

void url_mask(struct buf *out, struct str url, bool bare)
{
    const char *scheme = url.n ? memmem(url.p, url.n, "://", 3) : NULL, *at;
    struct str rest;

    if (!scheme) {
        buf_add(out, url);
        return;
    }
    rest = url_mask_behind(url, scheme + 3);
    buf_add(out, (struct str){ url.p, (size_t)(rest.p - url.p) });
    at = rest.n ? memrchr(rest.p, '@', rest.n) : NULL;
    if (at) {
        add_user(out, (struct str){ rest.p, (size_t)(at - rest.p) });
        rest = url_mask_behind(rest, at + 1);
    }
    add_place(out, rest, bare);
}
