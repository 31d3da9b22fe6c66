/* mail.c - reads a mail server's URL, sets up libcurl for the connection, and runs the dialogue of
 * smtp.c over it.
 *
 * Before the mail's last dot is sent a failure is NOT_SENT. After it only the server's answer decides,
 * and without one the mail is UNCERTAIN. */
#include "http/client/mail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* --- the url --- */

struct mail_url {
    bool is_tls, has_user, is_loopback;
};

static bool has_part(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return has;
}

static bool part_is(CURLU *u, CURLUPart part, bool (*fits)(const char *))
{
    char *text = NULL;
    bool does = curl_url_get(u, part, &text, 0) == CURLUE_OK && fits(text);

    curl_free(text);
    return does;
}

static bool is_loopback(const char *host)
{
    return !strcasecmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "[::1]");
}

static bool is_smtp(const char *scheme)
{
    return !strcmp(scheme, "smtp");
}

static bool is_smtps(const char *scheme)
{
    return !strcmp(scheme, "smtps");
}

/* libcurl's own way to ask for one kind of login: smtp://user;AUTH=PLAIN:password@host */
static bool is_auth(const char *options)
{
    return !strncasecmp(options, "AUTH=", 5);
}

static const char *mail_url_check(CURLU *u, struct mail_url *ret_url)
{
    ret_url->is_tls = part_is(u, CURLUPART_SCHEME, is_smtps);
    ret_url->has_user = has_part(u, CURLUPART_USER);
    ret_url->is_loopback = part_is(u, CURLUPART_HOST, is_loopback);
    if (!ret_url->is_tls && !part_is(u, CURLUPART_SCHEME, is_smtp))
        return "it begins with neither smtp:// nor smtps://";
    if (has_part(u, CURLUPART_PASSWORD) && !ret_url->has_user)
        return "it has a password and no user";
    if (has_part(u, CURLUPART_OPTIONS) && !part_is(u, CURLUPART_OPTIONS, is_auth))
        return "; in a password is written as %3B";
    if (has_part(u, CURLUPART_QUERY) || has_part(u, CURLUPART_FRAGMENT))
        return "? and # in a password are written as %3F and %23";
    return NULL;
}

/* NULL: the URL is valid. */
static const char *read_url(struct str url, struct mail_url *ret_url)
{
    const char *why = "needs more memory than there is";
    char *copy = url.n && !memchr(url.p, '\0', url.n) ? strndup(url.p, url.n) : NULL;
    CURLU *u = curl_url();

    if (u && copy)
        why = curl_url_set(u, CURLUPART_URL, copy, 0) == CURLUE_OK
                  ? mail_url_check(u, ret_url)
                  : "it is no URL; in a password, write / : @ as %2F %3A %40";
    else if (!copy)
        why = "it is no URL";
    curl_url_cleanup(u);
    free(copy);
    return why;
}

bool mail_url_is_fine(struct str url, struct why *why)
{
    struct mail_url u;
    const char *words = read_url(url, &u);

    if (words)
        why_set(why, "%s", words);
    return !words;
}

/* --- setting up --- */

static long tls_rule(const struct mail_url *u)
{
    if (u->is_tls || u->has_user)
        return CURLUSESSL_ALL;
    return u->is_loopback ? CURLUSESSL_NONE : CURLUSESSL_TRY;
}

bool mail_setup(struct transfer *t)
{
    struct call *c = t->turn.call;
    struct mail_url u;
    const char *why = read_url(c->url, &u);

    if (!why && !smtp_init(&t->smtp, c->mail_from, c->mail_to, c->body))
        why = "an address or the mail itself cannot be sent as it is";
    if (why) {
        snprintf(c->why, sizeof(c->why), "%s", why);
        return false;
    }
    curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(t->easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(t->easy, CURLOPT_USE_SSL, tls_rule(&u));
    return true;
}

/* --- the dialogue --- */

/* False: the connection has ended. What the server sent before still counts. */
static bool mail_receive(struct transfer *t)
{
    char bytes[2048];
    size_t n;

    while (t->smtp.stage != SMTP_OVER) {
        CURLcode code = curl_easy_recv(t->easy, bytes, sizeof(bytes), &n);

        if (code == CURLE_AGAIN)
            return true;
        if (code != CURLE_OK || !n)
            return false;
        smtp_heard(&t->smtp, (struct str){ bytes, n });
    }
    return true;
}

static bool mail_send(struct transfer *t)
{
    struct str out;

    while ((out = smtp_out(&t->smtp)).n) {
        size_t n = 0;
        CURLcode code = curl_easy_send(t->easy, out.p, out.n, &n);

        if (code == CURLE_AGAIN)
            return true;
        if (code != CURLE_OK)
            return false;
        smtp_sent(&t->smtp, n);
    }
    return true;
}

/* Sends QUIT without waiting for its answer. */
static void mail_quit(struct transfer *t)
{
    size_t n;

    if (!t->smtp.is_broken)
        curl_easy_send(t->easy, "QUIT\r\n", 6, &n);
}

bool mail_step(struct transfer *t)
{
    enum smtp_stage before;

    do {
        before = t->smtp.stage;
        if (!mail_send(t)) {
            mail_receive(t); /* why it hung up, perhaps */
            return true;
        }
        if (!mail_receive(t))
            return true;
    } while (t->smtp.stage != before && t->smtp.stage != SMTP_OVER);
    if (t->smtp.stage == SMTP_OVER)
        mail_quit(t);
    return t->smtp.stage == SMTP_OVER;
}

/* --- the result --- */

static const char *mail_failure_before_end(const struct transfer *t, CURLcode code)
{
    switch (code) {
    case CURLE_USE_SSL_FAILED: return "the mail server has no STARTTLS, which a password needs";
    case CURLE_LOGIN_DENIED: return "the mail server refused the login";
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_REMOTE_ACCESS_DENIED: return "the mail server does not want to talk to us";
    case CURLE_OPERATION_TIMEDOUT: return "the mail server did not answer in time";
    case CURLE_ABORTED_BY_CALLBACK: return "the client was stopped";
    case CURLE_OK: return "the mail server hung up";
    default:
        return t->refused_address ? "the target's address is not public" : curl_easy_strerror(code);
    }
}

static const char *mail_failure_in_dialogue(const struct transfer *t, CURLcode code)
{
    if (t->smtp.is_broken)
        return "the mail server does not speak SMTP";
    if (t->smtp.may_be_taken)
        return code == CURLE_OK ? "the mail server hung up after the mail's end"
                                : "no answer to the mail's end";
    return mail_failure_before_end(t, code);
}

static void mail_report_refusal(struct transfer *t, CURLcode code)
{
    struct call *c = t->turn.call;
    long status = 0;

    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 400 || code == CURLE_OPERATION_TIMEDOUT)
        status = 0;
    c->status = (int)status;
    snprintf(c->why, sizeof(c->why), status ? "%s: %ld" : "%s", mail_failure_before_end(t, code),
             status);
}

void mail_result(struct transfer *t, CURLcode code)
{
    struct call *c = t->turn.call;

    if (smtp_has_verdict(&t->smtp)) {
        c->result = CALL_ANSWERED;
        c->status = t->smtp.code;
        c->refuses_us = smtp_refuses_us(&t->smtp);
        smtp_words(&t->smtp, c->why, sizeof(c->why));
        return;
    }
    c->result = t->smtp.may_be_taken ? CALL_UNCERTAIN : CALL_NOT_SENT;
    c->ours =
        !t->smtp.may_be_taken && (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_OUT_OF_MEMORY);
    if (t->is_talking)
        snprintf(c->why, sizeof(c->why), "%s", mail_failure_in_dialogue(t, code));
    else
        mail_report_refusal(t, code);
}

/* --- mails in the dialogue --- */

bool mails_add(struct mails *m, struct transfer *t)
{
    struct epoll_event e = { .events = EPOLLIN };
    curl_socket_t fd = CURL_SOCKET_BAD;

    if (curl_easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD)
        return false;
    t->is_talking = true;
    t->mail_fd = fd;
    t->mail_next = m->first;
    m->first = t;
    e.data.fd = fd;
    epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &e);
    return true;
}

void mails_remove(struct mails *m, struct transfer *t)
{
    struct transfer **at = &m->first;

    while (*at != t)
        at = &(*at)->mail_next;
    *at = t->mail_next;
    epoll_ctl(m->epoll, EPOLL_CTL_DEL, t->mail_fd, NULL);
}

void mails_watch(struct mails *m, struct transfer *t)
{
    struct epoll_event e = { .events = EPOLLIN, .data.fd = t->mail_fd };

    if (smtp_out(&t->smtp).n)
        e.events |= EPOLLOUT;
    epoll_ctl(m->epoll, EPOLL_CTL_MOD, t->mail_fd, &e);
}

struct transfer *mails_find(const struct mails *m, int fd)
{
    struct transfer *t = m->first;

    while (t && t->mail_fd != fd)
        t = t->mail_next;
    return t;
}

int64_t mails_due_us(const struct mails *m, int64_t at_latest_us)
{
    int64_t due_us = at_latest_us;

    for (const struct transfer *t = m->first; t; t = t->mail_next)
        if (t->mail_deadline_us < due_us)
            due_us = t->mail_deadline_us;
    return due_us;
}
