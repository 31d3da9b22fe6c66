/* query.c - reads a request's query parameter by parameter against a table of them. A parameter
 * that is unknown, repeated or malformed is a problem; all problems are answered in one 400
 * (P5). */
#include "endpoint/query.h"

#include "auth/base64url.h"
#include "base/time/parse.h"
#include "endpoint/fields.h"
#include "http/message/target.h"

#include <assert.h>
#include <string.h>

enum { NAME_SHOWN = 64, PARAMETERS_MAX = 32, CURSOR_TEXT = 22 };

struct query {
    struct request *request;
    const struct query_parameter *parameters;
    size_t n;
    void *ctx;
    uint32_t seen; /* one bit for each parameter that was given */
    struct json_problems problems;
};

static enum err name_unknown(struct query *q, struct str name)
{
    char *shown;

    name.n = name.n < NAME_SHOWN ? name.n : NAME_SHOWN;
    shown = arena_cstr(&q->request->arena, name);
    if (!shown)
        return ERR_NO_MEMORY;
    json_problem_in(&q->problems, shown, "is not a parameter of this request",
                    "このリクエストにないパラメーターです");
    return OK;
}

static const struct query_parameter *parameter_of(const struct query *q, struct str name)
{
    for (size_t i = 0; i < q->n; i++)
        if (str_eq(str_of(q->parameters[i].name), name))
            return &q->parameters[i];
    return NULL;
}

/* pair: "name=value", still percent-encoded. */
static enum err read_pair(struct query *q, struct str pair)
{
    struct request *r = q->request;
    struct str raw = str_cut(&pair, '='), name, value;
    const struct query_parameter *known;
    uint32_t bit;

    name = percent_decode(&r->arena, raw);
    value = percent_decode(&r->arena, pair);
    known = name.p ? parameter_of(q, name) : NULL;
    if (!known)
        return name_unknown(q, name.p ? name : raw);
    bit = UINT32_C(1) << (known - q->parameters);
    if (q->seen & bit)
        json_problem_in(&q->problems, known->name, "must be given once",
                        "1 回だけ指定してください");
    else if ((pair.n && !value.p) || !known->read(r, q->ctx, value))
        json_problem_in(&q->problems, known->name, known->en, known->ja);
    q->seen |= bit;
    return OK;
}

bool query_read(struct request *r, const struct query_parameter *parameters, size_t n, void *ctx)
{
    struct query q = { .request = r, .parameters = parameters, .n = n, .ctx = ctx };
    struct str rest = r->query;
    enum err e = OK;

    assert(n <= PARAMETERS_MAX);
    fields_problems(r, &q.problems);
    while (!e && rest.n) {
        struct str pair = str_cut(&rest, '&');

        if (pair.n)
            e = read_pair(&q, pair);
    }
    return !fields_failed(r, &q.problems, e);
}

/* --- values --- */

static size_t query_count_chars(struct str utf8)
{
    size_t n = 0;

    for (size_t i = 0; i < utf8.n; i++)
        n += ((unsigned char)utf8.p[i] & 0xc0) != 0x80;
    return n;
}

bool query_text(struct str value, size_t max_chars, struct str *ret_text)
{
    *ret_text = value;
    return value.n && str_is_utf8(value) && query_count_chars(value) <= max_chars &&
           !memchr(value.p, '\0', value.n);
}

bool query_time(struct str value, int64_t *ret_ms)
{
    return time_parse(value, ret_ms) && *ret_ms > 0;
}

void query_check_times(int64_t from_ms, int64_t to_ms, struct json_problems *p)
{
    if (from_ms && to_ms && from_ms >= to_ms)
        json_problem_in(p, "to", "must be later than from", "from より後にしてください");
}

/* --- pages --- */

bool query_limit(struct str value, int most, int *ret_limit)
{
    int64_t n;

    if (!str_to_i64(value, &n) || n < 1 || n > most)
        return false;
    *ret_limit = (int)n;
    return true;
}

bool query_cursor(struct arena *a, struct str value, bool *ret_has, struct uuid *ret_id)
{
    struct str bytes;

    *ret_has = value.n == CURSOR_TEXT && !base64url_decode(a, value, &bytes) &&
               uuid_of_bytes(bytes, ret_id);
    return *ret_has;
}

void query_next_cursor(struct buf *out, const struct uuid *last)
{
    if (!last) {
        buf_add(out, S("],\"nextCursor\":null"));
        return;
    }
    buf_add(out, S("],\"nextCursor\":\""));
    base64url_add(out, uuid_bytes(last));
    buf_char(out, '"');
}
