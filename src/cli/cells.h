/* cells.h - text in a terminal's cells, of which a Japanese character takes two. What outsiders
 * wrote is shown without anything that a terminal would obey: controls, and what turns the
 * direction of what follows. */
#pragma once

#include "base/str.h"

#include <stdio.h>

int cells_width(struct str s); /* UTF-8 */
/* At most `room` cells; "~" says that there is more. Returns how many it took. */
int cells_put(FILE *out, struct str s, int room);
/* The same, filled up to `width`, and two blanks. */
void cells_column(FILE *out, struct str s, int width);
