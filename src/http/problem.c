/* problem.c - Accept-Language, and the JSON of a problem. */
#include "http/problem.h"

/* The weight of a q parameter in thousandths: "0.8" -> 800; -1: malformed. */
static int problem_weight(struct str q)
{
    int value, digits = 100;

    if (!q.n || (q.p[0] != '0' && q.p[0] != '1') || (q.n > 1 && q.p[1] != '.') || q.n > 5)
        return -1;
    value = (q.p[0] - '0') * 1000;
    for (size_t i = 2; i < q.n; i++, digits /= 10) {
        if (q.p[i] < '0' || q.p[i] > '9')
            return -1;
        value += (q.p[i] - '0') * digits;
    }
    return value <= 1000 ? value : -1;
}

/* "ja;q=0.8" -> its weight; the range is cut off into *ret_range. */
static int range_weight(struct str part, struct str *ret_range)
{
    *ret_range = str_trim(str_cut(&part, ';'));
    while (part.n) {
        struct str value = str_trim(str_cut(&part, ';'));
        struct str name = str_trim(str_cut(&value, '='));

        if (str_eq_nocase(name, S("q")))
            return problem_weight(str_trim(value));
    }
    return 1000;
}

static bool is_language(struct str range, struct str language)
{
    return str_eq_nocase(str_cut(&range, '-'), language);
}

enum language language_pick(struct str accept_language)
{
    int ja = -1, en = -1, any = -1;

    while (accept_language.n) {
        struct str range;
        int w = range_weight(str_trim(str_cut(&accept_language, ',')), &range);

        if (is_language(range, S("ja")) && w > ja)
            ja = w;
        else if (is_language(range, S("en")) && w > en)
            en = w;
        else if (str_eq(range, S("*")) && w > any)
            any = w;
    }
    if (ja < 0)
        ja = any;
    if (en < 0)
        en = any;
    return ja > 0 && ja > en ? LANG_JA : LANG_EN;
}

static char problem_kebab(char c)
{
    if (c == '_')
        return '-';
    if (c >= 'A' && c <= 'Z')
        return (char)(c + ('a' - 'A'));
    return c;
}

/* "NOT_FOUND" -> "not-found" */
static void add_kebab(struct buf *out, const char *code)
{
    while (*code)
        buf_char(out, problem_kebab(*code++));
}

void problem_write(struct buf *out, enum err e, enum language language, const char *detail,
                   struct str instance, struct str errors, struct str members)
{
    struct str words = str_of(err_words(e, language));

    buf_add(out, S("{\"type\":\"/problems/"));
    add_kebab(out, err_code(e));
    buf_add(out, S("\",\"title\":"));
    buf_json(out, words);
    buf_add(out, S(",\"status\":"));
    buf_i64(out, err_status(e));
    buf_add(out, S(",\"detail\":"));
    buf_json(out, detail ? str_of(detail) : words);
    buf_add(out, S(",\"code\":"));
    buf_json(out, str_of(err_code(e)));
    buf_add(out, S(",\"instance\":"));
    buf_json(out, instance);
    if (errors.n) {
        buf_add(out, S(",\"errors\":"));
        buf_add(out, errors);
    }
    if (members.n) {
        buf_char(out, ',');
        buf_add(out, members);
    }
    buf_char(out, '}');
}

int retry_after_s(enum err e)
{
    if (e == ERR_BACKLOG || e == ERR_STORE_FULL)
        return 5;
    return err_status(e) == 429 || (err_status(e) >= 502 && err_status(e) <= 504) ? 1 : 0;
}

const char *status_phrase(int status)
{
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 425: return "Too Early";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 489: return "Non-Retryable Error"; /* QStash's own */
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "";
    }
}
