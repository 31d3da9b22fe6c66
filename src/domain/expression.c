/* expression.c - evaluates the expression while reading it, with one function for each level of
 * precedence:
 *
 *     sum     = product (("+" | "-") product)*
 *     product = unary (("*" | "/") unary)*
 *     unary   = "-" unary | atom
 *     atom    = number | "retried" | function "(" sum ("," sum)* ")" | "(" sum ")"
 *
 * A check evaluates and drops the value. After a fault every level returns at once. */
#include "domain/expression.h"

#include "base/limits.h"
#include "base/time/parse.h"
#include "domain/duration.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct expression_reader {
    struct str text;
    size_t at;
    int depth;
    double retried;
    bool failed;
    struct why *why; /* or NULL */
};

/* Keeps the first fault. The value 0 has no meaning after it. */
__attribute__((format(printf, 2, 3))) static double expression_fault(struct expression_reader *r,
                                                                     const char *format, ...)
{
    struct why fault;
    va_list args;

    if (!r->failed && r->why) {
        va_start(args, format);
        why_vset(&fault, format, args);
        va_end(args);
        why_set(r->why, "character %zu: %s", r->at + 1, fault.text);
    }
    r->failed = true;
    return 0;
}

/* The next character that is not a blank; '\0' at the end, and after a fault. */
static char expression_peek(struct expression_reader *r)
{
    while (r->at < r->text.n && (r->text.p[r->at] == ' ' || r->text.p[r->at] == '\t'))
        r->at++;
    if (r->failed || r->at == r->text.n)
        return '\0';
    return r->text.p[r->at];
}

static bool expression_take(struct expression_reader *r, char c)
{
    if (expression_peek(r) != c)
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

static double expression_digits(struct expression_reader *r, double value, double *scale)
{
    for (; r->at < r->text.n && is_digit(r->text.p[r->at]); r->at++) {
        value = value * 10 + (r->text.p[r->at] - '0');
        *scale *= 10;
    }
    return value;
}

/* Divides once, at the end, so that 0.1 becomes the nearest double. */
static double expression_number(struct expression_reader *r)
{
    double scale = 1, value = expression_digits(r, 0, &scale);

    scale = 1;
    if (r->at < r->text.n && r->text.p[r->at] == '.') {
        r->at++;
        value = expression_digits(r, value, &scale);
        if (scale <= 1)
            return expression_fault(r, "digits must follow the dot");
    }
    return value / scale;
}

/* fmin and fmax would drop a NaN. */
static double expression_smaller(double x, double y)
{
    return x < y || isnan(x) ? x : y;
}

static double expression_larger(double x, double y)
{
    return x > y || isnan(x) ? x : y;
}

static const struct function {
    struct str name;
    double (*of_one)(double x);
    double (*of_two)(double x, double y);
} functions[] = {
    { S("pow"), NULL, pow },
    { S("exp"), exp, NULL },
    { S("sqrt"), sqrt, NULL },
    { S("abs"), fabs, NULL },
    { S("floor"), floor, NULL },
    { S("ceil"), ceil, NULL },
    { S("round"), round, NULL },
    { S("min"), NULL, expression_smaller },
    { S("max"), NULL, expression_larger },
};

static double expression_sum(struct expression_reader *r);

static double expression_call(struct expression_reader *r, const struct function *f)
{
    double x, y = 0;

    if (!expression_take(r, '('))
        return expression_fault(r, "%s needs its values in parentheses", f->name.p);
    x = expression_sum(r);
    if (f->of_two && !expression_take(r, ','))
        return expression_fault(r, "%s takes two values", f->name.p);
    if (f->of_two)
        y = expression_sum(r);
    if (!expression_take(r, ')'))
        return expression_fault(r,
                                expression_peek(r) == ',' ? "%s has too many values"
                                                          : "%s has no closing parenthesis",
                                f->name.p);
    return f->of_two ? f->of_two(x, y) : f->of_one(x);
}

static double expression_named(struct expression_reader *r)
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
            return expression_call(r, &functions[i]);
        }
    return expression_fault(
        r,
        "\"%.*s\" is not known; there are retried, pow, exp, sqrt, abs, floor, ceil, "
        "round, min, max",
        name.n < 16 ? (int)name.n : 16, name.p);
}

static double expression_atom(struct expression_reader *r)
{
    char c = expression_peek(r);
    double value;

    if (is_digit(c))
        return expression_number(r);
    if (is_letter(c))
        return expression_named(r);
    if (!expression_take(r, '('))
        return expression_fault(r, "a value is missing here");
    value = expression_sum(r);
    return expression_take(r, ')') ? value
                                   : expression_fault(r, "a closing parenthesis is missing here");
}

/* --- operators --- */

/* All nesting passes through this function, so it checks the depth. */
static double expression_unary(struct expression_reader *r)
{
    double value;

    if (r->failed)
        return 0;
    if (r->depth == LIMIT_EXPRESSION_DEPTH)
        return expression_fault(r, "this is nested too deeply");
    r->depth++;
    value = expression_take(r, '-') ? -expression_unary(r) : expression_atom(r);
    r->depth--;
    return value;
}

static double expression_product(struct expression_reader *r)
{
    double value = expression_unary(r);

    for (;;) {
        if (expression_take(r, '*'))
            value *= expression_unary(r);
        else if (expression_take(r, '/'))
            value /= expression_unary(r); /* by zero: infinite or no number, as IEEE has it */
        else
            return value;
    }
}

static double expression_sum(struct expression_reader *r)
{
    double value = expression_product(r);

    for (;;) {
        if (expression_take(r, '+'))
            value += expression_product(r);
        else if (expression_take(r, '-'))
            value -= expression_product(r);
        else
            return value;
    }
}

static double expression_evaluate(struct expression_reader *r)
{
    double value;

    if (r->text.n > LIMIT_EXPRESSION)
        return expression_fault(r, "an expression has at most %d characters", LIMIT_EXPRESSION);
    if (!expression_peek(r))
        return expression_fault(r, "the expression is empty");
    value = expression_sum(r);
    return r->failed || r->at == r->text.n ? value
                                           : expression_fault(r, "an operator is missing here");
}

bool expression_check(struct str text, struct why *why)
{
    struct expression_reader r = { .text = text, .why = why };

    expression_evaluate(&r);
    return !r.failed;
}

int64_t expression_delay_ms(struct str text, int64_t retried)
{
    struct expression_reader r = { .text = text, .retried = (double)retried };
    double ms = expression_evaluate(&r);

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
