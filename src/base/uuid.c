#include "base/uuid.h"

#include "base/hex.h"

#include <string.h>

struct uuid uuid_new(int64_t now_ms, struct rng *r)
{
    struct uuid id;

    rng_bytes(r, id.b, sizeof(id.b));
    for (int i = 0; i < 6; i++)
        id.b[i] = (unsigned char)((uint64_t)now_ms >> (8 * (5 - i)));
    id.b[6] = (unsigned char)((id.b[6] & 0x0f) | 0x70);
    id.b[8] = (unsigned char)((id.b[8] & 0x3f) | 0x80);
    return id;
}

static bool dash_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

bool uuid_parse(struct str s, struct uuid *ret_id)
{
    struct uuid id;
    size_t n = 0;

    if (s.n != UUID_TEXT)
        return false;
    for (size_t i = 0; i < UUID_TEXT; i++) {
        int high, low;

        if (dash_at(i)) {
            if (s.p[i] != '-')
                return false;
            continue;
        }
        high = hex_value(s.p[i]);
        low = hex_value(s.p[i + 1]); /* groups have even lengths, so i + 1 is within */
        if (high < 0 || low < 0)
            return false;
        id.b[n++] = (unsigned char)(high << 4 | low);
        i++;
    }
    *ret_id = id;
    return true;
}

void uuid_text(struct uuid id, char text[UUID_TEXT + 1])
{
    static const size_t groups[] = { 4, 2, 2, 2, 6 };
    const unsigned char *b = id.b;
    char *p = text;

    for (size_t i = 0; i < COUNT(groups); i++) {
        if (i)
            *p++ = '-';
        p = hex_put(p, b, groups[i]);
        b += groups[i];
    }
    *p = '\0';
}

bool uuid_eq(struct uuid a, struct uuid b)
{
    return memcmp(a.b, b.b, sizeof(a.b)) == 0;
}

int uuid_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct uuid));
}

struct str uuid_bytes(const struct uuid *id)
{
    return (struct str){ (const char *)id->b, sizeof(id->b) };
}

bool uuid_of_bytes(struct str bytes, struct uuid *ret_id)
{
    if (bytes.n != sizeof(ret_id->b))
        return false;
    memcpy(ret_id->b, bytes.p, sizeof(ret_id->b));
    return true;
}
