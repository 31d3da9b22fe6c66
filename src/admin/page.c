/* page.c - finds the file, then answers it plain or gzipped, or with 304 if the client's copy has
 * the same ETag. The two encodings of a file have different ETags. */
#include "admin/page.h"

static const struct page_file *page_find(struct str path)
{
    for (const struct page_file *f = page_files; f->path; f++)
        if (str_eq(path, str_of(f->path)))
            return f;
    return NULL;
}

static struct str page_path_below(struct str path)
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

static void page_add_security_headers(struct request *r)
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

/* If-None-Match is a list. A proxy that compresses answers makes ETags weak, so "W/" is ignored. */
static bool page_is_known_etag(struct str header, struct str etag)
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

/* "gzip;q=0.5" -> "gzip". *ret_taken: the weight is not 0, which means "not acceptable" (RFC 9110
 * 12.4.2). */
static struct str page_coding_of(struct str one, bool *ret_taken)
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

/* An entry for gzip takes precedence over "*". With two Accept-Encoding lines the answer is plain,
 * which is always acceptable. */
static bool page_takes_gzip(struct str header)
{
    bool any = false;

    while (header.n) {
        bool taken;
        struct str name = page_coding_of(str_cut(&header, ','), &taken);

        if (str_eq_nocase(name, S("gzip")) || str_eq_nocase(name, S("x-gzip")))
            return taken;
        if (str_eq(name, S("*")))
            any = taken;
    }
    return any;
}

static void page_send(struct request *r, struct str type, const struct page_form *form)
{
    reply_header(r, S("ETag"), str_of(form->etag));
    reply_header(r, S("Vary"), S("Accept-Encoding"));
    reply_header(r, S("Cache-Control"), S("no-cache")); /* the browser revalidates each time */
    if (page_is_known_etag(request_header(r, S("If-None-Match"), NULL), str_of(form->etag)))
        reply_send(r, 304, type, S(""));
    else
        reply_send(r, 200, type, (struct str){ (const char *)form->bytes, form->size });
}

void admin_page(struct request *r, void *ctx)
{
    const struct page_file *f = page_find(page_path_below(r->path));

    (void)ctx;
    page_add_security_headers(r);
    if (!f) {
        reply_problem(r, ERR_NOT_FOUND, NULL);
        return;
    }
    if (page_takes_gzip(request_header(r, S("Accept-Encoding"), NULL))) {
        reply_header(r, S("Content-Encoding"), S("gzip"));
        page_send(r, str_of(f->type), &f->gzip);
    } else {
        page_send(r, str_of(f->type), &f->plain);
    }
}
