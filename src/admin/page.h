/* page.h - the admin page (O8): the files of web/, built into the program.
 *
 * The files are public, since they hold no data: the page requests its data from /api/v1/admin/,
 * which checks the session (A3). The Content-Security-Policy allows loading from and requests to
 * this server only, without inline scripts, inline styles or frames around the page. */
#pragma once

#include "http/http.h"

/* The bytes of a file in one encoding. */
struct page_form {
    const char *etag; /* with its quotes */
    const unsigned char *bytes;
    size_t size;
};

struct page_file {
    const char *path; /* below /admin/: "index.html", "lib/api.js" */
    const char *type;
    struct page_form plain, gzip;
};

extern const struct page_file page_files[]; /* made at build; the last one has no path */

/* GET /admin, GET /admin/ and the paths below: a file, with gzip if the client accepts it. The
 * page's own routes are in the fragment, after '#'. */
void admin_page(struct request *r, void *ctx);
