/* list.h - reads the audit log (O6): pages with the newest row first, and an export of the whole log
 * in the order of the chain. */
#pragma once

#include "base/arena.h"
#include "base/uuid.h"
#include "store/tx.h"

struct audit_filter {
    struct str operation, subject, result; /* empty: any */
    bool has_payment, has_user;
    struct uuid payment, user;
    int64_t from_ms, to_ms; /* from <= at < to; 0: open */
};

struct audit_cursor { /* opaque to callers */
    int64_t at_ms, seq;
};
enum { AUDIT_CURSOR_TEXT = 22 };
bool audit_cursor_read(struct str text, struct audit_cursor *ret_cursor);

/* {"data":[...],"nextCursor":...}. With a filter that few rows match, a page may be short or empty
 * although nextCursor is set. cursor NULL: starts at the newest row. */
enum err audit_page(struct tx *tx, struct arena *a, const struct audit_filter *f,
                    const struct audit_cursor *cursor, int limit, struct str *ret_json);

enum audit_format { AUDIT_JSONL, AUDIT_CSV };

struct audit_export_place { /* all zero: the beginning */
    bool unsealed;          /* past the chain: the rows that have no seal yet */
    int64_t at;             /* the last seal, or row */
};
enum { AUDIT_EXPORT_TEXT = 21 }; /* "s123" or "u456" */
bool audit_export_read(struct str text, struct audit_export_place *ret_place);
void audit_export_text(const struct audit_export_place *p, char ret_text[AUDIT_EXPORT_TEXT + 1]);

struct audit_export {
    struct str text;
    struct audit_export_place next;
    bool is_last;
};
/* One part of the export: rows in the order of their seals, then those without a seal. The first part
 * of a CSV begins with the names of the columns. */
enum err audit_export(struct tx *tx, struct arena *a, enum audit_format format,
                      const struct audit_export_place *from, struct audit_export *ret_part);
