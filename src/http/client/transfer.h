/* transfer.h - one call on one libcurl handle: its setup and its result. */
#pragma once

#include "base/buf.h"
#include "http/client/client.h"
#include "http/client/hosts.h"
#include "http/client/smtp.h"

#include <curl/curl.h>

struct transfer {
    struct turn turn;
    CURL *easy; /* NULL until it is first set up: those that wait need none */
    struct curl_slist *headers;
    struct buf head, body;
    const char *ca_file;  /* certificates that are trusted besides the system's; NULL: none */
    bool guarded;         /* refuse what is not public */
    bool refused_address; /* the guard rejected the address */
    bool too_long;
    bool is_cut;                  /* the answer was cut, which the call allows */
    bool sent;                    /* it got a connection, so a request may have been sent */
    bool sent_once;               /* ... and it was not sent again */
    struct transfer *next, *prev; /* in the client's list of those under way */

    /* a mail (mail.h) */
    struct smtp smtp;
    bool is_talking; /* libcurl is connected; the dialogue runs at mail_fd */
    curl_socket_t mail_fd;
    int64_t mail_deadline_us;
    struct transfer *mail_next; /* in the client's list of those that talk */
};

struct transfer *transfer_new(void); /* NULL: no memory */
void transfer_free(struct transfer *t);

/* Sets up the handle for t->turn.call. False: the call cannot be sent; its `why` says the reason. */
bool transfer_setup(struct transfer *t, int64_t timeout_ms);

/* Writes result, status, headers and body to the call. */
void transfer_result(struct transfer *t, CURLcode code);

/* Prepares it for another call, and keeps the handle with its memory. */
void transfer_clear(struct transfer *t);
