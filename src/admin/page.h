/* page.h - the admin page (O8): the files of web/, built into the program.
 *
 * Everybody may have them: they hold nothing. What the page shows it asks /api/v1/admin/ for, and
 * that asks who is there (A3). Its Content-Security-Policy lets it load from here and talk to here,
 * and nothing else: no inline script, no inline style, no frame around it. */
#pragma once

#include "http/http.h"

/* The bytes of a file in one of the ways in which they are sent. */
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

/* GET /admin and GET /admin/ and what follows: a file, packed by gzip where the client takes that.
 * Ways of the page itself are behind its '#'. */
void admin_page(struct request *r, void *ctx);
