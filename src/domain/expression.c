/* The expression is evaluated while it is read, by one function for each level of precedence:
 *
 *     sum     = product (("+" | "-") product)*
 *     product = unary (("*" | "/") unary)*
 *     unary   = "-" unary | atom
 *     atom    = number | "retried" | function "(" sum ("," sum)* ")" | "(" sum ")"
 *
 * Checking is reading and forgetting the value. After a fault every level returns at once. */
#include "domain/expression.h"

#include "base/limits.h"
#include "base/time_parse.h"
#include "domain/duration.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct reader {
    struct str text;
    size_t at;
    int depth;
    double retried;
    bool failed;
    char *why; /* EXPRESSION_WHY bytes, or NULL */
};

/* The first fault counts. It gives 0, which is as good as any other value now. */
__attribute__((format(printf, 2, 3))) static double fault(struct reader *r, const char *format, ...)
{
    va_list args;
    int n;

    if (!r->failed && r->why) {
        n = snprintf(r->why, EXPRESSION_WHY, "character %zu: ", r->at + 1);
        va_start(args, format);
        vsnprintf(r->why + n, EXPRESSION_WHY - (size_t)n, format, args);
        va_end(args);
    }
    r->failed = true;
    return 0;
}

/* The next character that is not a blank; '\0' at the end, and after a fault. */
static char peek(struct reader *r)
{
    while (r->at < r->text.n && (r->text.p[r->at] == ' ' || r->text.p[r->at] == '\t'))
        r->at++;
    if (r->failed || r->at == r->text.n)
        return '\0';
    return r->text.p[r->at];
}

static bool take(struct reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* --- atoms --- */

static double digits(struct reader *r, double value, double *scale)
{
    for (; r->at < r->text.n && is_digit(r->text.p[r->at]); r->at++) {
        value = value * 10 + (r->text.p[r->at] - '0');
        *scale *= 10;
    }
    return value;
}

/* One division at the end, so that 0.1 is the double that everybody else means by it. */
static double number(struct reader *r)
{
    double scale = 1, value = digits(r, 0, &scale);

    scale = 1;
    if (r->at < r->text.n && r->text.p[r->at] == '.') {
        r->at++;
        value = digits(r, value, &scale);
        if (scale <= 1)
            return fault(r, "digits must follow the dot");
    }
    return value / scale;
}

/* fmin and fmax would hide a value that is no number. */
static double smaller(double x, double y)
{
    return x < y || isnan(x) ? x : y;
}

static double larger(double x, double y)
{
    return x > y || isnan(x) ? x : y;
}

static const struct function {
    struct str name;
    double (*of_one)(double x);
    double (*of_two)(double x, double y);
} functions[] = {
    { S("pow"), NULL, pow },     { S("exp"), exp, NULL },     { S("sqrt"), sqrt, NULL },
    { S("abs"), fabs, NULL },    { S("floor"), floor, NULL }, { S("ceil"), ceil, NULL },
    { S("round"), round, NULL }, { S("min"), NULL, smaller }, { S("max"), NULL, larger },
};

static double sum(struct reader *r);

static double call(struct reader *r, const struct function *f)
{
    double x, y = 0;

    if (!take(r, '('))
        return fault(r, "%s needs its values in parentheses", f->name.p);
    x = sum(r);
    if (f->of_two && !take(r, ','))
        return fault(r, "%s takes two values", f->name.p);
    if (f->of_two)
        y = sum(r);
    if (!take(r, ')'))
        return fault(r, peek(r) == ',' ? "%s has too many values" : "%s has no closing parenthesis",
                     f->name.p);
    return f->of_two ? f->of_two(x, y) : f->of_one(x);
}

static double named(struct reader *r)
{
    struct str name = { r->text.p + r->at, 0 };

    while (r->at + name.n < r->text.n &&
           (is_letter(name.p[name.n]) || (name.n && is_digit(name.p[name.n]))))
        name.n++;
    if (str_eq(name, S("retried"))) {
        r->at += name.n;
        return r->retried;
    }
    for (size_t i = 0; i < COUNT(functions); i++)
        if (str_eq(name, functions[i].name)) {
            r->at += name.n;
            return call(r, &functions[i]);
        }
    return fault(r,
                 "\"%.*s\" is not known; there are retried, pow, exp, sqrt, abs, floor, ceil, "
                 "round, min, max",
                 name.n < 16 ? (int)name.n : 16, name.p);
}

static double atom(struct reader *r)
{
    char c = peek(r);
    double value;

    if (is_digit(c))
        return number(r);
    if (is_letter(c))
        return named(r);
    if (!take(r, '('))
        return fault(r, "a value is missing here");
    value = sum(r);
    return take(r, ')') ? value : fault(r, "a closing parenthesis is missing here");
}

/* --- operators --- */

/* Every way deeper leads through here. */
static double unary(struct reader *r)
{
    double value;

    if (r->failed)
        return 0;
    if (r->depth == LIMIT_EXPRESSION_DEPTH)
        return fault(r, "this is nested too deeply");
    r->depth++;
    value = take(r, '-') ? -unary(r) : atom(r);
    r->depth--;
    return value;
}

static double product(struct reader *r)
{
    double value = unary(r);

    for (;;) {
        if (take(r, '*'))
            value *= unary(r);
        else if (take(r, '/'))
            value /= unary(r); /* by zero: infinite or no number, as IEEE has it */
        else
            return value;
    }
}

static double sum(struct reader *r)
{
    double value = product(r);

    for (;;) {
        if (take(r, '+'))
            value += product(r);
        else if (take(r, '-'))
            value -= product(r);
        else
            return value;
    }
}

static double evaluate(struct reader *r)
{
    double value;

    if (r->text.n > LIMIT_EXPRESSION)
        return fault(r, "an expression has at most %d characters", LIMIT_EXPRESSION);
    if (!peek(r))
        return fault(r, "the expression is empty");
    value = sum(r);
    return r->failed || r->at == r->text.n ? value : fault(r, "an operator is missing here");
}

bool expression_check(struct str text, char why[EXPRESSION_WHY])
{
    struct reader r = { .text = text, .why = why };

    evaluate(&r);
    return !r.failed;
}

int64_t expression_delay_ms(struct str text, int64_t retried)
{
    struct reader r = { .text = text, .retried = (double)retried };
    double ms = evaluate(&r);

    if (r.failed || !isfinite(ms))
        return -1;
    return ms < 0 ? 0 : ms > LIMIT_BACKOFF_MS ? LIMIT_BACKOFF_MS : llround(ms);
}

/* --- without an expression --- */

int64_t backoff_delay_ms(int64_t n)
{
    double ms = 1000 * exp(2.5 * (double)(n > 1 ? n : 1));

    return ms > LIMIT_BACKOFF_MS ? LIMIT_BACKOFF_MS : llround(ms);
}

static int64_t asked_ms(struct str value, int64_t wall_ms)
{
    int64_t ms;

    value = str_trim(value);
    if (duration_parse_go(value, DURATION_BARE_IS_SECONDS, LIMIT_BACKOFF_MS, &ms) == DURATION_OK)
        return ms;
    if (!time_parse_http(value, &ms) || __builtin_sub_overflow(ms, wall_ms, &ms))
        return -1;
    return ms < 0 ? 0 : ms > LIMIT_BACKOFF_MS ? -1 : ms;
}

int64_t backoff_asked_ms(const struct backoff_headers *h, int64_t wall_ms)
{
    const struct str *const order[] = { &h->retry_after, &h->reset, &h->reset_requests,
                                        &h->reset_tokens };

    for (size_t i = 0; i < COUNT(order); i++) {
        int64_t ms = asked_ms(*order[i], wall_ms);

        if (ms >= 0)
            return ms;
    }
    return -1;
}
