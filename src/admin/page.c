#include "admin/page.h"

static const struct page_file *admin_page_find(struct str path)
{
    for (const struct page_file *f = page_files; f->path; f++)
        if (str_eq(path, str_of(f->path)))
            return f;
    return NULL;
}

static struct str path_below(struct str path)
{
    struct str prefix = S("/admin");

    path.p += prefix.n;
    path.n -= prefix.n;
    if (path.n && *path.p == '/') {
        path.p++;
        path.n--;
    }
    return path.n ? path : S("index.html");
}

static void admin_page_guard(struct request *r)
{
    reply_header(r, S("Content-Security-Policy"),
                 S("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                   "connect-src 'self'; form-action 'none'; base-uri 'none'; "
                   "frame-ancestors 'none'"));
    reply_header(r, S("X-Frame-Options"), S("DENY"));
    reply_header(r, S("Referrer-Policy"), S("no-referrer"));
    reply_header(r, S("Cross-Origin-Opener-Policy"), S("same-origin"));
    reply_header(r, S("Cross-Origin-Resource-Policy"), S("same-origin"));
}

/* If-None-Match is a list; a proxy that packs what it passes on makes its tags weak. */
static bool is_known(struct str header, struct str etag)
{
    while (header.n) {
        struct str one = str_trim(str_cut(&header, ','));

        if (str_starts(one, S("W/"))) {
            one.p += 2;
            one.n -= 2;
        }
        if (str_eq(one, etag) || str_eq(one, S("*")))
            return true;
    }
    return false;
}

/* "gzip;q=0.5" -> "gzip". *ret_taken: its weight is not 0, which refuses it (RFC 9110 12.4.2). */
static struct str coding_of(struct str one, bool *ret_taken)
{
    struct str name = str_trim(str_cut(&one, ';'));
    struct str weight = str_trim(one);

    *ret_taken = true;
    if (weight.n > 2 && (*weight.p | 0x20) == 'q' && weight.p[1] == '=') {
        *ret_taken = false;
        for (size_t i = 2; i < weight.n; i++)
            if (weight.p[i] >= '1' && weight.p[i] <= '9')
                *ret_taken = true;
    }
    return name;
}

/* What is said of gzip itself counts more than what is said of "*". Two lines of that header read
 * as none: plain is never wrong. */
static bool takes_gzip(struct str header)
{
    bool any = false;

    while (header.n) {
        bool taken;
        struct str name = coding_of(str_cut(&header, ','), &taken);

        if (str_eq_nocase(name, S("gzip")) || str_eq_nocase(name, S("x-gzip")))
            return taken;
        if (str_eq(name, S("*")))
            any = taken;
    }
    return any;
}

static void send_form(struct request *r, struct str type, const struct page_form *form)
{
    reply_header(r, S("ETag"), str_of(form->etag));
    reply_header(r, S("Vary"), S("Accept-Encoding"));
    reply_header(r, S("Cache-Control"), S("no-cache")); /* asked again each time: 304 */
    if (is_known(request_header(r, S("If-None-Match"), NULL), str_of(form->etag)))
        reply_send(r, 304, type, S(""));
    else
        reply_send(r, 200, type, (struct str){ (const char *)form->bytes, form->size });
}

void admin_page(struct request *r, void *ctx)
{
    const struct page_file *f = admin_page_find(path_below(r->path));

    (void)ctx;
    admin_page_guard(r);
    if (!f) {
        reply_problem(r, ERR_NOT_FOUND, NULL);
        return;
    }
    if (takes_gzip(request_header(r, S("Accept-Encoding"), NULL))) {
        reply_header(r, S("Content-Encoding"), S("gzip"));
        send_form(r, str_of(f->type), &f->gzip);
    } else {
        send_form(r, str_of(f->type), &f->plain);
    }
}
