/* cells.h - prints text in terminal cells, of which a Japanese character takes two. Control
 * characters and direction marks, which outsiders could use to change the terminal, are
 * replaced. */
#pragma once

#include "base/str.h"

#include <stdio.h>

int cells_width(struct str s); /* UTF-8 */
/* Prints at most `room` cells; "~" stands for cut text. Returns how many cells were printed. */
int cells_put(FILE *out, struct str s, int room);
/* Does the same, fills up to `width`, and adds two blanks. */
void cells_column(FILE *out, struct str s, int width);
