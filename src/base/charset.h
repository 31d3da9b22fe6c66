/* charset.h - text as others write it, as UTF-8. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum charset { CHARSET_ANY, CHARSET_UTF8, CHARSET_SHIFT_JIS };

/* "utf-8", "shift_jis", "sjis", "cp932", "windows-31j", "ms932", in either case. */
bool charset_parse(struct str name, enum charset *ret_charset);

/* ANY: what is UTF-8 is taken for that, all else for Shift_JIS as Windows writes it (CP932).
 * VALIDATION: it is not; *ret_line is where. UNAVAILABLE: this machine has no table for it. Texts
 * point into `text` or the arena. */
enum err charset_decode(struct arena *a, enum charset charset, struct str text,
                        struct str *ret_text, int *ret_line);
