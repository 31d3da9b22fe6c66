#include "base/hex.h"

int hex_value_lower(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

int hex_value(char c)
{
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : hex_value_lower(c);
}

char *hex_put(char *p, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *p++ = digits[bytes[i] >> 4];
        *p++ = digits[bytes[i] & 15];
    }
    return p;
}

void i64_put(unsigned char *p, int64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)((uint64_t)v >> (56 - 8 * i));
}

int64_t i64_get(const void *bytes)
{
    const unsigned char *p = bytes;
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return (int64_t)v;
}
