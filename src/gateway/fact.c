/* fact.c - one list of members says how a fact is written and how it is read.
 *
 *   (1) Only members that are not empty are written, except for the kind and the state of that kind.
 *   (2) An unknown member, or a blank, is rejected: a dead letter edited by hand must not lose an
 *       amount to a misspelled name. The sum of the lengths of all known members must be the length
 *       of the text. The scanner rejects duplicate members. */
#include "gateway/fact.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"

#include <string.h>

static const char *const kind_words[] = {
    [FACT_NONE] = "none",     [FACT_INTENT] = "intent",   [FACT_CHARGE] = "charge",
    [FACT_REFUND] = "refund", [FACT_SESSION] = "session", [FACT_DISPUTE] = "dispute",
};

static const char *const state_words[INTENT_STATES] = {
    [INTENT_OPEN] = "open",           [INTENT_ACTION] = "action",
    [INTENT_DECLINED] = "declined",   [INTENT_AUTHORIZED] = "authorized",
    [INTENT_SUCCEEDED] = "succeeded", [INTENT_CANCELED] = "canceled",
};

static const char *const refund_words[REFUND_STATUSES] = {
    [REFUND_PENDING] = "pending",     [REFUND_REQUIRES_ACTION] = "requires_action",
    [REFUND_SUCCEEDED] = "succeeded", [REFUND_FAILED] = "failed",
    [REFUND_CANCELED] = "canceled",
};

static const char *const session_words[SESSION_STATUSES] = {
    [SESSION_OPEN] = "open",
    [SESSION_EXPIRED] = "expired",
    [SESSION_COMPLETE] = "complete",
};

/* WORD(member, words, enum, when it must be there) */
#define FACT_MEMBERS(WORD, CODE, TEXT, NUMBER, FLAG)                                               \
    WORD(kind, kind_words, enum fact_kind, true)                                                   \
    WORD(state, state_words, enum intent_state, f->kind == FACT_INTENT)                            \
    WORD(refund, refund_words, enum refund_status, f->kind == FACT_REFUND)                         \
    WORD(session, session_words, enum session_status, f->kind == FACT_SESSION)                     \
    TEXT(intent_id)                                                                                \
    TEXT(payment_id)                                                                               \
    CODE(currency)                                                                                 \
    NUMBER(amount)                                                                                 \
    NUMBER(received)                                                                               \
    NUMBER(capture_before_ms)                                                                      \
    TEXT(failure_code)                                                                             \
    TEXT(decline_code)                                                                             \
    TEXT(failure_message)                                                                          \
    TEXT(cancel_reason)                                                                            \
    TEXT(action_type)                                                                              \
    TEXT(action_url)                                                                               \
    TEXT(client_secret)                                                                            \
    TEXT(action_details)                                                                           \
    NUMBER(action_expires_ms)                                                                      \
    TEXT(konbini_number)                                                                           \
    TEXT(konbini_store)                                                                            \
    TEXT(charge_id)                                                                                \
    FLAG(captured)                                                                                 \
    FLAG(charge_failed)                                                                            \
    FLAG(has_refunded)                                                                             \
    NUMBER(charge_refunded)                                                                        \
    TEXT(balance_transaction)                                                                      \
    TEXT(receipt_url)                                                                              \
    FLAG(has_fee)                                                                                  \
    NUMBER(fee)                                                                                    \
    NUMBER(net)                                                                                    \
    TEXT(refund_id)                                                                                \
    TEXT(refund_our_id)                                                                            \
    TEXT(refund_failure)                                                                           \
    TEXT(session_id)                                                                               \
    TEXT(session_url)                                                                              \
    TEXT(customer_id)                                                                              \
    TEXT(session_payment_status)                                                                   \
    NUMBER(session_expires_ms)                                                                     \
    TEXT(dispute_id)                                                                               \
    TEXT(dispute_status)                                                                           \
    TEXT(dispute_reason)                                                                           \
    FLAG(dispute_closed)                                                                           \
    FLAG(dispute_lost)

/* --- writing --- */

static void put_name(struct buf *b, const char *name)
{
    buf_char(b, b->n ? ',' : '{');
    buf_json(b, str_of(name));
    buf_char(b, ':');
}

static void put_text(struct buf *b, const char *name, struct str text)
{
    if (!text.n)
        return;
    put_name(b, name);
    buf_json(b, text);
}

static void put_number(struct buf *b, const char *name, int64_t value)
{
    if (!value)
        return;
    put_name(b, name);
    buf_i64(b, value);
}

static void put_flag(struct buf *b, const char *name, bool value)
{
    if (!value)
        return;
    put_name(b, name);
    buf_add(b, S("true"));
}

#define PUT_WORD(m, words, type, needed)                                                           \
    if (f->m || (needed))                                                                          \
        put_text(&b, #m, str_of((words)[f->m]));
#define PUT_CODE(m) put_text(&b, #m, (struct str){ f->m, strnlen(f->m, sizeof(f->m) - 1) });
#define PUT_TEXT(m) put_text(&b, #m, f->m);
#define PUT_NUMBER(m) put_number(&b, #m, f->m);
#define PUT_FLAG(m) put_flag(&b, #m, f->m);

struct str fact_write(struct arena *a, const struct fact *f)
{
    struct str text = { 0 };
    struct buf b;

    buf_init(&b, LIMIT_FACT);
    FACT_MEMBERS(PUT_WORD, PUT_CODE, PUT_TEXT, PUT_NUMBER, PUT_FLAG)
    buf_char(&b, '}');
    if (!b.failed)
        text = arena_str(a, buf_str(&b));
    buf_release(&b);
    return text;
}

/* --- reading --- */

#define AT_WORD(m, words, type, needed) AT_##m,
#define AT(m) AT_##m,
enum { FACT_MEMBERS(AT_WORD, AT, AT, AT, AT) AT_COUNT };

#define NAME_WORD(m, words, type, needed) [AT_##m] = #m,
#define NAME(m) [AT_##m] = #m,
static const char *const names[AT_COUNT] = { FACT_MEMBERS(NAME_WORD, NAME, NAME, NAME, NAME) };

_Static_assert(AT_COUNT <= 64, "one json_pick() finds them all");

struct fact_reading {
    struct arena *arena;
    struct json_value v[AT_COUNT];
    enum err err; /* the first error; no member is read after it */
};

static void fact_refuse(struct fact_reading *r)
{
    if (!r->err)
        r->err = ERR_VALIDATION;
}

/* The value, or NULL where it is absent. Another type is an error. */
static const struct json_value *fact_find(struct fact_reading *r, size_t at, enum json_type type)
{
    const struct json_value *v = &r->v[at];

    if (v->type == type)
        return v;
    if (v->type != JSON_ABSENT)
        fact_refuse(r);
    return NULL;
}

static void fact_read_text(struct fact_reading *r, size_t at, struct str *ret_text)
{
    const struct json_value *v = fact_find(r, at, JSON_STRING);

    if (!v || r->err)
        return;
    if (v->has_escape)
        r->err = json_unescape(r->arena, v, ret_text);
    else
        *ret_text = v->raw;
}

static void fact_read_number(struct fact_reading *r, size_t at, int64_t *ret_value)
{
    const struct json_value *v = fact_find(r, at, JSON_NUMBER);

    if (v && !str_to_i64(v->raw, ret_value))
        fact_refuse(r);
}

static void fact_read_flag(struct fact_reading *r, size_t at, bool *ret_value)
{
    const struct json_value *v = fact_find(r, at, JSON_BOOL);

    if (v)
        *ret_value = str_eq(v->raw, S("true"));
}

static bool is_code(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 'A' || s.p[i] > 'Z')
            return false;
    return s.n == 3;
}

/* Any three letters. Whether it is the payment's currency is checked where the fact is applied. */
static void fact_read_code(struct fact_reading *r, size_t at, char ret_code[4])
{
    const struct json_value *v = fact_find(r, at, JSON_STRING);

    if (v && is_code(v->raw))
        memcpy(ret_code, v->raw.p, v->raw.n);
    else if (v)
        fact_refuse(r);
}

static unsigned fact_read_word(struct fact_reading *r, size_t at, const char *const *words,
                               unsigned n, bool needed)
{
    const struct json_value *v = fact_find(r, at, JSON_STRING);
    unsigned i = 0;

    if (v)
        while (i < n && !str_eq(v->raw, str_of(words[i])))
            i++;
    if (i == n || (!v && needed))
        fact_refuse(r);
    return i;
}

#define TAKE_WORD(m, words, type, needed)                                                          \
    f->m = (type)fact_read_word(r, AT_##m, words, COUNT(words), needed);
#define TAKE_CODE(m) fact_read_code(r, AT_##m, f->m);
#define TAKE_TEXT(m) fact_read_text(r, AT_##m, &f->m);
#define TAKE_NUMBER(m) fact_read_number(r, AT_##m, &f->m);
#define TAKE_FLAG(m) fact_read_flag(r, AT_##m, &f->m);

static enum err fact_read_members(struct fact_reading *r, struct fact *f)
{
    FACT_MEMBERS(TAKE_WORD, TAKE_CODE, TAKE_TEXT, TAKE_NUMBER, TAKE_FLAG)
    return r->err;
}

/* The braces, and for each member a comma (but the first), two quotes, a colon and the value. */
static size_t fact_length(const struct json_value v[AT_COUNT])
{
    size_t n = sizeof("{}") - 1, members = 0;

    for (size_t i = 0; i < AT_COUNT; i++) {
        if (v[i].type == JSON_ABSENT)
            continue;
        n += strlen(names[i]) + (members++ ? sizeof(",\"\":") : sizeof("\"\":")) - 1;
        n += v[i].raw.n + (v[i].type == JSON_STRING ? 2 : 0);
    }
    return n;
}

enum err fact_read(struct arena *a, struct str text, struct fact *ret_fact)
{
    struct fact_reading r = { .arena = a };
    struct fact f = { 0 };
    enum err e = json_pick(text, names, AT_COUNT, r.v, NULL);

    if (e)
        return e;
    if (fact_length(r.v) != text.n)
        return ERR_VALIDATION;
    e = fact_read_members(&r, &f);
    if (e)
        return e;
    *ret_fact = f;
    return OK;
}
