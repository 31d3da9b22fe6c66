/* The draw's arithmetic, against numbers that another program computed from the text of draw.h:
 * Python's hashlib and hmac, so that we do not check ourselves by ourselves. */
#include "base/hex.h"
#include "campaign/campaign.h"
#include "campaign/lottery.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

static void seed_of_counts(unsigned char seed[DRAW_SEED])
{
    for (int i = 0; i < DRAW_SEED; i++)
        seed[i] = (unsigned char)i;
}

/* Numbers 1 to n; the purchase's id holds the number at its end, and in the middle if `twice`. */
static void fill(struct draw_entry *entries, size_t n, bool twice)
{
    memset(entries, 0, n * sizeof(*entries));
    for (size_t i = 0; i < n; i++) {
        size_t number = i + 1;

        entries[i].number = (int64_t)number;
        for (int k = 0; k < 4; k++) {
            entries[i].purchase.b[15 - k] = (unsigned char)(number >> (8 * k));
            if (twice)
                entries[i].purchase.b[7 - k] = entries[i].purchase.b[15 - k];
        }
    }
}

/* "1,6,5": numbers by rank. */
static void ranking(const struct draw_entry *entries, size_t n, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int rank = 1; rank <= (int)n; rank++)
        for (size_t i = 0; i < n; i++)
            if (entries[i].rank == rank)
                used += (size_t)snprintf(text + used, size - used, "%s%lld", used ? "," : "",
                                         (long long)entries[i].number);
}

static void the_commitment_is_the_hash_of_the_seed(void **state)
{
    unsigned char seed[DRAW_SEED];
    char hex[DRAW_HEX + 1];

    (void)state;
    seed_of_counts(seed);
    draw_commit(seed, hex);
    assert_string_equal(hex, "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd");
}

static void c6_winners_are_those_that_another_program_finds(void **state)
{
    static const char *const ten =
        "3874b491926862bbf2c5bed0bcc678430c243cbc1e7f61efefe5920e41ab59e1";
    static const char *const none =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    static const struct {
        const char *why;
        size_t n, winners;
        const char *digest, *ranks;
    } rows[] = {
        { "three of ten", 10, 3, ten, "1,6,5" },
        { "all of ten", 10, 10, ten, "1,6,5,3,8,2,9,7,10,4" },
        { "more winners than entries", 10, 500, ten, "1,6,5,3,8,2,9,7,10,4" },
        { "no winners wanted", 10, 0, ten, "" },
        { "nobody took part", 0, 3, none, "" },
    };
    struct draw_entry entries[10];
    unsigned char seed[DRAW_SEED];
    char digest[DRAW_HEX + 1], ranks[64];

    (void)state;
    seed_of_counts(seed);
    for (size_t i = 0; i < COUNT(rows); i++) {
        fill(entries, COUNT(entries), true);
        draw_pick(seed, entries, rows[i].n, rows[i].winners, digest);
        ranking(entries, rows[i].n, ranks, sizeof(ranks));
        if (strcmp(digest, rows[i].digest) != 0 || strcmp(ranks, rows[i].ranks) != 0)
            fail_msg("%s: %s %s", rows[i].why, digest, ranks);
    }
}

static void a_single_entry_wins_and_keeps_its_own_number(void **state)
{
    struct draw_entry entries[7];
    unsigned char seed[DRAW_SEED];
    char digest[DRAW_HEX + 1];

    (void)state;
    seed_of_counts(seed);
    fill(entries, COUNT(entries), true);
    draw_pick(seed, &entries[6], 1, 3, digest);
    assert_string_equal(digest, "52797590c3f619ed6e92bd3dc2000267de4b9ef6ddd1cdb24d2de11693a499a7");
    assert_int_equal(entries[6].rank, 1);
}

static void ten_thousand_are_ranked_each_once(void **state)
{
    static struct draw_entry entries[POSITIONS_MAX];
    static char ranks[POSITIONS_MAX * 6];
    static int64_t by_rank[POSITIONS_MAX + 1];
    unsigned char seed[DRAW_SEED];
    char digest[DRAW_HEX + 1], hash[DRAW_HEX + 1];
    size_t used = 0;

    (void)state;
    seed_of_counts(seed);
    fill(entries, POSITIONS_MAX, false);
    draw_pick(seed, entries, POSITIONS_MAX, POSITIONS_MAX, digest);
    assert_string_equal(digest, "c4bee48d5737449080b97b39591ad8b45b41e3e42fdc3469198f1041ffb73665");
    for (size_t i = 0; i < POSITIONS_MAX; i++) {
        assert_in_range(entries[i].rank, 1, POSITIONS_MAX);
        assert_int_equal(by_rank[entries[i].rank], 0);
        by_rank[entries[i].rank] = entries[i].number;
    }
    for (int r = 1; r <= POSITIONS_MAX; r++)
        used += (size_t)snprintf(ranks + used, sizeof(ranks) - used, "%s%lld", used ? "," : "",
                                 (long long)by_rank[r]);
    draw_sha256((struct str){ ranks, used }, hash);
    assert_string_equal(hash, "020d9d5ab0141891dd05f521fc1f4f06c4a05448a0d510fe320f944dd72a36e9");
}

static void another_seed_or_another_buyer_is_another_draw(void **state)
{
    struct draw_entry one[10], other[10];
    unsigned char seed[DRAW_SEED];
    char first[DRAW_HEX + 1], second[DRAW_HEX + 1], a[64], b[64];

    (void)state;
    seed_of_counts(seed);
    fill(one, 10, true);
    fill(other, 10, true);
    draw_pick(seed, one, 10, 10, first);
    other[9].purchase.b[0] = 1;
    draw_pick(seed, other, 10, 10, second);
    assert_string_not_equal(first, second);
    ranking(one, 10, a, sizeof(a));
    ranking(other, 10, b, sizeof(b));
    assert_string_not_equal(a, b);
    seed[0] = 255;
    draw_pick(seed, one, 10, 10, second);
    assert_string_equal(first, second); /* the digest is of the entries alone */
    ranking(one, 10, b, sizeof(b));
    assert_string_not_equal(a, b);
}

/* 9,000 draws of one among nine: a place that wins far too often or too seldom shows. Chi-square
 * with 8 degrees of freedom exceeds 35 by chance once in 40,000 times; the seeds are fixed. */
static void every_place_wins_about_as_often(void **state)
{
    struct draw_entry entries[9];
    int wins[9] = { 0 };
    unsigned char seed[DRAW_SEED] = { 0 };
    char digest[DRAW_HEX + 1];
    double chi = 0;

    (void)state;
    for (int i = 0; i < 9000; i++) {
        seed[0] = (unsigned char)i;
        seed[1] = (unsigned char)(i >> 8);
        fill(entries, 9, true);
        draw_pick(seed, entries, 9, 1, digest);
        for (int k = 0; k < 9; k++)
            wins[k] += entries[k].rank == 1;
    }
    for (int k = 0; k < 9; k++)
        chi += (wins[k] - 1000.0) * (wins[k] - 1000.0) / 1000.0;
    assert_true(chi < 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_commitment_is_the_hash_of_the_seed),
        cmocka_unit_test(c6_winners_are_those_that_another_program_finds),
        cmocka_unit_test(a_single_entry_wins_and_keeps_its_own_number),
        cmocka_unit_test(ten_thousand_are_ranked_each_once),
        cmocka_unit_test(another_seed_or_another_buyer_is_another_draw),
        cmocka_unit_test(every_place_wins_about_as_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
