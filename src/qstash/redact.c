/* redact.c - which parts of a message are hidden, and the text that is shown instead. */
#include "qstash/redact.h"

#include "base/hex.h"

#include <openssl/sha.h>
#include <string.h>

/* The name in "header[Name]" or "headers[Name]"; empty for other fields. */
static struct str field_header_name(struct str field)
{
    struct str word = str_cut(&field, '[');
    struct str name = str_cut(&field, ']');

    if (!(str_eq_nocase(word, S("header")) || str_eq_nocase(word, S("headers"))) || field.n)
        return (struct str){ 0 };
    return str_trim(name);
}

static bool field_is_all_headers(struct str field)
{
    return str_eq_nocase(field, S("header")) || str_eq_nocase(field, S("headers"));
}

bool redact_read(struct str fields, struct redact *ret_redact)
{
    struct str rest = fields;

    *ret_redact = (struct redact){ .fields = fields };
    while (rest.n) {
        struct str field = str_trim(str_cut(&rest, ','));

        if (str_eq_nocase(field, S("body")))
            ret_redact->body = true;
        else if (field_is_all_headers(field))
            ret_redact->headers = true;
        else if (!field_header_name(field).n || !str_ends(field, S("]")))
            return false;
    }
    return true;
}

struct redact redact_of(struct str fields)
{
    struct redact r;

    if (!redact_read(fields, &r))
        r = (struct redact){ .body = true, .headers = true };
    return r;
}

bool redact_hides(const struct redact *r, struct str header_name)
{
    struct str rest = r->fields;

    while (rest.n && !r->headers)
        if (str_eq_nocase(field_header_name(str_trim(str_cut(&rest, ','))), header_name))
            return header_name.n > 0;
    return r->headers;
}

static bool ends_with(struct str name, struct str ending)
{
    return name.n >= ending.n &&
           str_eq_nocase((struct str){ name.p + name.n - ending.n, ending.n }, ending);
}

bool redact_is_secret(struct str header_name)
{
    static const char *const endings[] = { "auth",   "authorization", "cookie",     "cookie2",
                                           "key",    "token",         "secret",     "password",
                                           "passwd", "signature",     "credential", "credentials" };

    for (size_t i = 0; i < COUNT(endings); i++)
        if (ends_with(header_name, str_of(endings[i])))
            return true;
    return false;
}

struct str redact_value(struct str value, char text[REDACTED])
{
    static const struct str prefix = { "REDACTED:", REDACTED - 64 };
    unsigned char digest[SHA256_DIGEST_LENGTH];

    SHA256((const unsigned char *)value.p, value.n, digest);
    memcpy(text, prefix.p, prefix.n);
    hex_put(text + prefix.n, digest, sizeof(digest));
    return (struct str){ text, REDACTED };
}
