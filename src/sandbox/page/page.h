/* page.h - what the pages for people share. No script, one style that the policy allows by its
 * hash, every text escaped. */
#pragma once

#include "base/buf.h"
#include "http/http.h"

void page_text(struct buf *b, struct str s);                         /* escaped */
void page_money(struct buf *b, int64_t amount, struct str currency); /* "¥1,200", "$12.00" */
bool page_is_url(struct str url);                                    /* http or https, one line */
/* whether a JSON array of texts contains the type */
bool page_list_has(struct str types, const char *type);

extern const char page_style[];

void page_headers(struct request *r);
/* The same for a page with another style. */
void page_headers_for(struct request *r, const char *style);
extern const char home_style[]; /* home_write.c */
/* ?lang=ja or ?lang=en, otherwise the browser's language. */
enum language page_language(const struct request *r);
/* "?lang=ja" or "?lang=en" as in the request, for the next page; otherwise "". */
const char *page_query(const struct request *r);
/* Writes everything from the doctype to the headline, with links to both languages. */
void page_begin(struct buf *b, enum language language, const char *title);
void page_end(struct buf *b, enum language language);
/* The text in the page's language. */
struct str page_say(enum language language, const char *en, const char *ja);
