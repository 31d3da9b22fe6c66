/* json.h - a strict reader on top of cJSON. Text from outside is scanned first: UTF-8, depth, node
 * count, duplicate keys, NUL, numbers and the end of the text must be as RFC 8259 says, or the text
 * is refused with the place and the reason. cJSON alone accepts 01, duplicate keys, bad UTF-8 and
 * bytes after the end. */
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

/* Only scans. VALIDATION: the text breaks a rule; *ret_fault (may be NULL) says which and where. */
enum err json_check(struct str text, struct json_fault *ret_fault);
/* Does the same and says whether a number has a fraction, an exponent or more than 15 digits. */
enum err json_scan(struct str text, bool *ret_odd_numbers, struct json_fault *ret_fault);

/* Scans, then parses. The caller frees the tree with json_freep. A number that a double may not
 * hold exactly keeps its text in valuestring; json_get_int reads that text, so its result is
 * exact. */
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

/* Scans all of text by the rules above and picks values by path ("data.object.id"). A path leads
 * through objects only; a value that is missing is JSON_ABSENT. There may be 64 paths. */
enum err json_pick(struct str text, const char *const *paths, size_t n, struct json_value *ret,
                   struct json_fault *ret_fault);

/* Copies the value of a string to the arena with its escapes resolved. Fails on \u0000. */
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
/* Adds the message in the language of p. */
void json_problem_in(struct json_problems *p, const char *field, const char *en, const char *ja);
/* Adds the scanner's fault, with its place, as a problem of `field` ("body"). */
void json_problem_fault(struct json_problems *p, const char *field, const struct json_fault *f);
struct str json_problems_array(struct json_problems *p); /* "[...]" */

/* Removes the named members that are null, for fields in which null means the same as absent. */
void json_drop_nulls(cJSON *object, const char *const *names, size_t n);

/* Each returns true and sets its output, or returns false where the field is absent or wrong. A
 * wrong field is a problem, an absent one only if it is required. null is wrong, and counts as
 * absent where the field is required. A required text may not be empty. Texts live as long as the
 * tree. */
bool json_get_str(const cJSON *object, const char *field, bool required, size_t max_chars,
                  struct str *ret_text, struct json_problems *p);
bool json_get_int(const cJSON *object, const char *field, bool required, int64_t least,
                  int64_t most, int64_t *ret_value, struct json_problems *p);
bool json_get_bool(const cJSON *object, const char *field, bool required, bool *ret_value,
                   struct json_problems *p);
