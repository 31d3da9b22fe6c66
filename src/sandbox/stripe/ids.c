/* ids.c - ids of objects, in Stripe's format.
 *
 *   pi_ 3 ttttttt ccc rrrrrr xxxxxxx      t: milliseconds, c: a counter, r and x: random
 *   ch_ 3 ttttttt ccc rrrrrr TTTTTTT CCC  the intent's stem, then the charge's own time and counter
 *   re_ and dp_ like ch_                  txn_ and what follows re_ or ch_
 *   all others: their prefix and what follows pi_3
 *
 *   (1) Digits are base 62 and sort as bytes, so intents sort by the time they were made.
 *   (2) Two ids of one millisecond differ in the counter, which wraps after 238,328 of them.
 *   (3) The time in an intent's id is exactly its created_ms: lists by time need no other index.
 */
#include "sandbox/impl.h"
#include "sandbox/stripe/model.h"

#include <string.h>

enum { TIME_DIGITS = 7, COUNT_DIGITS = 3, RANDOM_DIGITS = 6, TAIL_DIGITS = 7, MOST_DIGITS = 32 };

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static char *put_digits(char *p, uint64_t n, int count)
{
    for (int i = count; i--; n /= 62)
        p[i] = digits[n % 62];
    return p + count;
}

static char *put_random(struct work *w, char *p, size_t count)
{
    unsigned char bytes[MOST_DIGITS];

    rng_bytes(&w->s->env.rng, bytes,
              count); /* 256 is not a multiple of 62, but this is even enough for a name */
    for (size_t i = 0; i < count; i++)
        p[i] = digits[bytes[i] % 62];
    return p + count;
}

static char *put_time_and_count(struct work *w, char *p)
{
    p = put_digits(p, (uint64_t)w->now_ms, TIME_DIGITS);
    return put_digits(p, sandbox_count(w->s), COUNT_DIGITS);
}

static char *put_prefix(char *p, const char *prefix)
{
    while (*prefix)
        *p++ = *prefix++;
    return p;
}

static struct str id_copy(struct work *w, const char *from, const char *to)
{
    struct str s = arena_str(w->a, (struct str){ from, (size_t)(to - from) });

    work_ok(w, s.p ? OK : ERR_NO_MEMORY);
    return s;
}

struct str sb_id_new(struct work *w, const char *prefix)
{
    char text[64], *p = put_prefix(text, prefix);

    p = put_time_and_count(w, p);
    return id_copy(w, text, put_random(w, p, RANDOM_DIGITS + TAIL_DIGITS));
}

struct str sb_id_intent(struct work *w)
{
    return sb_id_new(w, ID_INTENT);
}

struct str sb_id_method(struct work *w)
{
    return sb_id_new(w, "pm_1");
}

struct str sb_id_random(struct work *w, const char *prefix, size_t count)
{
    char text[64], *p = put_prefix(text, prefix);

    return id_copy(w, text, put_random(w, p, count));
}

static struct str after_prefix(struct str id)
{
    str_cut(&id, '_');
    return id;
}

struct str sb_id_stem(struct str id)
{
    struct str stem = after_prefix(id);

    if (stem.n > STEM)
        stem.n = STEM;
    return stem;
}

struct str sb_id_under(struct work *w, const char *prefix, struct str intent)
{
    char text[64], *p = put_prefix(text, prefix);
    struct str stem = sb_id_stem(intent);

    memcpy(p, stem.p, stem.n);
    return id_copy(w, text, put_time_and_count(w, p + stem.n));
}

struct str sb_id_balance(struct work *w, struct str id, bool returned)
{
    struct str rest = after_prefix(id);

    return work_text(w, returned ? "txn_returned_" STR_FMT : "txn_" STR_FMT, STR_ARG(rest));
}

struct str sb_id_first_at(struct work *w, const char *prefix, int64_t ms)
{
    static const int64_t most = INT64_C(62) * 62 * 62 * 62 * 62 * 62 * 62 - 1;
    char text[64], *p = put_prefix(text, prefix);

    if (ms < 0)
        ms = 0;
    return id_copy(w, text, put_digits(p, (uint64_t)(ms < most ? ms : most), TIME_DIGITS));
}
