/* json.c - the scanner: one pass over the text, no tree, no heap memory in the common case.
 *
 * A value is scanned by the function of its kind; objects and arrays call back into scan_value,
 * never deeper than LIMIT_JSON_DEPTH. Two things travel along:
 *   - the keys of all open objects, on one stack, to find duplicates. In an object of up to
 *     KEYS_LINEAR keys each new key is compared with its siblings by fingerprint; a larger object
 *     is sorted when it ends. So 20,000 hostile keys cost n log n, and there is no hash to attack.
 *   - the paths that still match, as bits: most subtrees are scanned with none of them. */
#include "base/json/json.h"

#include "base/json/escape.h"
#include "base/limits.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_INLINE = 256, KEYS_LINEAR = 64, PATHS_MAX = 64, DOUBLE_DIGITS = 15 };

struct json_key {
    const char *p; /* unescaped */
    uint32_t n, print, offset;
};

struct object {
    size_t keys_from; /* where its keys begin on the stack */
    uint64_t seen;    /* a bit for each print: a key whose bit is not set is new */
};

struct scan {
    const char *begin, *p, *end;
    enum err err;
    struct json_fault fault;
    int depth, nodes;
    bool odd_numbers;      /* some number is not a plain integer that a double holds exactly */
    struct json_key *keys; /* of all open objects, the innermost last */
    size_t key_count, key_room;
    struct arena arena;          /* keys that had escapes */
    const char *rest[PATHS_MAX]; /* the part of each path that is still to be walked */
    struct json_value *picked;   /* one for each path */
    struct json_key keys_inline[KEYS_INLINE];
};

static bool scan_value(struct scan *s, uint64_t live, struct json_value *ret_value);

static bool fail_at(struct scan *s, size_t offset, const char *why)
{
    s->err = ERR_VALIDATION;
    s->fault = (struct json_fault){ offset, why };
    return false;
}

static bool json_fail(struct scan *s, const char *why)
{
    return fail_at(s, (size_t)(s->p - s->begin), why);
}

static bool fail_memory(struct scan *s)
{
    json_fail(s, "needs more memory than there is");
    s->err = ERR_NO_MEMORY;
    return false;
}

/* Loops over bytes use a local pointer: s->p would be stored at every step. */
static void skip_blanks(struct scan *s)
{
    const char *p = s->p, *end = s->end;

    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    s->p = p;
}

/* The next byte, or 0 at the end. NUL is not allowed in the text, so 0 always means the end. */
static char json_peek(const struct scan *s)
{
    if (s->p == s->end)
        return '\0';
    return *s->p;
}

/* --- strings --- */

static const uint64_t ONES = 0x0101010101010101U, HIGH_BITS = 0x8080808080808080U;

/* Bit 7 of a byte is set where v has the byte c; exact up to the first one. */
static uint64_t bytes_equal(uint64_t v, unsigned char c)
{
    uint64_t x = v ^ (ONES * c);

    return (x - ONES) & ~x & HIGH_BITS;
}

/* Moves to the first quote, backslash or control byte. Returns whether it passed non-ASCII
 * bytes. */
static bool skip_plain(struct scan *s)
{
    const char *p = s->p, *end = s->end;
    uint64_t high = 0;

    for (; end - p >= 8; p += 8) {
        uint64_t v, stop;

        memcpy(&v, p, sizeof(v));
        v = le64toh(v); /* the first byte is the lowest */
        stop = bytes_equal(v, '"') | bytes_equal(v, '\\') | ((v - ONES * 0x20) & ~v & HIGH_BITS);
        if (stop) {
            s->p = p + __builtin_ctzll(stop) / 8;
            return high | (v & HIGH_BITS & ((stop & -stop) - 1));
        }
        high |= v & HIGH_BITS;
    }
    for (; p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20; p++)
        high |= (unsigned char)*p & 0x80;
    s->p = p;
    return high;
}

/* s->p is at the backslash. */
static bool scan_escape(struct scan *s)
{
    const char *why;
    size_t n = json_escape_size((struct str){ s->p, (size_t)(s->end - s->p) }, &why);

    s->p += n;
    return n || json_fail(s, why);
}

/* s->p is at the opening quote; *ret_raw gets the bytes between the quotes. */
static bool scan_string(struct scan *s, struct str *ret_raw, bool *ret_escape)
{
    const char *from = ++s->p;
    bool high = false, escape = false;

    for (;;) {
        high |= skip_plain(s);
        if (s->p == s->end)
            return json_fail(s, "the string does not end");
        if (*s->p == '"')
            break;
        if (*s->p != '\\')
            return json_fail(s, "a control character in a string");
        escape = true;
        if (!scan_escape(s))
            return false;
    }
    *ret_raw = (struct str){ from, (size_t)(s->p - from) };
    *ret_escape = escape;
    if (high && !str_is_utf8(*ret_raw))
        return fail_at(s, (size_t)(from - s->begin), "the string is not UTF-8");
    s->p++;
    return true;
}

enum err json_unescape(struct arena *a, const struct json_value *v, struct str *ret_text)
{
    char *out;

    if (v->type != JSON_STRING)
        return ERR_VALIDATION;
    out = arena_cstr(a, v->raw);
    if (!out)
        return ERR_NO_MEMORY;
    *ret_text = (struct str){ out, v->has_escape ? json_escape_resolve(v->raw, out) : v->raw.n };
    return OK;
}

/* --- numbers and words --- */

static size_t skip_digits(struct scan *s)
{
    const char *from = s->p, *p = from;

    while (p < s->end && *p >= '0' && *p <= '9')
        p++;
    s->p = p;
    return (size_t)(p - from);
}

static bool scan_fraction(struct scan *s)
{
    s->p++;
    s->odd_numbers = true;
    return skip_digits(s) || json_fail(s, "digits are missing behind the decimal point");
}

static bool scan_exponent(struct scan *s)
{
    s->p++;
    s->odd_numbers = true;
    if (json_peek(s) == '+' || json_peek(s) == '-')
        s->p++;
    return skip_digits(s) || json_fail(s, "digits are missing in the exponent");
}

static bool scan_number(struct scan *s)
{
    const char *from = s->p;
    bool zero;

    if (*s->p == '-')
        s->p++;
    zero = json_peek(s) == '0';
    switch (skip_digits(s)) {
    case 0: return json_fail(s, "digits are missing");
    case 1: break;
    default:
        if (zero)
            return json_fail(s, "a number may not begin with 0");
    }
    if (json_peek(s) == '.' && !scan_fraction(s))
        return false;
    if ((json_peek(s) == 'e' || json_peek(s) == 'E') && !scan_exponent(s))
        return false;
    if (s->p - from > DOUBLE_DIGITS)
        s->odd_numbers = true;
    if (s->p - from > LIMIT_JSON_NUMBER)
        return json_fail(s, "the number is too long");
    return true;
}

static bool scan_word(struct scan *s, struct str word)
{
    if (!str_starts((struct str){ s->p, (size_t)(s->end - s->p) }, word))
        return json_fail(s, "a value was expected");
    s->p += word.n;
    return true;
}

/* --- objects and arrays --- */

static bool grow_keys(struct scan *s)
{
    size_t room = s->key_room * 2;
    struct json_key *old = s->keys == s->keys_inline ? NULL : s->keys;
    struct json_key *keys = realloc(old, room * sizeof(*keys));

    if (!keys)
        return fail_memory(s);
    if (!old)
        memcpy(keys, s->keys_inline, s->key_count * sizeof(*keys));
    s->keys = keys;
    s->key_room = room;
    return true;
}

/* Equal keys have equal fingerprints, and most different keys have different ones. It must be
 * fast. */
static uint32_t json_fingerprint(struct str key)
{
    uint64_t first = 0, last = 0;
    size_t n = key.n < 8 ? key.n : 8;

    if (n) {
        memcpy(&first, key.p, n);
        memcpy(&last, key.p + key.n - n, n);
    }
    return (uint32_t)(((first * 31) ^ last ^ key.n) * 0x9e3779b97f4a7c15U >> 32);
}

static bool key_is_known(const struct scan *s, size_t from, struct str key, uint32_t print)
{
    for (size_t i = from; i < s->key_count; i++) {
        const struct json_key *k = &s->keys[i];

        if (k->print == print && k->n == key.n && memcmp(k->p, key.p, key.n) == 0)
            return true;
    }
    return false;
}

static bool add_key(struct scan *s, struct object *o, struct str key, size_t offset)
{
    uint32_t print = json_fingerprint(key);
    uint64_t bit = 1ULL << (print & 63);

    if ((o->seen & bit) && s->key_count - o->keys_from < KEYS_LINEAR &&
        key_is_known(s, o->keys_from, key, print))
        return fail_at(s, offset, "the key occurs twice in its object");
    if (s->key_count == s->key_room && !grow_keys(s))
        return false;
    o->seen |= bit;
    s->keys[s->key_count++] = (struct json_key){ key.p, (uint32_t)key.n, print, (uint32_t)offset };
    return true;
}

static int order_keys(const void *a, const void *b)
{
    const struct json_key *x = a, *y = b;
    int order;

    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    order = memcmp(x->p, y->p, x->n);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Takes the keys of an object that has ended off the stack. */
static bool drop_keys(struct scan *s, const struct object *o)
{
    size_t n = s->key_count - o->keys_from;
    struct json_key *k = s->keys + o->keys_from;

    s->key_count = o->keys_from;
    if (n <= KEYS_LINEAR)
        return true;
    qsort(k, n, sizeof(*k), order_keys);
    for (size_t i = 1; i < n; i++)
        if (k[i].n == k[i - 1].n && memcmp(k[i].p, k[i - 1].p, k[i].n) == 0)
            return fail_at(s, k[i].offset, "the key occurs twice in its object");
    return true;
}

static bool scan_key(struct scan *s, struct object *o, struct str *ret_key)
{
    size_t offset = (size_t)(s->p - s->begin);
    struct str raw;
    bool escape;

    if (json_peek(s) != '"')
        return json_fail(s, "a key was expected");
    if (!scan_string(s, &raw, &escape))
        return false;
    if (escape) {
        char *out = arena_cstr(&s->arena, raw);

        if (!out)
            return fail_memory(s);
        raw = (struct str){ out, json_escape_resolve(raw, out) };
    }
    *ret_key = raw;
    return add_key(s, o, raw, offset);
}

/* The live paths by the first letter of their next part: most keys have no path to be compared
 * with, however many there are. */
struct fan {
    uint64_t by_letter[32];
};

static void fan_out(const struct scan *s, uint64_t live, struct fan *ret)
{
    *ret = (struct fan){ 0 };
    for (; live; live &= live - 1) {
        int i = __builtin_ctzll(live);

        ret->by_letter[s->rest[i][0] & 31] |= 1ULL << i;
    }
}

/* The live paths whose next part is this key. */
static uint64_t match_paths(const struct scan *s, const struct fan *fan, struct str key)
{
    uint64_t matched = 0, live = key.n ? fan->by_letter[key.p[0] & 31] : 0;

    for (; live; live &= live - 1) {
        int i = __builtin_ctzll(live);
        const char *rest = s->rest[i];

        if (rest[0] == key.p[0] && strncmp(rest, key.p, key.n) == 0 &&
            (!rest[key.n] || rest[key.n] == '.'))
            matched |= 1ULL << i;
    }
    if (matched && memchr(key.p, '.', key.n))
        return 0; /* the key "a.b" is not the path a.b */
    return matched;
}

/* Scans the value of a key that the paths in `matched` have reached. It is kept for the paths that
 * end here and scanned further for the others. */
static bool scan_matched(struct scan *s, uint64_t matched, size_t key_size)
{
    struct json_value v = { 0 };
    uint64_t ends = 0;

    for (uint64_t m = matched; m; m &= m - 1) {
        int i = __builtin_ctzll(m);

        if (s->rest[i][key_size])
            s->rest[i] += key_size + 1;
        else
            ends |= 1ULL << i;
    }
    if (!scan_value(s, matched & ~ends, &v))
        return false;
    for (uint64_t m = matched; m; m &= m - 1) {
        int i = __builtin_ctzll(m);

        if (ends & 1ULL << i)
            s->picked[i] = v;
        else
            s->rest[i] -= key_size + 1;
    }
    return true;
}

/* fan: NULL where no path leads here. */
static bool scan_member(struct scan *s, const struct fan *fan, struct object *o)
{
    struct json_value ignored;
    struct str key;
    uint64_t matched;

    if (!scan_key(s, o, &key))
        return false;
    matched = fan ? match_paths(s, fan, key) : 0;
    skip_blanks(s);
    if (json_peek(s) != ':')
        return json_fail(s, "':' was expected");
    s->p++;
    return matched ? scan_matched(s, matched, key.n) : scan_value(s, 0, &ignored);
}

/* Behind a member or element: true with *ret_more, or a fault. */
static bool scan_next(struct scan *s, char close, const char *why, bool *ret_more)
{
    char c;

    skip_blanks(s);
    c = json_peek(s);
    if (c != ',' && c != close)
        return json_fail(s, why);
    s->p++;
    *ret_more = c == ',';
    return true;
}

static bool scan_object(struct scan *s, uint64_t live)
{
    struct object o = { .keys_from = s->key_count };
    struct fan fan;
    bool more = true;

    s->p++;
    skip_blanks(s);
    if (json_peek(s) == '}') {
        s->p++;
        return true;
    }
    if (live)
        fan_out(s, live, &fan);
    while (more) {
        skip_blanks(s);
        if (!scan_member(s, live ? &fan : NULL, &o) ||
            !scan_next(s, '}', "',' or '}' was expected", &more))
            return false;
    }
    return drop_keys(s, &o);
}

static bool scan_array(struct scan *s)
{
    struct json_value ignored;
    bool more = true;

    s->p++;
    skip_blanks(s);
    if (json_peek(s) == ']') {
        s->p++;
        return true;
    }
    while (more)
        if (!scan_value(s, 0, &ignored) || !scan_next(s, ']', "',' or ']' was expected", &more))
            return false;
    return true;
}

static bool scan_nested(struct scan *s, uint64_t live)
{
    bool good;

    if (s->depth == LIMIT_JSON_DEPTH)
        return json_fail(s, "nested too deeply");
    s->depth++;
    good = *s->p == '{' ? scan_object(s, live) : scan_array(s);
    s->depth--;
    return good;
}

static enum json_type type_of(char first)
{
    switch (first) {
    case '"': return JSON_STRING;
    case '{': return JSON_OBJECT;
    case '[': return JSON_ARRAY;
    case 't':
    case 'f': return JSON_BOOL;
    case 'n': return JSON_NULL;
    default: return first == '-' || (first >= '0' && first <= '9') ? JSON_NUMBER : JSON_ABSENT;
    }
}

static bool scan_by_type(struct scan *s, uint64_t live, struct json_value *v)
{
    switch (v->type) {
    case JSON_STRING: return scan_string(s, &v->raw, &v->has_escape);
    case JSON_OBJECT:
    case JSON_ARRAY: return scan_nested(s, live);
    case JSON_BOOL: return scan_word(s, *s->p == 't' ? S("true") : S("false"));
    case JSON_NULL: return scan_word(s, S("null"));
    case JSON_NUMBER: return scan_number(s);
    case JSON_ABSENT: return json_fail(s, "a value was expected");
    }
    abort();
}

static bool scan_value(struct scan *s, uint64_t live, struct json_value *ret_value)
{
    const char *from;

    skip_blanks(s);
    from = s->p;
    if (++s->nodes > LIMIT_JSON_NODES)
        return json_fail(s, "too many values");
    *ret_value = (struct json_value){ .type = type_of(json_peek(s)) };
    if (!scan_by_type(s, live, ret_value))
        return false;
    if (ret_value->type != JSON_STRING)
        ret_value->raw = (struct str){ from, (size_t)(s->p - from) };
    return true;
}

/* --- the whole text --- */

static void scan_init(struct scan *s, struct str text)
{
    if (!text.n)
        text = S("");
    /* Not one big initialiser: that would clear keys_inline on every call. */
    s->begin = s->p = text.p;
    s->end = text.p + text.n;
    s->err = OK;
    s->fault = (struct json_fault){ 0 };
    s->depth = s->nodes = 0;
    s->odd_numbers = false;
    s->keys = s->keys_inline;
    s->key_count = 0;
    s->key_room = KEYS_INLINE;
    s->picked = NULL;
    arena_init(&s->arena, 2 * text.n + (size_t)LIMIT_JSON_NODES * 32);
}

static enum err scan_text(struct scan *s, uint64_t live, struct json_fault *ret_fault)
{
    struct json_value root;

    if (s->end - s->begin > LIMIT_JSON_TEXT) {
        json_fail(s, "the text is too long");
    } else if (scan_value(s, live, &root)) {
        skip_blanks(s);
        if (s->p != s->end)
            json_fail(s, "something stands behind the end");
    }
    if (s->keys != s->keys_inline)
        free(s->keys);
    arena_release(&s->arena);
    if (s->err && ret_fault)
        *ret_fault = s->fault;
    return s->err;
}

enum err json_scan(struct str text, bool *ret_odd_numbers, struct json_fault *ret_fault)
{
    struct scan s;
    enum err e;

    scan_init(&s, text);
    e = scan_text(&s, 0, ret_fault);
    *ret_odd_numbers = s.odd_numbers;
    return e;
}

enum err json_check(struct str text, struct json_fault *ret_fault)
{
    bool ignored;

    return json_scan(text, &ignored, ret_fault);
}

enum err json_pick(struct str text, const char *const *paths, size_t n, struct json_value *ret,
                   struct json_fault *ret_fault)
{
    struct scan s;
    enum err e;

    assert(n <= PATHS_MAX);
    scan_init(&s, text);
    s.picked = ret;
    for (size_t i = 0; i < n; i++) {
        s.rest[i] = paths[i];
        ret[i] = (struct json_value){ 0 };
    }
    e = scan_text(&s, n ? ~0ULL >> (PATHS_MAX - n) : 0, ret_fault);
    for (size_t i = 0; e && i < n; i++)
        ret[i] = (struct json_value){ 0 };
    return e;
}
