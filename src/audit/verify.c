/* verify.c - one step of a verification. It only reads, and keeps its place in the cursor that the
 * caller sends with the next step.
 *
 *   (1) After a row that does not match, the chain is followed with the stored hash, so that one
 *       change is one problem.
 *   (2) The chain's row is read before the seals that are compared with it: the sealer may add more
 *       meanwhile. */
#include "audit/verify.h"

#include "auth/base64url.h"
#include "base/hex.h"
#include "base/json/write.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

enum {
    PLACE_BYTES = 1 + 8 + AUDIT_HASH,
    COL_N = AUDIT_COLUMNS,
    COL_SEQ,
    COL_HASH,
    JSON_MAX = 256 * 1024
};

struct problem {
    int64_t n, seq; /* 0: none */
    const char *kind;
    char detail[200];
};

struct misfit { /* a row that does not match its seal */
    size_t problem;
    unsigned char before[AUDIT_HASH], hash[AUDIT_HASH];
    struct val v[AUDIT_COLUMNS];
};

struct audit_verify_walk {
    struct arena *arena;
    const struct audit_expect *expect;
    struct audit_place place;
    int64_t chain_n, chain_low;
    unsigned char chain_hash[AUDIT_HASH]; /* of seal chain_n */
    size_t looked;
    int64_t verified, unsealed;
    bool torn; /* the previous seal is gone, so the next row cannot be checked */
    struct problem *problems;
    size_t count;
    struct misfit *misfits;
    size_t misfit_count;
};

/* --- texts --- */

bool audit_place_read(struct str text, struct audit_place *ret_place)
{
    struct str b;
    struct arena a;
    bool fine;

    arena_init(&a, 1024);
    fine = text.n == AUDIT_PLACE_TEXT && !base64url_decode(&a, text, &b) && b.n == PLACE_BYTES &&
           (b.p[0] == 0 || b.p[0] == 1);
    if (fine) {
        *ret_place = (struct audit_place){ .rows = b.p[0], .at = i64_get(b.p + 1) };
        memcpy(ret_place->hash, b.p + 9, AUDIT_HASH);
    }
    arena_release(&a);
    return fine;
}

static void write_place(struct buf *out, const struct audit_place *p)
{
    unsigned char b[PLACE_BYTES] = { p->rows };

    i64_put(b + 1, p->at);
    memcpy(b + 9, p->hash, AUDIT_HASH);
    base64url_add(out, (struct str){ (const char *)b, sizeof(b) });
}

bool audit_expect_read(struct str text, struct audit_expect *ret_expect)
{
    struct str n = str_cut(&text, ':');
    struct audit_expect e;

    if (!str_to_i64(n, &e.n) || e.n < 1 || text.n != 2 * AUDIT_HASH)
        return false;
    for (size_t i = 0; i < AUDIT_HASH; i++) {
        int high = hex_value(text.p[2 * i]), low = hex_value(text.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        e.hash[i] = (unsigned char)(high << 4 | low);
    }
    *ret_expect = e;
    return true;
}

/* --- problems --- */

static struct problem *problem_add(struct audit_verify_walk *w, const char *kind, int64_t n,
                                   int64_t seq)
{
    struct problem *p = &w->problems[w->count++];

    *p = (struct problem){ .n = n, .seq = seq, .kind = kind };
    return p;
}

/* True: there is no room for the four problems that one row can have. */
static bool is_full(const struct audit_verify_walk *w)
{
    return w->count + 4 > LIMIT_AUDIT_PROBLEMS;
}

#define SAY(p, ...) snprintf((p)->detail, sizeof((p)->detail), __VA_ARGS__)

/* --- along the chain --- */

static void check_gap(struct audit_verify_walk *w, int64_t n)
{
    int64_t first = w->place.at + 1;

    if (n == first)
        return;
    SAY(problem_add(w, "chain_broken", first, 0), "seals %lld to %lld are gone", (long long)first,
        (long long)n - 1);
    w->torn = true;
}

static void check_expected(struct audit_verify_walk *w, int64_t n, const unsigned char *hash)
{
    if (n == w->expect->n && memcmp(hash, w->expect->hash, AUDIT_HASH) != 0)
        SAY(problem_add(w, "chain_broken", n, 0),
            "seal %lld is not the expected one: the chain up to it was made anew", (long long)n);
}

/* All seals could have been replaced; the chain's row still has the hash of the last one. */
static void check_chain_end(struct audit_verify_walk *w, int64_t n, const unsigned char *hash)
{
    if (n == w->chain_n && memcmp(hash, w->chain_hash, AUDIT_HASH) != 0)
        SAY(problem_add(w, "chain_broken", n, 0),
            "seal %lld is not the one that the chain's own row ends with", (long long)n);
}

static void keep_misfit(struct audit_verify_walk *w, const struct row *row,
                        const unsigned char *hash)
{
    struct misfit *m = &w->misfits[w->misfit_count++];

    m->problem = w->count - 1;
    memcpy(m->before, w->place.hash, AUDIT_HASH);
    memcpy(m->hash, hash, AUDIT_HASH);
    memcpy(m->v, row->col, sizeof(m->v));
}

static void check_row(struct audit_verify_walk *w, const struct row *row, const unsigned char *hash)
{
    int64_t n = row->col[COL_N].i, seq = row->col[COL_SEQ].i;
    unsigned char is[AUDIT_HASH];

    if (row->col[AUDIT_SEQ].type == VAL_NULL) {
        SAY(problem_add(w, "missing", n, seq), "row %lld was sealed and is gone", (long long)seq);
        return;
    }
    if (w->torn)
        return;
    audit_link(w->place.hash, row->col, is);
    if (memcmp(is, hash, AUDIT_HASH) == 0) {
        w->verified++;
        return;
    }
    SAY(problem_add(w, "changed", n, seq), "row %lld, or its seal %lld, is not what was sealed",
        (long long)seq, (long long)n);
    keep_misfit(w, row, hash);
}

static enum err check_seal(void *ctx, const struct row *row)
{
    struct audit_verify_walk *w = ctx;
    const struct val *hash = &row->col[COL_HASH];

    if (hash->type != VAL_BLOB || hash->s.n != AUDIT_HASH)
        return ERR_INTERNAL;
    if (is_full(w))
        return OK;
    w->looked++;
    check_gap(w, row->col[COL_N].i);
    check_row(w, row, (const unsigned char *)hash->s.p);
    check_expected(w, row->col[COL_N].i, (const unsigned char *)hash->s.p);
    check_chain_end(w, row->col[COL_N].i, (const unsigned char *)hash->s.p);
    w->torn = false;
    w->place.at = row->col[COL_N].i;
    memcpy(w->place.hash, hash->s.p, AUDIT_HASH);
    return OK;
}

/* True: the content of `row`, with its own number or with that of `place`, is what was sealed as
 * `place`: rows were reordered. */
static bool misfit_matches(const struct misfit *place, const struct misfit *row)
{
    struct val v[AUDIT_COLUMNS];
    unsigned char is[AUDIT_HASH];

    memcpy(v, row->v, sizeof(v));
    for (int i = 0; i < 2; i++) {
        audit_link(place->before, v, is);
        if (memcmp(is, place->hash, AUDIT_HASH) == 0)
            return true;
        v[AUDIT_SEQ] = place->v[AUDIT_SEQ];
    }
    return false;
}

static void find_reordered(struct audit_verify_walk *w)
{
    for (size_t i = 0; i < w->misfit_count; i++)
        for (size_t k = 0; k < w->misfit_count; k++) {
            struct problem *p = &w->problems[w->misfits[i].problem];

            if (i == k || !misfit_matches(&w->misfits[i], &w->misfits[k]))
                continue;
            p->kind = "reordered";
            SAY(p, "what was sealed as seal %lld stands in row %lld now", (long long)p->n,
                (long long)w->misfits[k].v[AUDIT_SEQ].i);
        }
}

/* The chain's row is read after the last seal, and both are written in one commit: so it must not end
 * before that seal. */
static enum err check_turned_back(struct tx *tx, struct audit_verify_walk *w)
{
    struct row row;
    enum err e = tx_row(tx, STMT_audit_chain_get, NULL, 0, &row);

    if (!e && row.col[0].i < w->place.at)
        SAY(problem_add(w, "chain_broken", w->place.at, 0),
            "the chain's own row ends at %lld, and there are seals up to %lld",
            (long long)row.col[0].i, (long long)w->place.at);
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err end_of_chain(struct tx *tx, struct audit_verify_walk *w)
{
    enum err e = check_turned_back(tx, w);

    if (e)
        return e;
    if (w->chain_n > w->place.at)
        SAY(problem_add(w, "chain_broken", w->place.at + 1, 0), "seals %lld to %lld are gone",
            (long long)w->place.at + 1, (long long)w->chain_n);
    if (w->expect->n > w->place.at && w->expect->n > w->chain_n)
        SAY(problem_add(w, "chain_broken", w->expect->n, 0),
            "the chain ends at %lld, and seal %lld was expected: its tail is cut off",
            (long long)w->place.at, (long long)w->expect->n);
    w->place = (struct audit_place){ .rows = true, .at = INT64_MIN };
    return OK;
}

static enum err verify_chain(struct tx *tx, struct audit_verify_walk *w)
{
    struct val v[] = { V_INT(w->place.at), V_INT(LIMIT_AUDIT_VERIFY) };
    enum err e = tx_each(tx, STMT_audit_sealed, v, COUNT(v), check_seal, w);

    if (e)
        return e;
    find_reordered(w);
    return w->looked < LIMIT_AUDIT_VERIFY && !is_full(w) ? end_of_chain(tx, w) : OK;
}

/* --- over the rows --- */

static enum err check_row_has_seal(void *ctx, const struct row *row)
{
    struct audit_verify_walk *w = ctx;
    int64_t seq = row->col[0].i;

    if (is_full(w))
        return OK;
    w->looked++;
    w->place.at = seq;
    if (row->col[1].type != VAL_NULL)
        return OK;
    if (seq > w->chain_low)
        w->unsealed++;
    else
        SAY(problem_add(w, "unsealed_old", 0, seq),
            "row %lld has no seal, though all up to row %lld were sealed", (long long)seq,
            (long long)w->chain_low);
    return OK;
}

static enum err verify_rows(struct tx *tx, struct audit_verify_walk *w, bool *ret_end)
{
    struct val v[] = { V_INT(w->place.at), V_INT(LIMIT_AUDIT_VERIFY) };
    enum err e = tx_each(tx, STMT_audit_rows_sealed, v, COUNT(v), check_row_has_seal, w);

    *ret_end = !e && w->looked < LIMIT_AUDIT_VERIFY && !is_full(w);
    return e;
}

/* --- the answer as JSON --- */

static void out_or_null(struct buf *b, const char *name, int64_t v)
{
    if (v)
        out_int(b, name, v);
    else
        out_json(b, name, (struct str){ 0 });
}

static void out_problems(struct buf *b, const struct audit_verify_walk *w)
{
    out_name(b, "problems");
    buf_char(b, '[');
    for (size_t i = 0; i < w->count; i++) {
        const struct problem *p = &w->problems[i];

        buf_add(b, i ? S(",{") : S("{"));
        out_or_null(b, "n", p->n);
        out_or_null(b, "seq", p->seq);
        out_text(b, "kind", str_of(p->kind));
        out_text(b, "detail", str_of(p->detail));
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

static enum err out_head(struct tx *tx, struct buf *b)
{
    char hex[2 * AUDIT_HASH + 1];
    struct row row;
    enum err e = tx_row(tx, STMT_audit_seal_last, NULL, 0, &row);

    if (e == ERR_NOT_FOUND)
        out_json(b, "head", (struct str){ 0 });
    if (e || row.col[1].s.n != AUDIT_HASH)
        return e == ERR_NOT_FOUND ? OK : e ? e : ERR_INTERNAL;
    *hex_put(hex, (const unsigned char *)row.col[1].s.p, AUDIT_HASH) = '\0';
    out_name(b, "head");
    buf_fmt(b, "{\"n\":%lld,\"hash\":\"%s\"}", (long long)row.col[0].i, hex);
    return OK;
}

static enum err audit_verify_show(struct tx *tx, const struct audit_verify_walk *w, bool end,
                                  struct str *ret_json)
{
    struct buf b;
    enum err e;

    buf_init(&b, JSON_MAX);
    buf_char(&b, '{');
    out_int(&b, "verified", w->verified);
    out_problems(&b, w);
    e = out_head(tx, &b);
    out_int(&b, "unsealed", w->unsealed);
    if (end) {
        out_json(&b, "nextCursor", (struct str){ 0 });
    } else {
        out_name(&b, "nextCursor");
        buf_char(&b, '"');
        write_place(&b, &w->place);
        buf_char(&b, '"');
    }
    buf_char(&b, '}');
    *ret_json = out_done(&b, w->arena);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- a step --- */

static enum err read_chain(struct tx *tx, struct audit_verify_walk *w)
{
    struct row row;
    enum err e = tx_row(tx, STMT_audit_chain_get, NULL, 0, &row);

    if (e == ERR_NOT_FOUND) {
        if (!w->place.at && !w->place.rows)
            SAY(problem_add(w, "chain_broken", 0, 0),
                "the chain's own row is gone from audit_chain");
        return OK;
    }
    if (e)
        return e;
    w->chain_n = row.col[0].i;
    w->chain_low = row.col[2].i;
    if (row.col[1].type != VAL_BLOB || row.col[1].s.n != AUDIT_HASH)
        return ERR_INTERNAL;
    memcpy(w->chain_hash, row.col[1].s.p, AUDIT_HASH);
    return OK;
}

enum err audit_verify_step(struct tx *tx, struct arena *a, const struct audit_place *from,
                           const struct audit_expect *expect, struct str *ret_json)
{
    struct audit_verify_walk w = { .arena = a, .expect = expect, .place = *from };
    bool end = false;
    enum err e;

    w.problems = arena_alloc(a, LIMIT_AUDIT_PROBLEMS, sizeof(*w.problems));
    w.misfits = arena_alloc(a, LIMIT_AUDIT_PROBLEMS, sizeof(*w.misfits));
    if (!w.problems || !w.misfits)
        return ERR_NO_MEMORY;
    e = read_chain(tx, &w);
    if (!e)
        e = from->rows ? verify_rows(tx, &w, &end) : verify_chain(tx, &w);
    return e ? e : audit_verify_show(tx, &w, end, ret_json);
}
