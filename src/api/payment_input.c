/* payment_input.c - the scanner json_pick() takes the known fields out of the body in one pass, the
 * reader of the operation checks them, and a second walk over the keys reports unknown ones. */
#include "api/payment_input.h"

#include "base/limits.h"
#include "observe/mask.h"

#include <stdio.h>
#include <string.h>

enum { REASON_MAX = 200, FIELDS_MAX = 8, NAME_SHOWN = 64 };

/* The problems, in English and Japanese. */
#define WORDS_LIST(X)                                                                              \
    X(REQUIRED, "is required", "必須です")                                                         \
    X(TWICE, "must be given once", "1 回だけ指定してください")                                     \
    X(NOT_UUID, "must be a UUID", "UUID を指定してください")                                       \
    X(NOT_OBJECT, "must be a JSON object", "JSON オブジェクトにしてください")                      \
    X(UNKNOWN, "is not a field of this request", "このリクエストにない項目です")                   \
    X(NOT_AMOUNT, "must be a whole number from 1 to 99999999", "1〜99999999 の整数にしてください") \
    X(NOT_CURRENCY, "must be an ISO 4217 code like JPY",                                           \
      "JPY のような ISO 4217 通貨コードにしてください")                                            \
    X(NOT_TEXT_200, "must be a text of at most 200 characters",                                    \
      "200 文字以内の文字列にしてください")                                                        \
    X(NOT_TOKEN, "must be a token of 1 to 255 characters, without blanks",                         \
      "空白を含まない 1〜255 文字のトークンにしてください")                                        \
    X(NOT_TYPE, "must be card or konbini", "card または konbini を指定してください")               \
    X(NOT_ANY_TYPE, "must be card, konbini, paypay or bank_transfer",                              \
      "card、konbini、paypay または bank_transfer を指定してください")                             \
    X(CARD, "looks like a card number; send the gateway's token instead",                          \
      "カード番号のようです。決済サービスのトークンを送ってください")

#define WORDS_NAME(name, en, ja) WORDS_##name,
enum payment_input_words { WORDS_LIST(WORDS_NAME) };
#undef WORDS_NAME

static void payment_input_say(struct json_problems *p, const char *field,
                              enum payment_input_words w)
{
    static const char *const words[][2] = {
#define WORDS_ROW(name, en, ja) { en, ja },
        WORDS_LIST(WORDS_ROW)
#undef WORDS_ROW
    };

    json_problem_in(p, field, words[w][0], words[w][1]);
}

/* --- the key --- */

void payment_input_key(struct str header, size_t count, struct payment_input *in,
                       struct json_problems *p)
{
    static const char *const field = "Idempotency-Key";

    if (count == 0)
        payment_input_say(p, field, WORDS_REQUIRED);
    else if (count > 1)
        payment_input_say(p, field, WORDS_TWICE);
    else if (!key_parse(header, &in->key))
        payment_input_say(p, field, WORDS_NOT_UUID);
}

/* --- card numbers --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Copies the digits, writes one dash for a run of blanks, dashes and dots, and a semicolon for
 * every other character. So letters around a number do not hide it from mask_cards(), and the
 * number does not look like a JSON number, which mask_cards() leaves alone. */
static size_t bare_digits(struct str text, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (is_digit(c))
            out[n++] = c;
        else if (!strchr(" -.\t", c) || !c)
            out[n++] = ';';
        else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    return n;
}

bool looks_like_card(struct arena *a, struct str text)
{
    char *copy = arena_alloc(a, text.n + 1, 1);
    size_t n;

    if (!copy)
        return true; /* no memory to check the text: reject it */
    n = bare_digits(text, copy);
    mask_cards(copy, n);
    return memchr(copy, '*', n) != NULL;
}

/* --- fields; null counts as absent, except for an amount --- */

static bool is_given(const struct json_value *v)
{
    return v->type != JSON_ABSENT && v->type != JSON_NULL;
}

static size_t count_chars(struct str utf8)
{
    size_t n = 0;

    for (size_t i = 0; i < utf8.n; i++)
        n += ((unsigned char)utf8.p[i] & 0xc0) != 0x80;
    return n;
}

/* The text of a string, empty for other types. It fails only for lack of memory. */
static enum err value_text(struct arena *a, const struct json_value *v, struct str *ret_text)
{
    if (v->type != JSON_STRING) {
        *ret_text = (struct str){ 0 };
        return OK;
    }
    if (!v->has_escape) {
        *ret_text = v->raw; /* the body lives as long as the request */
        return OK;
    }
    return json_unescape(a, v, ret_text);
}

static bool read_amount(const struct json_value *v, int64_t *ret_amount)
{
    return v->type == JSON_NUMBER && str_to_i64(v->raw, ret_amount) && *ret_amount >= 1 &&
           *ret_amount <= MONEY_MAX;
}

static enum err read_text(struct arena *a, const struct json_value *v, const char *field,
                          struct str *ret_text, struct json_problems *p)
{
    enum err e = value_text(a, v, ret_text);

    if (!e && is_given(v) && (v->type != JSON_STRING || count_chars(*ret_text) > REASON_MAX))
        payment_input_say(p, field, WORDS_NOT_TEXT_200);
    return e;
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n && s.n <= METHOD_MAX;
}

static enum err read_method(struct arena *a, const struct json_value *v, struct payment_input *in,
                            struct json_problems *p)
{
    enum err e = value_text(a, v, &in->method);

    if (e || !is_given(v))
        return e;
    /* A card number without quotes is a card number, too. */
    if (looks_like_card(a, v->type == JSON_STRING ? in->method : v->raw))
        payment_input_say(p, "paymentMethod", WORDS_CARD);
    else if (v->type != JSON_STRING || !is_token(in->method))
        payment_input_say(p, "paymentMethod", WORDS_NOT_TOKEN);
    return OK;
}

static enum err read_booking(struct arena *a, const struct json_value *v, struct payment_input *in,
                             struct json_problems *p)
{
    struct str text;
    enum err e = value_text(a, v, &text);

    if (e)
        return e;
    if (!is_given(v))
        payment_input_say(p, "bookingId", WORDS_REQUIRED);
    else if (v->type != JSON_STRING || !uuid_parse(text, &in->booking))
        payment_input_say(p, "bookingId", WORDS_NOT_UUID);
    return OK;
}

static enum err read_money(struct arena *a, const struct json_value *amount,
                           const struct json_value *currency, struct payment_input *in,
                           struct json_problems *p)
{
    bool good_amount = read_amount(amount, &in->amount);
    struct str text;
    char code[4];
    enum err e = value_text(a, currency, &text);

    if (e)
        return e;
    if (!good_amount)
        payment_input_say(p, "amount", is_given(amount) ? WORDS_NOT_AMOUNT : WORDS_REQUIRED);
    if (!is_given(currency))
        payment_input_say(p, "currency", WORDS_REQUIRED);
    else if (currency->type != JSON_STRING || !currency_parse(text, code))
        payment_input_say(p, "currency", WORDS_NOT_CURRENCY);
    else if (good_amount && !money_make(in->amount, text, &in->money))
        payment_input_say(p, "amount", WORDS_NOT_AMOUNT);
    return OK;
}

/* --- the operations --- */

enum {
    CREATE_BOOKING,
    CREATE_AMOUNT,
    CREATE_CURRENCY,
    CREATE_DESCRIPTION,
    CREATE_METHOD,
    CREATE_TYPE
};
enum { PURCHASE_TYPE, PURCHASE_METHOD };
enum { OTHER_AMOUNT, OTHER_REASON };

static bool is_one_of(struct str value, struct str words)
{
    while (words.n)
        if (str_eq(str_cut(&words, ','), value))
            return true;
    return false;
}

/* An absent type is not "card": the gateway then uses its default. */
static enum err read_type(struct arena *a, const struct json_value *v, struct payment_input *in,
                          struct json_problems *p)
{
    enum err e = value_text(a, v, &in->method_type);

    if (!e && is_given(v) && !is_one_of(in->method_type, S("card,konbini,paypay,bank_transfer")))
        payment_input_say(p, "paymentMethodType", WORDS_NOT_ANY_TYPE);
    return e;
}

static enum err read_create(struct arena *a, const struct json_value *v, struct payment_input *in,
                            struct json_problems *p)
{
    enum err e = read_booking(a, &v[CREATE_BOOKING], in, p);

    if (e)
        return e;
    e = read_money(a, &v[CREATE_AMOUNT], &v[CREATE_CURRENCY], in, p);
    if (e)
        return e;
    e = read_text(a, &v[CREATE_DESCRIPTION], "description", &in->description, p);
    if (e)
        return e;
    e = read_type(a, &v[CREATE_TYPE], in, p);
    return e ? e : read_method(a, &v[CREATE_METHOD], in, p);
}

/* A purchase has no default for the type of payment method: the client must name it. */
static enum err read_purchase(struct arena *a, const struct json_value *v, struct payment_input *in,
                              struct json_problems *p)
{
    const struct json_value *type = &v[PURCHASE_TYPE];
    enum err e = value_text(a, type, &in->method_type);

    if (e)
        return e;
    if (!is_given(type))
        payment_input_say(p, "paymentMethodType", WORDS_REQUIRED);
    else if (!is_one_of(in->method_type, S("card,konbini")))
        payment_input_say(p, "paymentMethodType", WORDS_NOT_TYPE);
    return read_method(a, &v[PURCHASE_METHOD], in, p);
}

static enum err read_capture(struct arena *a, const struct json_value *v, struct payment_input *in,
                             struct json_problems *p)
{
    (void)a;
    /* An absent amount means the whole amount. null is rejected: the client may have failed to
     * compute the amount. */
    in->has_amount = v[OTHER_AMOUNT].type != JSON_ABSENT;
    if (in->has_amount && !read_amount(&v[OTHER_AMOUNT], &in->amount))
        payment_input_say(p, "amount", WORDS_NOT_AMOUNT);
    return OK;
}

static enum err read_refund(struct arena *a, const struct json_value *v, struct payment_input *in,
                            struct json_problems *p)
{
    enum err e = read_capture(a, v, in, p);

    return e ? e : read_text(a, &v[OTHER_REASON], "reason", &in->reason, p);
}

static enum err read_void(struct arena *a, const struct json_value *v, struct payment_input *in,
                          struct json_problems *p)
{
    (void)a;
    (void)v;
    (void)in;
    (void)p;
    return OK;
}

static const struct payment_body {
    const char *fields[FIELDS_MAX]; /* in the order of the enums above */
    size_t field_count;
    enum err (*read)(struct arena *a, const struct json_value *v, struct payment_input *in,
                     struct json_problems *p);
} bodies[OP_KINDS] = {
    [OP_CREATE] = { { "bookingId", "amount", "currency", "description", "paymentMethod",
                      "paymentMethodType" },
                    6,
                    read_create },
    [OP_CAPTURE] = { { "amount" }, 1, read_capture },
    [OP_REFUND] = { { "amount", "reason" }, 2, read_refund },
    [OP_VOID] = { { 0 }, 0, read_void },
};

static const struct payment_body purchase_body = { { "paymentMethodType", "paymentMethod" },
                                                   2,
                                                   read_purchase };

/* --- unknown fields --- */

/* Steps over the string that begins at p, in text that the scanner has accepted. */
static const char *string_end(const char *p)
{
    for (p++; *p != '"'; p++)
        p += *p == '\\';
    return p + 1;
}

/* Takes the next key of the outermost object out of *rest, which begins after that object's '{' in
 * text that the scanner has accepted. */
static bool next_key(struct str *rest, struct json_value *ret_key)
{
    const char *p = rest->p, *const end = rest->p + rest->n;
    int depth = 1;

    while (p < end && depth > 0) {
        const char *from = p;

        if (*p != '"') {
            depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
            p++;
            continue;
        }
        p = string_end(p);
        *ret_key =
            (struct json_value){ .type = JSON_STRING, .raw = { from + 1, (size_t)(p - from) - 2 } };
        while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
            p++;
        if (depth == 1 && *p == ':') {
            *rest = (struct str){ p, (size_t)(end - p) };
            ret_key->has_escape = memchr(ret_key->raw.p, '\\', ret_key->raw.n) != NULL;
            return true;
        }
    }
    return false;
}

static bool is_field(const struct payment_body *o, struct str name)
{
    for (size_t i = 0; i < o->field_count; i++)
        if (str_eq(str_of(o->fields[i]), name))
            return true;
    return false;
}

/* The client chose this name, so only its first NAME_SHOWN bytes are shown. */
static char *shown_name(struct arena *a, struct str name)
{
    if (name.n > NAME_SHOWN) {
        name.n = NAME_SHOWN;
        while (name.n && ((unsigned char)name.p[name.n] & 0xc0) == 0x80)
            name.n--;
    }
    return arena_cstr(a, name);
}

/* The scanner has found that body is an object. */
static enum err name_unknown(struct arena *a, const struct payment_body *o, struct str body,
                             struct json_problems *p)
{
    const char *open = memchr(body.p, '{', body.n);
    struct str rest = { open + 1, body.n - (size_t)(open + 1 - body.p) };
    struct json_value key;

    while (next_key(&rest, &key)) {
        struct str name;
        char *shown;
        enum err e = value_text(a, &key, &name);

        if (e)
            return e;
        if (is_field(o, name))
            continue;
        shown = shown_name(a, name);
        if (!shown)
            return ERR_NO_MEMORY;
        payment_input_say(p, shown, WORDS_UNKNOWN);
    }
    return OK;
}

/* --- the whole body --- */

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr(" \t\r\n", s.p[i]) || !s.p[i])
            return false;
    return true;
}

static bool is_object(struct str body)
{
    while (body.n && strchr(" \t\r\n", body.p[0]))
        body = (struct str){ body.p + 1, body.n - 1 };
    return body.n && body.p[0] == '{';
}

static enum err read_body_as(struct arena *a, const struct payment_body *o, struct str body,
                             struct payment_input *in, struct json_problems *p)
{
    struct json_value v[FIELDS_MAX];
    struct json_fault fault;
    enum err e = json_pick(body, o->fields, o->field_count, v, &fault);

    if (e == ERR_VALIDATION) {
        json_problem_fault(p, "body", &fault);
        return OK;
    }
    if (e)
        return e;
    if (!is_object(body)) {
        payment_input_say(p, "body", WORDS_NOT_OBJECT);
        return OK;
    }
    e = o->read(a, v, in, p);
    return e ? e : name_unknown(a, o, body, p);
}

enum err payment_input_body(struct arena *a, enum op_kind kind, struct str body,
                            struct payment_input *in, struct json_problems *p)
{
    if (kind != OP_CREATE && is_blank(body))
        body = S("{}");
    return read_body_as(a, &bodies[kind], body, in, p);
}

enum err payment_input_purchase(struct arena *a, struct str body, struct payment_input *in,
                                struct json_problems *p)
{
    return read_body_as(a, &purchase_body, body, in, p);
}
