/* mail.h - a call that is a mail. libcurl connects, does TLS and the login, all without
 * waiting (CURLOPT_CONNECT_ONLY); then smtp.c speaks over its connection. libcurl's own SMTP upload
 * would hold up the thread until the server has answered the last dot (and QUIT), and with it every
 * other call; and it does not say which of its failures came before that dot.
 *
 * TLS, by the url: smtps:// has it from the first byte. smtp:// with a user must get it by
 * STARTTLS, or ends there: no password goes out in clear text. smtp:// without one takes it where
 * it is offered, and goes to a loopback address without. Certificates are always checked. */
#pragma once

#include "base/why.h"
#include "http/client/transfer.h"

/* True: the URL can be a mail server's. `why` says what is wrong, without repeating the URL. */
bool mail_url_is_fine(struct str url, struct why *why);

/* Makes the handle ready. False: call->why says why it cannot be sent. */
bool mail_setup(struct transfer *t);

/* Continues the dialogue as far as possible without waiting. True: it is over. */
bool mail_step(struct transfer *t);
void mail_result(struct transfer *t, CURLcode code);

/* Those that talk: few, since a mail server has few connections for us. Their sockets are watched
 * here, libcurl has let go of them. */
struct mails {
    int epoll;
    struct transfer *first;
};

bool mails_add(struct mails *m, struct transfer *t); /* false: the connection is gone already */
void mails_remove(struct mails *m, struct transfer *t);
void mails_watch(struct mails *m, struct transfer *t);
struct transfer *mails_find(const struct mails *m, int fd);        /* NULL: it is none of them */
int64_t mails_due_us(const struct mails *m, int64_t at_latest_us); /* the first deadline */
