#include "sandbox/page.h"

#include "domain/money.h"

#include <stdio.h>
#include <string.h>

/* Its hash stands in the policy, so that the browser takes this style and no other; test_page.c
 * holds one against the other. */
const char page_style[] =
    "body{font:1rem/1.6 system-ui,sans-serif;max-width:28rem;margin:2rem auto;padding:0 1"
    "rem;color:#1a1a1a;background:#fff}h1{font-size:1.4rem}ul{list-style:none;padding:0}s"
    "trong{font-size:1.6rem}label{cursor:pointer}p:has(>label>input[type=radio]){border:1"
    "px solid #ccc;border-radius:.5rem;padding:.5rem .75rem;margin:.4rem 0}input[type=ema"
    "il]{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;border:1px solid #99"
    "9;border-radius:.4rem}button{font:inherit;padding:.6rem 1.4rem;margin:.5rem .5rem 0 "
    "0;border:1px solid #0a58ca;border-radius:.4rem;background:#0a58ca;color:#fff;cursor:"
    "pointer}button[value=cancel],button[value=fail]{background:none;color:inherit;border"
    "-color:#999}body>p:last-child{color:#666;font-size:.85rem;border-top:1px solid #ddd;"
    "padding-top:.75rem;margin-top:2rem}@media(prefers-color-scheme:dark){body{color:#eee"
    ";background:#161616}body>p:last-child{color:#aaa;border-color:#444}}";
#define STYLE_HASH "sha256-kqR6Qzl4DwZoPCnkioyTKRE7MfLvigfjEs93TR4gD8M="

void page_text(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '&': buf_add(b, S("&amp;")); break;
        case '<': buf_add(b, S("&lt;")); break;
        case '>': buf_add(b, S("&gt;")); break;
        case '"': buf_add(b, S("&quot;")); break;
        case '\'': buf_add(b, S("&#39;")); break;
        default: buf_char(b, s.p[i]);
        }
    }
}

void page_money(struct buf *b, int64_t amount, struct str currency)
{
    char code[4] = "";
    int digits = currency_parse(currency, code) ? currency_digits(code) : 0;
    int64_t one = 1;

    for (int i = 0; i < digits; i++)
        one *= 10;
    buf_i64(b, amount / one);
    if (digits > 0)
        buf_fmt(b, ".%0*lld", digits, (long long)(amount % one));
    buf_fmt(b, " %s", code);
}

bool page_is_address(struct str url)
{
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7f)
            return false;
    return str_starts(url, S("https://")) || str_starts(url, S("http://"));
}

bool page_allows(struct str types, const char *type)
{
    char quoted[64];
    int n = snprintf(quoted, sizeof(quoted), "\"%s\"", type);

    return memmem(types.p, types.n, quoted, (size_t)n) != NULL;
}

void page_headers(struct request *r)
{
    /* form-action: browsers hold the redirect behind the form against it, too. */
    reply_header(r, S("Content-Security-Policy"),
                 S("default-src 'none'; style-src '" STYLE_HASH
                   "'; form-action 'self' https: http:; "
                   "base-uri 'none'; frame-ancestors 'none'"));
    reply_header(r, S("Cache-Control"), S("no-store"));
    reply_header(r, S("Referrer-Policy"), S("no-referrer"));
    reply_header(r, S("Vary"), S("Accept-Language"));
}

struct str page_say(enum language language, const char *en, const char *ja)
{
    return str_of(language == LANG_JA ? ja : en);
}

void page_begin(struct buf *b, enum language language, const char *title)
{
    buf_fmt(b, "<!doctype html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n",
            language == LANG_JA ? "ja" : "en");
    buf_add(b, S("<meta name=\"viewport\" content=\"width=device-width\">\n<title>"));
    buf_add(b, str_of(title));
    buf_add(b, S(" (sandbox)</title>\n<style>"));
    buf_add(b, str_of(page_style));
    buf_add(b, S("</style>\n</head>\n<body>\n<h1>"));
    buf_add(b, str_of(title));
    buf_add(b, S("</h1>\n"));
}

void page_end(struct buf *b, enum language language)
{
    buf_add(b, S("<p>"));
    buf_add(b, page_say(language, "This is a sandbox. No money moves.",
                        "これはサンドボックスです。お金は動きません。"));
    buf_add(b, S("</p>\n</body>\n</html>\n"));
}
