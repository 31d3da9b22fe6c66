/* page.h - what the sandbox's pages for people share: no script, one style that the policy knows by
 * its hash, every text escaped, and the browser is told to run nothing. */
#pragma once

#include "base/buf.h"
#include "http/http.h"

void page_text(struct buf *b, struct str s);                         /* escaped */
void page_money(struct buf *b, int64_t amount, struct str currency); /* "¥1,200", "$12.00" */
bool page_is_address(struct str url);                                /* http or https, one line */
bool page_allows(struct str types, const char *type); /* a JSON array of words has that one */

extern const char page_style[];

void page_headers(struct request *r);
/* The same for a page with another style, whose hash is made of it. */
void page_headers_for(struct request *r, const char *style);
extern const char home_style[]; /* home_write.c */
/* ?lang=ja or en, else what the browser asks for. */
enum language page_language(const struct request *r);
/* "?lang=ja" or "?lang=en" where the address said so, for the way on; else "". */
const char *page_query(const struct request *r);
/* From the doctype to the headline, with the two languages. */
void page_begin(struct buf *b, enum language language, const char *title);
void page_end(struct buf *b, enum language language);
/* One of two words. */
struct str page_say(enum language language, const char *en, const char *ja);
