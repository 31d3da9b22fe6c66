/* call.c - calls to the sandbox, one after another, on the thread of the caller. It refuses every
 * address that is not on this machine. */
#include "base/buf.h"
#include "base/settings/address.h"
#include "cli/trigger/command.h"

#include <curl/curl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { URL_MAX = 8 * 1024, ANSWER_MAX = 16 * 1024 * 1024, CALL_MS = 30 * 1000, CONNECT_MS = 3000 };

struct trigger_line {
    CURL *curl;
    struct curl_slist *headers;
    char base[TRIGGER_BASE];
};

bool trigger_base(struct str given, char ret_base[TRIGGER_BASE])
{
    if (str_starts(given, S("http://")))
        given = (struct str){ given.p + 7, given.n - 7 };
    if (given.n && given.p[given.n - 1] == '/')
        given.n--;
    for (size_t i = 0; i < given.n; i++)
        if (given.p[i] <= ' ' || given.p[i] > '~' || strchr("/@?#\\", given.p[i]))
            return false;
    if (!given.n || given.n > TRIGGER_BASE - 10 || !address_is_listen(given) ||
        !address_is_loopback(given))
        return false;
    snprintf(ret_base, TRIGGER_BASE, "http://" STR_FMT, STR_ARG(given));
    return true;
}

static bool add_header(struct trigger_line *l, const char *line)
{
    struct curl_slist *longer = curl_slist_append(l->headers, line);

    if (longer)
        l->headers = longer;
    return longer;
}

static bool add_key(struct trigger_line *l, struct str key)
{
    char line[600];
    bool fine = snprintf(line, sizeof(line), "Authorization: Bearer " STR_FMT, STR_ARG(key)) <
                    (int)sizeof(line) &&
                add_header(l, line);

    OPENSSL_cleanse(line, sizeof(line));
    return fine;
}

struct trigger_line *trigger_line_open(const char *base, struct str key)
{
    struct trigger_line *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    snprintf(l->base, sizeof(l->base), "%s", base);
    l->curl = curl_easy_init();
    if (!l->curl || !add_key(l, key) || !add_header(l, "Expect:")) {
        trigger_line_free(l);
        return NULL;
    }
    return l;
}

void trigger_line_free(struct trigger_line *l)
{
    if (!l)
        return;
    for (struct curl_slist *h = l->headers; h; h = h->next)
        OPENSSL_cleanse(h->data, strlen(h->data));
    curl_slist_free_all(l->headers);
    curl_easy_cleanup(l->curl);
    free(l);
}

static size_t take_answer(char *p, size_t size, size_t n, void *ctx)
{
    struct buf *answer = ctx;

    buf_add(answer, (struct str){ p, size * n });
    return answer->failed ? 0 : size * n;
}

static void trigger_call_prepare(struct trigger_line *l, const char *method, const char *url,
                                 struct str form, struct buf *answer)
{
    CURL *c = l->curl;

    curl_easy_reset(c);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, l->headers);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
    curl_easy_setopt(c, CURLOPT_FORBID_REUSE,
                     1L); /* libcurl repeats a POST whose reused connection was closed */
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, answer);
    if (strcmp(method, "POST") == 0) {
        curl_easy_setopt(c, CURLOPT_POST, 1L);
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)form.n);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, form.n ? form.p : "");
    }
}

enum err trigger_call(struct trigger_line *l, struct arena *a, const char *method, struct str path,
                      struct str form, int *ret_status, struct str *ret_answer, struct why *why)
{
    char url[URL_MAX];
    struct buf answer;
    CURLcode code;
    long status = 0;

    snprintf(url, sizeof(url), "%s" STR_FMT, l->base, STR_ARG(path));
    buf_init(&answer, ANSWER_MAX);
    trigger_call_prepare(l, method, url, form, &answer);
    code = curl_easy_perform(l->curl);
    curl_easy_getinfo(l->curl, CURLINFO_RESPONSE_CODE, &status);
    *ret_status = (int)status;
    *ret_answer = arena_str(a, buf_str(&answer));
    buf_release(&answer);
    if (!code && ret_answer->p)
        return OK;
    return why_err(why, ERR_UNAVAILABLE, "%.200s: %s", l->base,
                   code ? curl_easy_strerror(code) : "not enough memory");
}
