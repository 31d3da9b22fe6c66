/* net.c - the checks over the network: the running server, the gateway, and the channels of
 * notifications, traces and errors. They only read; no mail and no event is sent. */
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/admin_ask.h"
#include "cli/doctor/command.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALL_MS = 10 * 1000,
    URL_BYTES = 2048,
    HEADER_BYTES = 600,
    SKEW_S = 60,
    ANSWER_BYTES = 4096
};

/* --- one call --- */

struct doctor_net_call {
    const char *url;
    struct str bearer; /* empty: none */
    bool connect_only; /* a connection is enough */
    bool own;          /* our own server: its certificate is not checked */
    /* out */
    bool refused; /* no process listens there */
    long status;
    int64_t date_s; /* of the answer's Date; 0: none */
    char answer[ANSWER_BYTES];
    size_t answer_n;
    char why[CURL_ERROR_SIZE];
};

static size_t doctor_net_keep(char *bytes, size_t one, size_t n, void *ctx)
{
    struct doctor_net_call *c = ctx;
    size_t room = sizeof(c->answer) - c->answer_n, take = one * n < room ? one * n : room;

    memcpy(c->answer + c->answer_n, bytes, take);
    c->answer_n += take;
    return one * n;
}

static size_t read_header(char *line, size_t one, size_t n, void *ctx)
{
    struct doctor_net_call *c = ctx;
    struct str value = { line, one * n }, name = str_cut(&value, ':');
    char text[64];

    if (str_eq_nocase(name, S("Date")) && value.n < sizeof(text)) {
        value = str_trim(value);
        snprintf(text, sizeof(text), STR_FMT, STR_ARG(value));
        c->date_s = curl_getdate(text, NULL);
    }
    return one * n;
}

static struct curl_slist *with_bearer(struct str token)
{
    char line[HEADER_BYTES];
    struct curl_slist *list = NULL;

    if (token.n && snprintf(line, sizeof(line), "Authorization: Bearer " STR_FMT, STR_ARG(token)) <
                       (int)sizeof(line))
        list = curl_slist_append(NULL, line);
    OPENSSL_cleanse(line, sizeof(line));
    return list;
}

/* False: there was no answer, and the call says why. */
static bool doctor_net_call(struct doctor_net_call *c)
{
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = with_bearer(c->bearer);
    CURLcode rc;

    if (!curl)
        return false;
    curl_easy_setopt(curl, CURLOPT_URL, c->url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, doctor_net_keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, c->own ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, c->own ? 0L : 2L);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, c->connect_only ? 1L : 0L);
    rc = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &c->status);
    c->refused = rc == CURLE_COULDNT_CONNECT;
    if (rc && !c->why[0])
        snprintf(c->why, sizeof(c->why), "%s", curl_easy_strerror(rc));
    if (headers)
        OPENSSL_cleanse(headers->data, strlen(headers->data));
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return rc == CURLE_OK;
}

/* --- the server --- */

static void say_ready(struct doctor *d, int status, struct str answer)
{
    CLEANUP(json_freep) cJSON *tree = NULL;

    json_parse(answer, &tree, NULL);
    d->serves = true;
    if (status == 200)
        doctor_say(d, DOCTOR_FINE, "server", NULL, "it runs and is ready");
    else
        doctor_say(d, DOCTOR_BAD, "server", "its log says more", "it runs but is not ready: %.200s",
                   answer_words(tree, "why"));
}

static void say_dead(struct doctor *d, struct str answer)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    long long dead;

    json_parse(answer, &tree, NULL);
    dead = answer_number(tree, "dead");
    if (dead > 0)
        doctor_say(d, DOCTOR_WARN, "queue", "look at them: ichido dlq list",
                   "%lld messages could not be worked through and wait for a person", dead);
}

/* The address of the server that has the SQLite file, or the one in the settings. */
static void server_address(const struct settings *s, char ret[ADMIN_OWNER])
{
    struct str file = s->db, scheme = str_cut(&file, ':');

    if (str_eq(scheme, S("sqlite")))
        admin_owner(file, ret);
    else
        snprintf(ret, ADMIN_OWNER, STR_FMT, STR_ARG(s->listen));
}

void doctor_check_server(struct doctor *d)
{
    const struct settings *s = &d->node.settings;
    char address[ADMIN_OWNER], url[URL_BYTES];
    struct doctor_net_call c = { .url = url, .own = true };
    struct str answer;

    server_address(s, address);
    snprintf(url, sizeof(url), "%s://%s/readyz", s->tls_cert.n ? "https" : "http", address);
    if (!address[0] || (!doctor_net_call(&c) && c.refused)) {
        doctor_say(d, DOCTOR_FINE, "server", NULL, "none runs here");
    } else if (!c.status) {
        doctor_say(d, DOCTOR_BAD, "server", "its log says more; a new start reads what is stored",
                   "it is there (%s) and does not answer: %.160s", address, c.why);
    } else {
        answer = (struct str){ c.answer, c.answer_n };
        say_ready(d, (int)c.status, answer);
        say_dead(d, answer);
    }
}

/* --- the gateway --- */

static void check_skew(struct doctor *d, int64_t date_s)
{
    int64_t apart = date_s ? date_s - clock_wall_ms(&d->node.env.clock) / 1000 : 0;

    if (llabs(apart) > SKEW_S)
        doctor_say(d, DOCTOR_BAD, "clock", "set it by NTP: signatures older than 300 s are refused",
                   "ours is %lld s away from the gateway's", llabs(apart));
}

static void judge_key(struct doctor *d, const char *who, long status)
{
    if (status == 401 || status == 403)
        doctor_say(d, DOCTOR_BAD, "gateway", "is the key whole, and not rolled?",
                   "%s refuses the key (%ld)", who, status);
    else if (status >= 500)
        doctor_say(d, DOCTOR_WARN, "gateway", "see its status page; payments wait meanwhile",
                   "%s answers %ld", who, status);
    else
        doctor_say(d, DOCTOR_FINE, "gateway", NULL, "%s answers and takes the key", who);
}

static void check_stripe(struct doctor *d)
{
    const struct settings *s = &d->node.settings;
    struct str base = s->stripe_api_base.n ? s->stripe_api_base : S("https://api.stripe.com");
    char url[URL_BYTES];
    struct doctor_net_call c = { .url = url, .bearer = s->stripe_secret_key };

    snprintf(url, sizeof(url), STR_FMT "/v1/balance", STR_ARG(base));
    if (!doctor_net_call(&c)) {
        doctor_say(d, DOCTOR_BAD, "gateway", "may this machine reach it (firewall, DNS, proxy)?",
                   "Stripe cannot be reached: %.200s", c.why);
        return;
    }
    judge_key(d, "Stripe", c.status);
    check_skew(d, c.date_s);
}

static void check_paypay(struct doctor *d)
{
    char url[URL_BYTES];
    struct doctor_net_call c = { .url = url, .connect_only = true };

    snprintf(url, sizeof(url), STR_FMT, STR_ARG(d->node.settings.paypay_api_base));
    if (doctor_net_call(&c))
        doctor_say(d, DOCTOR_FINE, "gateway", NULL,
                   "PayPay can be reached (its key is first used by a payment)");
    else
        doctor_say(d, DOCTOR_BAD, "gateway", "may this machine reach it (firewall, DNS, proxy)?",
                   "PayPay cannot be reached: %.200s", c.why);
}

void doctor_check_gateway(struct doctor *d)
{
    const struct settings *s = &d->node.settings;

    if (settings_has_gateway(s, S("stripe")))
        check_stripe(d);
    if (settings_has_gateway(s, S("paypay")) && s->paypay_api_base.n)
        check_paypay(d);
    if (settings_has_gateway(s, S("sandbox")))
        doctor_say(d, DOCTOR_FINE, "gateway", NULL, "the sandbox: no real money moves");
    if (settings_has_gateway(s, S("manual")))
        doctor_say(d, DOCTOR_FINE, "gateway", NULL, "bank transfers: an operator confirms them");
}

/* --- channels --- */

/* The URL without user and password, since libcurl would log in to a mail server. */
static bool bare_url(struct str url, char ret[URL_BYTES])
{
    CURLU *u = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL, whole[URL_BYTES];
    bool fine;

    snprintf(whole, sizeof(whole), STR_FMT, STR_ARG(url));
    fine = u && !curl_url_set(u, CURLUPART_URL, whole, CURLU_NON_SUPPORT_SCHEME) &&
           !curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) &&
           !curl_url_get(u, CURLUPART_HOST, &host, 0) &&
           !curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    if (fine)
        snprintf(ret, URL_BYTES, "%s://%s:%s",
                 strcmp(scheme, "https") == 0 || strcmp(scheme, "smtps") == 0 ? "https" : "http",
                 host, port);
    OPENSSL_cleanse(whole, sizeof(whole));
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(u);
    return fine;
}

static void check_receiver(struct doctor *d, const char *what, struct str url)
{
    char text[URL_BYTES];
    struct doctor_net_call c = { .url = text, .connect_only = true };

    if (!url.n)
        return;
    if (bare_url(url, text) && doctor_net_call(&c))
        doctor_say(d, DOCTOR_FINE, "telling", NULL, "%s can be reached", what);
    else
        doctor_say(d, DOCTOR_WARN, "telling", "may this machine reach it? Until then it waits",
                   "%s cannot be reached: %.160s", what, c.why);
}

void doctor_check_receivers(struct doctor *d)
{
    const struct settings *s = &d->node.settings;

    check_receiver(d, "the mail server", s->smtp_url);
    check_receiver(d, "the channel webhook", s->notify_url);
    check_receiver(d, "the alerts' webhook", s->alert_url);
    check_receiver(d, "the trace receiver",
                   s->otlp_traces_endpoint.n ? s->otlp_traces_endpoint : s->otlp_endpoint);
    check_receiver(d, "Sentry", s->sentry_dsn);
    if (s->queue_remote)
        check_receiver(d, "the remote QStash", s->qstash_url);
}
