/* redact.c - copies JSON and hides the values of personal data. The text is walked token by token
 * without a tree, so that all bytes that are not hidden stay as they were. */
#include "observe/redact.h"

#include "base/json/escape.h"
#include "base/json/json.h"
#include "observe/mask.h"

#include <string.h>

/* How many levels of JSON strings inside JSON strings are read. Each level doubles the backslashes,
 * so real payloads have few; a deeper level is hidden as a whole. */
enum { NESTED = 4, ROOM = 4 };

/* Compares the end of name with plain, or all of it where `whole` is set, ignoring case, '_' and
 * '-'. */
static bool ends_as(struct str name, const char *plain, bool whole)
{
    size_t i = name.n, n = strlen(plain);

    while (i && n) {
        char c = name.p[--i];

        if (c == '_' || c == '-')
            continue;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != plain[--n])
            return false;
    }
    return !n && (!whole || !i);
}

static bool is_private(struct str name)
{
    static const char *const names[] = {
        "billing", "billingdetails", "customerdetails", "fingerprint",
        "iin",     "konbininumber",  "shipping",        "shippingdetails"
    };
    static const char *const endings[] = {
        "accountholdername",  "accountnumber", "address", "cardholdername", "clientsecret",
        "confirmationnumber", /* a konbini's: a phone's, often */
        "customername",       "email",         "iban",    "last4",          "phone",
        "phonenumber",        "routingnumber"
    };

    for (size_t i = 0; i < COUNT(names); i++)
        if (ends_as(name, names[i], true))
            return true;
    for (size_t i = 0; i < COUNT(endings); i++)
        if (ends_as(name, endings[i], false))
            return true;
    return mask_is_card_name(name);
}

/* True for members that describe a person, unless their value is only an id. */
static bool is_person(struct str name)
{
    static const char *const names[] = { "cardholder", "customer", "owner", "payer" };

    for (size_t i = 0; i < COUNT(names); i++)
        if (ends_as(name, names[i], true))
            return true;
    return false;
}

/* The place after the string that begins at i. */
static size_t skip_string(struct str s, size_t i)
{
    for (i++; i < s.n && s.p[i] != '"'; i++)
        if (s.p[i] == '\\')
            i++;
    return i < s.n ? i + 1 : s.n;
}

static size_t skip_blanks(struct str s, size_t i)
{
    while (i < s.n && strchr(" \t\r\n", s.p[i]) && s.p[i])
        i++;
    return i;
}

/* The place after the value that begins at i. */
static size_t skip_value(struct str s, size_t i)
{
    size_t depth = 0;

    while (i < s.n) {
        char c = s.p[i];

        if (c == '"') {
            i = skip_string(s, i);
        } else if (c == '{' || c == '[') {
            depth++;
            i++;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
            i++;
        } else if (!depth && strchr(",}] \t\r\n", c)) {
            return i;
        } else {
            i++;
        }
        if (!depth && (c == '"' || c == '}' || c == ']'))
            return i;
    }
    return i;
}

/* --- strings --- */

static void redact_level(struct buf *out, struct str json, int depth);

/* The value of the string token, without its quotes; borrowed, or in `room`, which the caller
 * releases. */
static struct str redact_meaning(struct str token, struct buf *room)
{
    struct str raw = { token.p + 1, token.n - 2 };

    buf_init(room, raw.n + 1);
    if (!memchr(raw.p, '\\', raw.n) || !buf_reserve(room, raw.n))
        return raw;
    room->n = json_escape_resolve(raw, room->p);
    return buf_str(room);
}

/* True where a string holds JSON: an object, a list, or a string that may hold one. */
static bool is_wrapped(struct str text)
{
    size_t i = skip_blanks(text, 0);

    return i < text.n && text.p[i] && strchr("{[\"", text.p[i]) && !json_check(text, NULL);
}

/* Adds a string that holds JSON, redacted. Where nothing was hidden, its bytes are unchanged. */
static void add_wrapped(struct buf *out, struct str token, struct str json, int depth)
{
    struct buf b;

    if (depth == NESTED) {
        buf_add(out, S("\"[redacted]\""));
        return;
    }
    buf_init(&b, ROOM * json.n + ROOM);
    redact_level(&b, json, depth + 1);
    out->failed |= b.failed;
    if (str_eq(buf_str(&b), json))
        buf_add(out, token);
    else
        buf_json(out, buf_str(&b));
    buf_release(&b);
}

static void add_words(struct buf *out, struct str token)
{
    size_t from = out->n;

    buf_add(out, token);
    if (out->failed)
        return;
    mask_cards(out->p + from, token.n);
    mask_named(out->p + from, token.n);
}

static void add_string(struct buf *out, struct str token, int depth)
{
    struct buf room;
    struct str text = redact_meaning(token, &room);

    out->failed |= room.failed;
    if (is_wrapped(text))
        add_wrapped(out, token, text, depth);
    else
        add_words(out, token);
    buf_release(&room);
}

static bool observe_redact_hides(struct buf *out, struct str token, struct str value)
{
    struct buf room;
    struct str name = redact_meaning(token, &room);
    bool yes = is_private(name) || (is_person(name) && str_starts(value, S("{")));

    out->failed |= room.failed;
    buf_release(&room);
    return yes;
}

/* --- all of it --- */

/* Adds the text between two strings. Stars in a number would not be JSON, so it becomes 0. */
static void add_plain(struct buf *out, struct str token)
{
    size_t from = out->n;

    buf_add(out, token);
    if (out->failed)
        return;
    mask_cards(out->p + from, token.n);
    if (!memchr(out->p + from, '*', token.n))
        return;
    out->n = from;
    buf_char(out, '0');
}

static size_t skip_token(struct str s, size_t i)
{
    static const char number[] = "0123456789+-.eE";
    size_t end = i;

    if (s.p[i] == '"')
        return skip_string(s, i);
    while (end < s.n && s.p[end] && strchr(number, s.p[end]))
        end++;
    return end > i ? end : i + 1;
}

static void redact_level(struct buf *out, struct str json, int depth)
{
    size_t i = 0;

    while (i < json.n) {
        size_t end = skip_token(json, i), colon = skip_blanks(json, end), value;
        struct str token = { json.p + i, end - i };

        i = end;
        if (token.p[0] != '"') {
            add_plain(out, token);
            continue;
        }
        add_string(out, token, depth);
        if (colon == json.n || json.p[colon] != ':')
            continue;
        value = skip_blanks(json, colon + 1);
        if (!observe_redact_hides(out, token, (struct str){ json.p + value, json.n - value }))
            continue;
        buf_add(out, (struct str){ json.p + end, value - end });
        buf_add(out, S("\"[redacted]\""));
        i = skip_value(json, value);
    }
}

void redact_json(struct buf *out, struct str json)
{
    redact_level(out, json, 0);
}

void redact_text(struct buf *out, struct str text)
{
    size_t from = out->n;

    if (!json_check(text, NULL)) {
        redact_json(out, text);
        return;
    }
    buf_add(out, text);
    if (out->failed || out->n == from)
        return;
    mask_cards(out->p + from, out->n - from);
    mask_named(out->p + from, out->n - from);
}
