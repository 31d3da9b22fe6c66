/* page.c - what the pages for people share: escaping, amounts, headers, the frame of a page. */
#include "sandbox/page/page.h"

#include "domain/money.h"
#include "sandbox/control/control.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* The policy allows this style by its hash and no other. test_page.c checks the hash. */
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

/* NULL: the code is written after the number. */
static const char *symbol_of(const char *code)
{
    static const struct {
        const char *code, *symbol;
    } symbols[] = { { "JPY", "¥" }, { "USD", "$" }, { "EUR", "€" }, { "GBP", "£" } };

    for (size_t i = 0; i < COUNT(symbols); i++)
        if (strcmp(symbols[i].code, code) == 0)
            return symbols[i].symbol;
    return NULL;
}

void page_money(struct buf *b, int64_t amount, struct str currency)
{
    char code[4] = "", text[MONEY_TEXT];
    const char *symbol;

    currency_parse(currency, code);
    symbol = symbol_of(code);
    money_text(amount, code, text);
    buf_fmt(b, "%s%s%s", amount < 0 ? "-" : "", symbol ? symbol : "", text + (amount < 0));
    if (!symbol)
        buf_fmt(b, " %s", code);
}

bool page_is_url(struct str url)
{
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7f)
            return false;
    return str_starts(url, S("https://")) || str_starts(url, S("http://"));
}

bool page_list_has(struct str types, const char *type)
{
    char quoted[64];
    int n = snprintf(quoted, sizeof(quoted), "\"%s\"", type);

    return memmem(types.p, types.n, quoted, (size_t)n) != NULL;
}

/* Under no-referrer the page's own forms would send "Origin: null", as a foreign page may;
 * control.c checks the origin. */
static void add_headers(struct request *r, const char *policy)
{
    reply_header(r, S("Content-Security-Policy"), str_of(policy));
    reply_header(r, S("Cache-Control"), S("no-store"));
    reply_header(r, S("Referrer-Policy"), S("same-origin"));
    reply_header(r, S("Vary"), S("Accept-Language"));
}

void page_headers(struct request *r)
{
    /* form-action: browsers also apply it to the redirect that answers the form. */
    add_headers(r,
                "default-src 'none'; style-src '" STYLE_HASH "'; form-action 'self' https: http:; "
                "base-uri 'none'; frame-ancestors 'none'");
}

void page_headers_for(struct request *r, const char *style)
{
    unsigned char hash[EVP_MAX_MD_SIZE] = { 0 };
    char base64[EVP_MAX_MD_SIZE * 2] = "", policy[300];
    unsigned int n = 0;

    if (EVP_Digest(style, strlen(style), hash, &n, EVP_sha256(), NULL))
        EVP_EncodeBlock((unsigned char *)base64, hash, (int)n);
    snprintf(policy, sizeof(policy),
             "default-src 'none'; style-src 'sha256-%s'; form-action 'self'; base-uri 'none'; "
             "frame-ancestors 'none'",
             base64);
    add_headers(r, policy);
}

struct str page_say(enum language language, const char *en, const char *ja)
{
    return str_of(language == LANG_JA ? ja : en);
}

enum language page_language(const struct request *r)
{
    const char *query = page_query(r);

    return !query[0] ? r->language : strcmp(query, "?lang=ja") == 0 ? LANG_JA : LANG_EN;
}

const char *page_query(const struct request *r)
{
    struct str lang = control_query(r, S("lang"));

    if (str_eq(lang, S("ja")))
        return "?lang=ja";
    return str_eq(lang, S("en")) ? "?lang=en" : "";
}

void page_begin(struct buf *b, enum language language, const char *title)
{
    buf_fmt(b, "<!doctype html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n",
            language == LANG_JA ? "ja" : "en");
    buf_add(b, S("<meta name=\"viewport\" content=\"width=device-width\">\n<title>"));
    buf_add(b, str_of(title));
    buf_add(b, S(" (sandbox)</title>\n<style>"));
    buf_add(b, str_of(page_style));
    buf_add(b, S("</style>\n</head>\n<body>\n<nav>"
                 "<a href=\"?lang=ja\" lang=\"ja\" hreflang=\"ja\">日本語</a> "
                 "<a href=\"?lang=en\" lang=\"en\" hreflang=\"en\">English</a></nav>\n<h1>"));
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
