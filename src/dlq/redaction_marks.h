/* redaction_marks.h - the marks that redaction leaves in a text ("[redacted]", stars, a 0), and how
 * an edited text gets the hidden parts back. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum { MARK_STARS = 64 };

/* The marks that redaction added to a text; what the text contained before is no mark. */
struct marks {
    bool redacted, zero;
    bool any_stars, stars[MARK_STARS + 1]; /* runs of i stars; the last one: or more */
};
void marks_of(struct str was, struct str shown, struct marks *ret_marks);

/* Does the text contain one of them? zero_counts: a 0 counts as a mark, too. */
bool marks_left(const struct marks *m, struct str text, bool zero_counts);

/* For a text that was masked in place: `was` and `shown` are equally long. The parts before and
 * after the change are restored. UNPROCESSABLE: a mask is left in the change, or it is not known
 * which of two equal masks is left. NO_MEMORY. */
enum err marks_merge(struct arena *a, struct str was, struct str shown, struct str edited,
                     struct str *ret_body);
