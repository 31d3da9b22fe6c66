/* vouchers.c - konbini: a slip that the customer pays in a convenience store.
 *
 *   confirm --> requires_action --paid-----> succeeded                  charge.succeeded, succeeded
 *                               --expired--> requires_payment_method    payment_failed
 *
 * A slip is paid on its page or by POST /_sandbox/konbini, or it expires at its time. It is never
 * paid by itself, except with Stripe's test addresses and numbers, which ask for a certain end. */
#include "base/json/json.h"
#include "base/limits.h"
#include "sandbox/impl.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/checkout.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)
#define JAPAN_MS INT64_C(32400000) /* Japan's offset from UTC, all year */
enum { DAYS = 3, CODE_DIGITS = 8, NUMBER_DIGITS = 11, DESCRIPTION_MAX = 22 };

bool sb_voucher_waits(const struct intent *p)
{
    return p->status == INTENT_NEEDS_ACTION && str_eq(p->card, S("konbini"));
}

struct str sb_voucher_url(struct work *w, struct str intent)
{
    return work_text(w, "http://%s/_sandbox/konbini/" STR_FMT, impl_of(w->s)->address,
                     STR_ARG(intent));
}

/* --- parameters --- */

static bool is_confirmation_number(struct str s)
{
    size_t zeros = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        zeros += s.p[i] == '0';
    }
    return (s.n == 10 || s.n == 11) && zeros < s.n;
}

static bool take_confirmation_number(struct stripe_call *v, struct voucher *x)
{
    struct param t;

    if (!param_text(v, "confirmation_number", LIMIT_SANDBOX_TEXT, &t))
        return false;
    if (t.text.n && !is_confirmation_number(t.text))
        return stripe_reject_invalid(
            v, NULL, "payment_method_options[konbini][confirmation_number]",
            "The confirmation number must be 10 to 11 digits, not all of them 0.");
    if (str_eq(t.text, S("01234567890")))
        return stripe_reject_invalid(v, "payment_intent_konbini_rejected_confirmation_number",
                                     "payment_method_options[konbini][confirmation_number]",
                                     "The confirmation number was rejected by the provider.");
    if (t.has)
        x->confirmation_number = t.text;
    return true;
}

static bool take_end(struct stripe_call *v, struct voucher *x)
{
    struct param days, until;

    if (!param_number(v, "expires_after_days", &days) || !param_number(v, "expires_at", &until))
        return false;
    if (days.has && until.has)
        return stripe_reject_invalid(
            v, "parameters_exclusive", "payment_method_options[konbini]",
            "You may only specify one of expires_after_days and expires_at.");
    if (days.has && (days.number < 1 || days.number > LIMIT_SANDBOX_VOUCHER_DAYS))
        return stripe_reject_invalid(v, NULL, "payment_method_options[konbini][expires_after_days]",
                                     "expires_after_days must be between 1 and %d.",
                                     LIMIT_SANDBOX_VOUCHER_DAYS);
    if (until.has &&
        (until.number <= v->w.now_ms / 1000 ||
         until.number > v->w.now_ms / 1000 + LIMIT_SANDBOX_VOUCHER_DAYS * (DAY_MS / 1000)))
        return stripe_reject_invalid(v, NULL, "payment_method_options[konbini][expires_at]",
                                     "expires_at must be in the future, and at most %d days away.",
                                     LIMIT_SANDBOX_VOUCHER_DAYS);
    if (days.has || until.has) {
        x->expires_after_days = days.number;
        x->asked_until_ms = until.number * 1000;
    }
    return true;
}

static bool take_options(struct stripe_call *v, void *ctx)
{
    struct voucher *x = ctx;
    struct param t;

    if (!take_confirmation_number(v, x) || !take_end(v, x) ||
        !param_text(v, "product_description", DESCRIPTION_MAX, &t))
        return false;
    if (t.has)
        x->product_description = t.text;
    return true;
}

static bool read_or_new(struct work *w, struct str intent, struct voucher *ret)
{
    enum err e = sb_voucher_read(w->tx, intent, ret);

    if (e == ERR_NOT_FOUND) {
        *ret = (struct voucher){ .intent = intent };
        return true;
    }
    return work_ok(w, e);
}

bool param_voucher(struct stripe_call *v, const struct intent *p)
{
    const struct form *f = form_get(&v->form, S("payment_method_options"));
    struct voucher x;

    f = f ? form_get(f, S("konbini")) : NULL;
    if (!f || !f->first)
        return true;
    return read_or_new(&v->w, p->id, &x) && param_within(v, f, take_options, &x) &&
           sb_voucher_write(&v->w, &x);
}

/* --- the slip --- */

/* The last second of the day in Japan, so many days from today. */
static int64_t end_of_day_ms(int64_t now_ms, int64_t days)
{
    int64_t today = (now_ms + JAPAN_MS) / DAY_MS;

    return (today + days + 1) * DAY_MS - JAPAN_MS - 1000;
}

static struct str random_digits(struct work *w, int count)
{
    char text[NUMBER_DIGITS + 1];

    for (int i = 0; i < count; i++)
        text[i] = (char)('1' + rng_below(&w->s->env.rng, 9));
    text[count] = '\0';
    return work_text(w, "%s", text);
}

static struct str email_of(struct work *w, struct str method)
{
    static const char *const path[] = { "email" };
    struct json_value v;
    struct method m;

    if (!work_ok(w, sb_method_read(w->tx, method, &m)) || !m.billing.n ||
        json_pick(m.billing, path, 1, &v, NULL) || v.type != JSON_STRING)
        return S("");
    return v.raw;
}

enum ending { END_LATER, END_PAID, END_LAPSED, END_LAPSED_LATER };

/* Stripe's test values. A confirmation number is looked at before the email address. */
static enum ending ending_of(struct work *w, const struct intent *p, const struct voucher *x)
{
    static const struct {
        struct str number, word;
        enum ending end;
    } signs[] = {
        { { "22222222220", 11 }, { "succeed_immediately", 19 }, END_PAID },
        { { "33333333330", 11 }, { "expire_immediately", 18 }, END_LAPSED },
        { { "44444444440", 11 }, { "expire_with_delay", 17 }, END_LAPSED_LATER },
    };
    struct str email = x->confirmation_number.n ? S("") : email_of(w, p->payment_method);

    for (size_t i = 0; i < COUNT(signs); i++)
        if (str_eq(x->confirmation_number, signs[i].number) ||
            (email.n && memmem(email.p, email.n, signs[i].word.p, signs[i].word.n)))
            return signs[i].end;
    return END_LATER;
}

static void write_slip(struct work *w, struct voucher *x)
{
    x->number = x->confirmation_number.n ? x->confirmation_number : random_digits(w, NUMBER_DIGITS);
    x->code = random_digits(w, CODE_DIGITS);
    x->store = S("");
    x->shown_until_ms =
        x->asked_until_ms
            ? x->asked_until_ms
            : end_of_day_ms(w->now_ms, x->expires_after_days ? x->expires_after_days : DAYS);
    x->lapses_ms = x->shown_until_ms;
}

bool sb_voucher_issue(struct work *w, struct intent *p)
{
    enum ending end;
    struct voucher x;

    if (!read_or_new(w, p->id, &x))
        return false;
    write_slip(w, &x);
    end = ending_of(w, p, &x);
    if (end == END_LAPSED)
        x.lapses_ms = w->now_ms;
    if (end == END_LAPSED_LATER)
        x.lapses_ms = w->now_ms + LIMIT_SANDBOX_VOUCHER_DELAY_MS;
    return sb_voucher_write(w, &x) && sb_intent_require_action(w, p) && sb_session_follow(w, p) &&
           work_add_message(w, sb_job_voucher_lapse, p->id, x.lapses_ms) &&
           (end != END_PAID || work_add_message(w, sb_job_voucher_pay, p->id, w->now_ms));
}

bool sb_voucher_pay(struct work *w, struct intent *p, struct str store)
{
    struct voucher x;

    if (!work_ok(w, sb_voucher_read(w->tx, p->id, &x)))
        return false;
    x.store = store;
    return sb_voucher_write(w, &x) && sb_intent_succeed(w, p);
}

bool sb_voucher_expire(struct work *w, struct intent *p)
{
    struct pay_attempt a = {
        .code = S("payment_intent_payment_attempt_expired"),
        .message = S("The latest payment attempt of the PaymentIntent has expired. You can provide "
                     "payment_method_data or a new PaymentMethod to attempt to fulfill this "
                     "PaymentIntent again."),
    };

    return sb_intent_failed(w, p, &a) && sb_session_follow(w, p);
}
