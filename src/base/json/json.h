/* json.h - strict reading over cJSON. Outsiders' text is scanned first: UTF-8, depth, node count,
 * duplicate keys, NUL, numbers and the end of the text are as RFC 8259 says, or it is refused with
 * the place and the reason. (cJSON alone takes 01, duplicate keys, bad UTF-8 and trailing bytes.)
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <cjson/cJSON.h>

struct json_fault {
    size_t offset;
    const char *why; /* static words */
};

/* Only the scan. VALIDATION: not JSON by our rules; *ret_fault (may be NULL) says why. */
enum err json_check(struct str text, struct json_fault *ret_fault);
/* The same; also says whether a number has a fraction, an exponent or more than 15 digits. */
enum err json_scan(struct str text, bool *ret_odd_numbers, struct json_fault *ret_fault);

/* Scans, then parses. The tree is freed with json_freep. Numbers that a double might not hold as
 * they were written keep their text in valuestring; json_get_int reads it, so that it is exact. */
enum err json_parse(struct str text, cJSON **ret_tree, struct json_fault *ret_fault);
void json_freep(cJSON **tree);
#define CLEANUP(f) __attribute__((cleanup(f)))

/* --- one pass, no tree: for the hot path --- */

enum json_type {
    JSON_ABSENT,
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_OBJECT,
    JSON_ARRAY
};

struct json_value {
    enum json_type type;
    struct str
        raw; /* the value's own bytes; of a string without its quotes, escapes as they came */
    bool has_escape; /* a string whose raw bytes are not its value */
};

/* Scans all of text by the rules above and picks values by path ("data.object.id"). Paths walk
 * objects only; what is not there is JSON_ABSENT. At most 64 paths. */
enum err json_pick(struct str text, const char *const *paths, size_t n, struct json_value *ret,
                   struct json_fault *ret_fault);

/* The string's value, copied to the arena with its escapes resolved. Fails on \u0000. */
enum err json_unescape(struct arena *a, const struct json_value *v, struct str *ret_text);

/* --- fields of a parsed object; each failure names its field in `problems` --- */

struct json_problems { /* an array of {"field","message"} for an RFC 9457 problem */
    struct buf text;
    int count;
    enum language language; /* of the messages; English unless the caller sets it */
};
void json_problems_init(struct json_problems *p);
void json_problems_release(struct json_problems *p);
void json_problem(struct json_problems *p, const char *field, const char *message);
/* The one of the two that the reader understands. */
void json_problem_in(struct json_problems *p, const char *field, const char *en, const char *ja);
/* What the scanner said, with the place, about the text that `field` names ("body"). */
void json_problem_fault(struct json_problems *p, const char *field, const struct json_fault *f);
struct str json_problems_array(struct json_problems *p); /* "[...]" */

/* Takes these members out of the object where they are null: for fields that may be null, which
 * then means the same as absent. */
void json_drop_nulls(cJSON *object, const char *const *names, size_t n);

/* Each returns true and sets its output, or false: absent (only a problem if required) or wrong.
 * null is wrong, and of a required field the same as absent. A required text may not be empty.
 * Texts live as long as the tree. */
bool json_get_str(const cJSON *object, const char *field, bool required, size_t max_chars,
                  struct str *ret_text, struct json_problems *p);
bool json_get_int(const cJSON *object, const char *field, bool required, int64_t least,
                  int64_t most, int64_t *ret_value, struct json_problems *p);
bool json_get_bool(const cJSON *object, const char *field, bool required, bool *ret_value,
                   struct json_problems *p);
