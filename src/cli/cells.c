/* cells.c - measures and cuts text in terminal cells. Bytes that are not UTF-8 are shown as '?'. */
#include "cli/cells.h"

struct letter {
    uint32_t code;
    size_t bytes;
};

struct range {
    uint32_t from, to;
};

/* s is not empty. */
static struct letter first_of(struct str s)
{
    unsigned char c = (unsigned char)s.p[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t code = n == 1 ? c : c & (0xffu >> (n + 1));

    n = n < s.n ? n : s.n;
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)s.p[i] & 0x3f);
    return (struct letter){ code, n };
}

static bool is_in(const struct range *r, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code >= r[i].from && code <= r[i].to)
            return true;
    return false;
}

static bool is_obeyed(uint32_t code)
{
    static const struct range ranges[] = { { 0, 0x1f },        { 0x7f, 0x9f },
                                           { 0x200b, 0x200f }, { 0x2028, 0x202e },
                                           { 0x2060, 0x206f }, { 0xfeff, 0xfeff },
                                           { 0xfff0, 0xfffb } };

    return is_in(ranges, COUNT(ranges), code);
}

/* The number of cells in which terminals draw a character: two, one, or none for a combining
 * mark. */
static int cells_of(uint32_t code)
{
    static const struct range none[] = { { 0x0300, 0x036f },
                                         { 0x3099, 0x309a },
                                         { 0xfe00, 0xfe0f } };
    static const struct range two[] = { { 0x1100, 0x115f },  { 0x2e80, 0xa4cf },
                                        { 0xac00, 0xd7a3 },  { 0xf900, 0xfaff },
                                        { 0xfe30, 0xfe6f },  { 0xff00, 0xff60 },
                                        { 0xffe0, 0xffe6 },  { 0x1f300, 0x1faff },
                                        { 0x20000, 0x3fffd } };

    if (is_obeyed(code))
        return 1; /* as '?' */
    if (is_in(none, COUNT(none), code))
        return 0;
    return is_in(two, COUNT(two), code) ? 2 : 1;
}

int cells_width(struct str s)
{
    int cells = 0;

    while (s.n) {
        struct letter l = first_of(s);

        cells += cells_of(l.code);
        s = (struct str){ s.p + l.bytes, s.n - l.bytes };
    }
    return cells;
}

int cells_put(FILE *out, struct str s, int room)
{
    bool cut = cells_width(s) > room;
    int cells = 0;

    while (s.n) {
        struct letter l = first_of(s);
        int more = cells_of(l.code);

        if (cut && cells + more > room - 1) {
            fputc('~', out);
            return cells + 1;
        }
        if (is_obeyed(l.code))
            fputc('?', out);
        else
            fwrite(s.p, 1, l.bytes, out);
        cells += more;
        s = (struct str){ s.p + l.bytes, s.n - l.bytes };
    }
    return cells;
}

void cells_column(FILE *out, struct str s, int width)
{
    int taken = cells_put(out, s, width);

    fprintf(out, "%*s  ", width - taken, "");
}
