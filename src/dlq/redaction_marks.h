/* redaction_marks.h - what masking leaves in a text ("[redacted]", stars, a 0), and how a text that was
 * edited gets back what was there before. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum { MARK_STARS = 64 };

/* What is in a text because something of it is hidden; what it had itself is no mark. */
struct marks {
    bool redacted, zero;
    bool any_stars, stars[MARK_STARS + 1]; /* runs of so many; the last one: or more */
};
void marks_of(struct str was, struct str shown, struct marks *ret_marks);

/* Is one of them left in the text? A 0 may be anybody's, so the caller says whether it counts. */
bool marks_left(const struct marks *m, struct str text, bool zero_counts);

/* `was` and `shown` are equally long: a text that was masked in its place. What stands before and
 * behind the change is as it was. UNPROCESSABLE: a mask is left in the change, or nobody can tell
 * which of two equal ones is left. NO_MEMORY. */
enum err marks_merge(struct arena *a, struct str was, struct str shown, struct str edited,
                     struct str *ret_body);
