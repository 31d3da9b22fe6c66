/* charset.h - converts text in a foreign encoding to UTF-8. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum charset { CHARSET_ANY, CHARSET_UTF8, CHARSET_SHIFT_JIS };

/* "utf-8", "shift_jis", "sjis", "cp932", "windows-31j", "ms932", in either case. */
bool charset_parse(struct str name, enum charset *ret_charset);

/* With ANY, text that is valid UTF-8 is read as UTF-8 and all other text as CP932, the Shift_JIS of
 * Windows. VALIDATION: the text is not in that encoding, and *ret_line is the first wrong line.
 * UNAVAILABLE: this machine has no conversion table. The result points into `text` or the arena. */
enum err charset_decode(struct arena *a, enum charset charset, struct str text,
                        struct str *ret_text, int *ret_line);
