/* spoil.c - an answer that is spoiled on the wire. The operation has run and its true answer is
 * stored under its key; a repeat of the call gets that. */
#include "base/buf.h"
#include "sandbox/shared.h"

#include <string.h>

#define JSON S("application/json")
#define HTML S("text/html; charset=utf-8")

static const struct str proxy_page = {
    "<!doctype html>\n<title>Bad gateway</title>\n<h1>Something stands in between</h1>\n",
    sizeof("<!doctype html>\n<title>Bad gateway</title>\n<h1>Something stands in between</h1>\n") -
        1
};

/* Replaces each jpy by usd, and every other currency by jpy. */
static void send_other_currency(struct request *r, int status, struct str body)
{
    static const char key[] = "\"currency\":\"";
    struct str rest = body;
    struct buf b;
    char *at;

    buf_init(&b, body.n + 1);
    while (rest.n && (at = memmem(rest.p, rest.n, key, sizeof(key) - 1))) {
        size_t n = (size_t)(at - rest.p) + sizeof(key) - 1;
        struct str code = { rest.p + n, rest.n - n < 3 ? rest.n - n : 3 };

        buf_add(&b, (struct str){ rest.p, n });
        buf_add(&b, str_eq(code, S("jpy")) ? S("usd") : S("jpy"));
        rest = (struct str){ code.p + code.n, rest.n - n - code.n };
    }
    buf_add(&b, rest);
    reply_send(r, status, JSON, b.failed ? body : buf_str(&b));
    buf_release(&b);
}

void sandbox_answer_send(struct request *r, const struct sandbox_fault *f, int status,
                         struct str body)
{
    switch (f->answer) {
    case SPOIL_NONE:
    case SPOILS: reply_send(r, status, JSON, body); return;
    case SPOIL_HALF_JSON: reply_send(r, status, JSON, (struct str){ body.p, body.n / 2 }); return;
    case SPOIL_HTML: reply_send(r, status, HTML, proxy_page); return;
    case SPOIL_TYPE: reply_send(r, status, HTML, body); return;
    case SPOIL_REDIRECT:
        reply_header(r, S("Location"), r->target);
        reply_send(r, 302, HTML, proxy_page);
        return;
    case SPOIL_CURRENCY: send_other_currency(r, status, body); return;
    case SPOIL_CUT: reply_cut(r, status, JSON, body, body.n - body.n / 2); return;
    }
}
