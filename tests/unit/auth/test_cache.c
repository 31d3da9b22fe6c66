#include "auth/cache.h"
#include "base/limits.h"
#include "unit/cm.h"

#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NOW = 1000000 };

static void digest_of(int i, unsigned char out[TOKEN_DIGEST])
{
    SHA256((const unsigned char *)&i, sizeof(i), out);
}

static struct verified good(int i, uint64_t key)
{
    struct verified v = { .claims = { .from_ms = 0, .until_ms = NOW + 1000 }, .key = key };

    memcpy(v.claims.who.user.b, &i, sizeof(i));
    return v;
}

static void put(struct cache *c, int i, uint64_t key, uint64_t generation)
{
    unsigned char d[TOKEN_DIGEST];
    struct verified v = good(i, key);

    digest_of(i, d);
    cache_put(c, d, &v, generation);
}

static bool has(struct cache *c, int i, int64_t now_ms)
{
    unsigned char d[TOKEN_DIGEST];
    struct verified v;
    int user;

    digest_of(i, d);
    if (!cache_get(c, d, now_ms, &v))
        return false;
    memcpy(&user, v.claims.who.user.b, sizeof(user));
    assert_int_equal(user, i); /* never another's */
    return true;
}

static void a_token_is_remembered_until_it_ends(void **state)
{
    struct cache *c = cache_new();

    (void)state;
    assert_false(has(c, 1, NOW));
    put(c, 1, 0, 0);
    assert_true(has(c, 1, NOW));
    assert_true(has(c, 1, NOW + 999));
    assert_false(has(c, 1, -1)); /* the clock was set back before its nbf */
    assert_true(has(c, 1, NOW));
    assert_false(has(c, 1, NOW + 1000));
    assert_false(has(c, 1, NOW)); /* it is gone for good */
    cache_free(c);
    cache_free(NULL);
}

static void it_has_a_size_and_keeps_what_is_asked_for(void **state)
{
    struct cache *c = cache_new();
    int kept = 0;

    (void)state;
    for (int i = 0; i < 10 * LIMIT_TOKEN_CACHE; i++) {
        put(c, i, 0, 0);
        assert_true(has(c, i, NOW));
        assert_true(has(c, 0, NOW)); /* asked for all the time */
    }
    for (int i = 0; i < 10 * LIMIT_TOKEN_CACHE; i++)
        kept += has(c, i, NOW);
    assert_true(kept <= LIMIT_TOKEN_CACHE && kept > LIMIT_TOKEN_CACHE * 9 / 10);
    cache_free(c);
}

static struct key_set *set_with(uint64_t generation, struct public_key *k)
{
    struct key_set *s = calloc(1, sizeof(*s) + sizeof(k));

    s->generation = generation;
    s->count = k != NULL;
    s->keys[0] = k;
    return s;
}

static void what_a_gone_key_verified_is_forgotten(void **state)
{
    struct public_key one = { .print = 11 }, two = { .print = 33 };
    struct key_set *first = set_with(1, &one), *second = set_with(2, &two),
                   *third = set_with(3, &two), *none = set_with(4, NULL);
    struct cache *c = cache_new();

    (void)state;
    cache_rekey(c, first);
    put(c, 1, 11, 1);
    put(c, 2, 0, 1);
    assert_true(has(c, 1, NOW));
    cache_rekey(c, second);
    assert_false(has(c, 1, NOW));
    assert_true(has(c, 2, NOW)); /* a key that stays */
    put(c, 1, 11, 1);            /* verified just before its key went */
    assert_false(has(c, 1, NOW));
    put(c, 3, 33, 2);
    cache_rekey(c, third); /* fetched again, the same key */
    assert_true(has(c, 3, NOW));
    cache_rekey(c, none);
    assert_false(has(c, 3, NOW));
    assert_true(has(c, 2, NOW));
    cache_free(c);
    free(first);
    free(second);
    free(third);
    free(none);
}

/* --- many threads --- */

struct shared {
    struct cache *cache;
    _Atomic uint64_t present; /* the key of the present set; set before the cache hears of it */
    struct key_set *sets[2];
    struct public_key keys[2];
};

static void *use(void *ctx)
{
    struct shared *s = ctx;

    for (int i = 0; i < 20000; i++) {
        uint64_t generation = s->present; /* odd or even: which key */

        put(s->cache, i % 500, generation % 2 ? 11 : 33, generation);
        (void)has(s->cache, (i * 7) % 500, NOW);
    }
    return NULL;
}

static void loops_share_it(void **state)
{
    struct shared s = { .cache = cache_new(), .keys = { { .print = 33 }, { .print = 11 } } };
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 2; i++)
        s.sets[i] = set_with(0, &s.keys[i]);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, &s), 0);
    for (uint64_t generation = 1; generation <= 200; generation++) {
        struct key_set *set = s.sets[generation % 2];

        set->generation = generation;
        s.present = generation;
        cache_rekey(s.cache, set);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 500; i++) { /* the present key is 33: nothing of 11 is left */
        unsigned char d[TOKEN_DIGEST];
        struct verified v;

        digest_of(i, d);
        if (cache_get(s.cache, d, NOW, &v))
            assert_int_equal(v.key, 33);
    }
    cache_free(s.cache);
    free(s.sets[0]);
    free(s.sets[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_token_is_remembered_until_it_ends),
        TEST(it_has_a_size_and_keeps_what_is_asked_for),
        TEST(what_a_gone_key_verified_is_forgotten),
        TEST(loops_share_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
