/* limits.h - everything that could grow has its limit here, with a name. */
#pragma once

enum {
    /* the wire */
    LIMIT_REQUEST_LINE = 8 * 1024,
    LIMIT_HEADERS = 32 * 1024, /* all header bytes of a request */
    LIMIT_HEADER_COUNT = 100,
    LIMIT_BODY = 1024 * 1024,        /* a route may ask for less */
    LIMIT_WEBHOOK_BODY = 256 * 1024, /* W5 */
    LIMIT_REQUEST_ARENA = 4 * 1024 * 1024,
    LIMIT_CONNECTIONS = 20000,
    LIMIT_IN_FLIGHT = 4096, /* requests between admission and answer, over all loops */
    LIMIT_HEAD_MS = 10 * 1000, /* from a request's first byte to the end of its headers */
    LIMIT_BODY_MS = 30 * 1000, /* from the end of the headers to the end of the body */
    LIMIT_IDLE_MS = 75 * 1000, /* between two requests of one connection */
    LIMIT_REPLY_MS = 30 * 1000, /* until a reply's last byte is taken by the peer */
    LIMIT_HANDSHAKE_MS = 10 * 1000,
    LIMIT_SHUTDOWN_MS = 40 * 1000,

    /* the store */
    LIMIT_STORE_WAIT_MS = 1000, /* P6: too old before it starts is 503 */
    LIMIT_BATCH = 128,          /* front units in one commit */
    LIMIT_BULK = 64,            /* units of one bulk kind in one statement */
    LIMIT_BACK_US = 3000,       /* time of back units in one commit */
    LIMIT_STATEMENT_ROWS = 200,
    LIMIT_RERUNS = 3,

    /* the queue */
    LIMIT_LEASE_MS = 10 * 1000,
    LIMIT_RENEW_MS = 3 * 1000,
    LIMIT_LEASED = 400, /* messages that one node holds at a time */
    LIMIT_POLL_MS = 5 * 1000, /* PostgreSQL only: the query that needs no hint */

    /* JSON */
    LIMIT_JSON_DEPTH = 32,
    LIMIT_JSON_NODES = 20000,

    /* Stripe-Signature */
    LIMIT_SIGNATURE_HEADER = 1024,
    LIMIT_SIGNATURES = 8,
    LIMIT_SECRETS = 16,
};
