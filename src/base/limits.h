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
    LIMIT_IN_FLIGHT = 16384,    /* requests between admission and answer, over all loops */
    LIMIT_HEAD_MS = 10 * 1000,  /* from a request's first byte to the end of its headers */
    LIMIT_BODY_MS = 30 * 1000,  /* from the end of the headers to the end of the body */
    LIMIT_IDLE_MS = 75 * 1000,  /* between two requests of one connection */
    LIMIT_REPLY_MS = 30 * 1000, /* until a reply's last byte is taken by the peer */
    LIMIT_HANDSHAKE_MS = 10 * 1000,
    LIMIT_SHUTDOWN_MS = 40 * 1000,
    LIMIT_FINISH_MS = 5 * 1000, /* after a forced shutdown, until the loops end whatever waits */
    LIMIT_LINGER_MS = 2 * 1000, /* a closing connection reads on, so that its reply is not lost */
    LIMIT_CHUNK_FRAMING = 64 * 1024,  /* chunk lines, extensions, trailers of one body */
    LIMIT_BODIES = 256 * 1024 * 1024, /* bodies held at a time, over all connections */
    LIMIT_REPLY = 32 * 1024 * 1024,
    LIMIT_REPLY_HEADERS = 16 * 1024,
    LIMIT_READ = 64 * 1024,         /* the read buffer that a loop's connections share */
    LIMIT_PENDING = 2 * LIMIT_READ, /* text of one read, kept while a request is answered */
    LIMIT_CIPHER = 2 * LIMIT_REPLY, /* a reply as TLS records */
    LIMIT_RATE_SLOTS = 4096,        /* client addresses the rate limit remembers */
    LIMIT_ACCEPTS = 64,             /* connections accepted at one wake-up */
    LIMIT_ACCEPT_PAUSE_MS = 100,    /* after EMFILE and the like */
    LIMIT_LISTENERS = 8,            /* sockets systemd may pass */
    LIMIT_LOOPS = 64,
    LIMIT_SPARE_FILES = 256,       /* descriptors kept for files, databases and egress */
    LIMIT_SPARE_EXCHANGES = 128,   /* request structures a loop keeps for reuse */
    LIMIT_SPARE_BYTES = 16 * 1024, /* buffers above this are not kept */

    /* the store */
    LIMIT_STORE_WAIT_MS = 1000, /* P6: too old before it starts is 503 */
    LIMIT_BATCH = 128,          /* front units in one commit */
    LIMIT_BULK = 64,            /* units of one bulk kind in one statement */
    LIMIT_BACK_US = 6000,       /* time of back units in one commit */
    LIMIT_BULK_BYTES = 2 * 1024 * 1024,
    LIMIT_STATEMENT_ROWS = 200,
    LIMIT_RERUNS = 3,

    /* PostgreSQL */
    LIMIT_DB_MS = 1000,         /* one statement, on the server (P6) */
    LIMIT_DB_LOCK_MS = 400,     /* its wait for a lock; then the unit is run again */
    LIMIT_DB_HURRY_MS = 100,    /* the same for one of a bulk that fell apart */
    LIMIT_DB_ALONE_MS = 3000,   /* all of such a bulk, one by one */
    LIMIT_DB_CLOCK_MS = 5000,   /* how often its time is looked at (M12) */
    LIMIT_DB_REPLY_MS = 2000,   /* one round trip, on our side; then the connection is lost */
    LIMIT_DB_CONNECT_MS = 1000, /* one try to connect */
    LIMIT_DB_ASK_MS = 1000,     /* finding out what became of a commit */
    LIMIT_DB_OPEN_MS = 5000,    /* at start, until a database must have answered */
    LIMIT_DB_MIGRATE_MS = 60 * 1000,
    LIMIT_DB_RETRY_FIRST_MS = 50,
    LIMIT_DB_RETRY_MOST_MS = 2000,
    LIMIT_DB_CONNECTIONS = 64,
    LIMIT_DB_PIPELINE = 64, /* statements on their way, and their bytes */
    LIMIT_DB_PIPELINE_BYTES = 256 * 1024,
    LIMIT_DB_STATEMENT_BYTES = 64 * 1024 * 1024, /* the parameters of one statement */
    LIMIT_DB_NAMES = 256,                        /* prepared statements of one connection */
    LIMIT_HINT_MS = 20,                          /* NOTIFY: one in that time (M7) */
    LIMIT_WAL_STEP = 2000,    /* SQLite: frames (of 4 KB) after which a part is checkpointed */
    LIMIT_WAL = 32000,        /* SQLite: frames at which the writer waits for the checkpoint */
    LIMIT_FILE_BUSY_MS = 250, /* SQLite: another program holds the file's write lock */
    LIMIT_READERS = 16,       /* SQLite: reader threads */

    /* the queue */
    LIMIT_LEASE_MS = 10 * 1000,
    LIMIT_RENEW_MS = 3 * 1000,
    LIMIT_LEASED = 400,       /* messages that one node holds at a time */
    LIMIT_POLL_MS = 5 * 1000, /* PostgreSQL only: the query that needs no hint */
    LIMIT_LEASE_ROOM = 50,    /* after a full fetch the next one waits for so much room */
    LIMIT_LEASE_ARENA = 8 * 1024 * 1024, /* texts of the messages of one fetch */
    LIMIT_TROUBLE_MS = 100, /* pause after a database error, doubled up to the next line */
    LIMIT_TROUBLE_MAX_MS = 2 * 1000,
    LIMIT_CONTENDED_MS = 10, /* due rows are locked by other nodes: look again, doubled up to 1 s */
    LIMIT_CONTENDED_MAX_MS = 1000,
    LIMIT_RECOUNT_MS =
        60 * 1000,              /* PostgreSQL: how often live messages are counted, if any moved */
    LIMIT_PARKS = 5,            /* of one message, while the database did other work of ours */
    LIMIT_DEAD_SEEN = 10001,    /* dead letters are counted up to here */
    LIMIT_UNKNOWN_RETRIES = 10, /* of a kind that this program does not know (yet) */
    LIMIT_UNKNOWN_FIRST_MS = 30 * 1000,
    LIMIT_UNKNOWN_MAX_MS = 3600 * 1000,

    /* JSON */
    LIMIT_JSON_DEPTH = 32,
    LIMIT_JSON_NODES = 20000,
    LIMIT_JSON_NUMBER = 60, /* characters; cJSON keeps 63 and drops the rest */
    LIMIT_JSON_TEXT = 16 * 1024 * 1024,
    LIMIT_JSON_PROBLEMS = 32 * 1024, /* bytes of an "errors" array */

    /* outgoing calls, each where its option is 0 */
    LIMIT_CALLS_PER_HOST = 64, /* under way at a time; more of them wait */
    LIMIT_CALLS = 512,
    LIMIT_CALL_MS = 30 * 1000,
    LIMIT_CALL_HEADERS = 64 * 1024, /* of an answer */
    LIMIT_CALL_ANSWER = 1024 * 1024,

    /* settings */
    LIMIT_SETTING = 16 * 1024,        /* bytes of one value */
    LIMIT_SETTINGS_FILE = 256 * 1024, /* what ICHIDO_CONFIG names */
    LIMIT_SETTINGS = 1024 * 1024,     /* all values */
    LIMIT_ADMIN_TOKEN_MIN = 16,
    LIMIT_WEBHOOK_SECRET_MIN = 16,
    LIMIT_JWT_SECRET_MIN = 32, /* as long as the hash (RFC 7518) */

    /* gateways and payments */
    LIMIT_GATEWAY_CALL_MS = 15 * 1000,   /* one try (P6) */
    LIMIT_GATEWAY_BUDGET_MS = 28 * 1000, /* all tries and pauses together */
    LIMIT_GATEWAY_RETRIES = 2,
    LIMIT_GATEWAY_PAUSE_MS = 300, /* before the first retry; doubled, with jitter */
    LIMIT_GATEWAY_CALLS = 8192,   /* under way at a time */
    LIMIT_DECLINED_MS = 3 * 1000, /* cancelling the intent of a decline, while the client waits */
    LIMIT_REQUEST_MS = 30 * 1000, /* a payment request, from its last byte to its answer */
    LIMIT_WAITERS = 8192,         /* requests that wait for an operation's answer */
    LIMIT_RESEND_MS = 30 * 1000,  /* a resume sends again within this of the claim (D6) */
    LIMIT_ABSENT_MS = 15 * 60 * 1000,      /* surely absent after the last send: FAILED (D6) */
    LIMIT_KEY_FRESH_MS = 23 * 3600 * 1000, /* never sent again with its key after that */
    LIMIT_REFUNDS = 200,                   /* of one payment */
    LIMIT_FEES = 64,                       /* fees that are being asked for */
    LIMIT_FEE_PAUSE_MS = 20,               /* between two of them: 50 a second */
    LIMIT_REFUND_LATE_MS = 5 * 60 * 1000,  /* a refund may be told that much behind its charge */
    LIMIT_OUTSIDE = 10000,                 /* messages whose outside part is under way */

    /* purchases */
    LIMIT_KONBINI_DAYS = 4,              /* how long a slip may be paid (D19) */
    LIMIT_KONBINI_LATE_MS = 3600 * 1000, /* until the store's word of it must have come */
    LIMIT_RESERVED = 20, /* positions of a campaign that one user holds and has not paid */

    /* the payments API */
    LIMIT_PAYMENT_BODY = 16 * 1024, /* far more than any order needs */
    LIMIT_PAGE = 100,               /* payments in one answer */
    LIMIT_HISTORY_ROWS = 2000,      /* events that one page of their history looks at */

    /* bookings, domain events and who is told */
    LIMIT_BOOKING_BODY = 16 * 1024,
    LIMIT_CAMPAIGN_BODY = 64 * 1024,
    LIMIT_COLLECTION_BODY = 512 * 1024,
    LIMIT_EVENTS_BODY = 256 * 1024,
    LIMIT_EVENTS_SECRET_MIN = 38, /* whsec_ and the base64 of 24 bytes */
    LIMIT_EVENTS = 100,           /* in one batch */
    LIMIT_EVENT_SOURCE = 1024,    /* bytes; with the id it is a key of an index */
    LIMIT_EVENT_ID = 512,
    LIMIT_EVENT_TYPE = 255,
    LIMIT_SUBSCRIBERS = 100,
    LIMIT_SUBSCRIBER_URL = 2048,
    LIMIT_DOMAIN_EVENT = 64 * 1024,        /* an event as it is sent */
    LIMIT_DELIVERY_MS = 20 * 1000,         /* one try */
    LIMIT_DELIVERY_ANSWER = 64 * 1024,     /* of the subscriber; nobody reads it */
    LIMIT_DELIVERY_ARENA = 256 * 1024,     /* of one delivery */
    LIMIT_RETRY_AFTER_MS = 60 * 60 * 1000, /* what a subscriber may ask for */

    /* campaigns */
    LIMIT_POSITIONS_PAGE = 1000, /* positions in one answer */
    LIMIT_CANCELLED = 25,        /* payments that one step of a cancelled campaign looks at */
    LIMIT_CANCEL_TRIES = 5,      /* refunds, or cancels, that it starts for one payment */
    LIMIT_TOLD = 50,             /* entries of a draw that one step tells */

    /* facts on their way through the queue */
    LIMIT_FACT = 2 * 1024 * 1024, /* bytes as JSON: a webhook body with every byte escaped */

    /* tokens */
    LIMIT_TOKEN = 8 * 1024,
    LIMIT_TOKEN_KID = 256,
    LIMIT_TOKEN_LEEWAY_MS = 30 * 1000, /* nbf and iat; exp has none */
    LIMIT_TOKEN_CACHE = 4096,          /* verified tokens that are remembered */
    LIMIT_RSA_BITS_MIN = 2048,
    LIMIT_RSA_BITS_MAX = 8192, /* a key of a stranger's choice must not cost milliseconds */
    LIMIT_JWKS_BYTES = 256 * 1024,
    LIMIT_JWKS_KEYS = 64,
    LIMIT_JWKS_CALL_MS = 5 * 1000,
    LIMIT_JWKS_MS = 10 * 60 * 1000,  /* how long fetched keys are taken for the present ones */
    LIMIT_JWKS_AHEAD_MS = 60 * 1000, /* so long before their end they are fetched again */
    LIMIT_JWKS_PAUSE_MS = 30 * 1000, /* between two fetches, whoever asks */
    LIMIT_JWKS_FIRST_MS = 2 * 1000,  /* the same while there is no key at all */
    LIMIT_JWKS_DOWN_MS = 24 * 3600 * 1000, /* their server is down: so long they go on working */
    LIMIT_JWKS_WAITERS = 1024,

    /* Stripe-Signature */
    LIMIT_SIGNATURE_HEADER = 1024,
    LIMIT_SIGNATURES = 8,
    LIMIT_SECRETS = 16,

    /* the sandbox's events and switches */
    LIMIT_SANDBOX_EVENT = 256 * 1024,  /* an event as it is stored */
    LIMIT_SANDBOX_EVENTS = 200000,     /* stored; the oldest are forgotten, */
    LIMIT_SANDBOX_FORGET = 64,         /* so many at a time */
    LIMIT_SANDBOX_SEND_MS = 10 * 1000, /* one try to deliver it */
    LIMIT_SANDBOX_ANSWER = 64 * 1024,  /* of the receiver; nobody reads it */
    LIMIT_SANDBOX_RESEND_FACTOR = 300, /* Stripe's five minutes between two tries become a second */
    LIMIT_SANDBOX_RULES = 64,          /* fault rules at a time */
    LIMIT_SANDBOX_SWITCH_MS = 120 * 1000, /* the longest delay or hang that can be asked for */
    LIMIT_SANDBOX_COPIES = 10,            /* extra deliveries of each event */
    LIMIT_SANDBOX_REORDER = 8,            /* so many events in a row are sent backwards, */
    LIMIT_SANDBOX_REORDER_MS = 40,        /* each so much apart */
    LIMIT_SANDBOX_LISTED = 100,           /* events in one answer of /_sandbox */
    LIMIT_SANDBOX_BOOKS = 1000,           /* intents in one answer of /_sandbox */

    /* the sandbox's Stripe API; a form is what came as one */
    LIMIT_FORM_PAIRS = 1000,
    LIMIT_FORM_DEPTH = 8,
    LIMIT_SANDBOX_BODY = 256 * 1024,
    LIMIT_SANDBOX_OBJECT = 8 * 1024 * 1024,  /* an answer: 100 intents with all their metadata */
    LIMIT_SANDBOX_ARENA = 32 * 1024 * 1024,  /* one call or job */
    LIMIT_SANDBOX_KEY = 255,                 /* characters of an Idempotency-Key, as with Stripe */
    LIMIT_SANDBOX_KEY_MS = 24 * 3600 * 1000, /* how long its answer is kept */
    LIMIT_SANDBOX_TEXT = 5000,               /* characters of a text */
    LIMIT_SANDBOX_METADATA = 50,             /* its keys, their characters and those of a value */
    LIMIT_SANDBOX_METADATA_NAME = 40,
    LIMIT_SANDBOX_METADATA_VALUE = 500,
    LIMIT_SANDBOX_AMOUNT_LEAST = 50,               /* 50 yen, 50 cents */
    LIMIT_SANDBOX_AMOUNT_MOST = 99999999,          /* eight digits */
    LIMIT_SANDBOX_LAPSE_MS = 7 * 24 * 3600 * 1000, /* an authorisation's life */
    LIMIT_SANDBOX_REFUND_FAIL_MS = 500, /* until a refund to pm_card_refundFail comes back */
    LIMIT_SANDBOX_PAGE = 100,
    LIMIT_SANDBOX_ITEMS = 100,               /* lines of one Checkout Session */
    LIMIT_SANDBOX_QUANTITY = 999999,         /* of one line */
    LIMIT_SANDBOX_SESSION_LEAST_S = 30 * 60, /* a session's life */
    LIMIT_SANDBOX_SESSION_MOST_S = 24 * 3600,
    LIMIT_SANDBOX_URL = 8 * 1024,                /* bytes; it must fit into a reply's headers */
    LIMIT_SANDBOX_VOUCHER_DAYS = 60,             /* a konbini slip's life, at most */
    LIMIT_SANDBOX_VOUCHER_DELAY_MS = 180 * 1000, /* until a slip that asks for it lapses */

    /* the Stripe adapter */
    LIMIT_GATEWAY_LEAST_MS = 500,   /* a retry that would have less time is not begun */
    LIMIT_GATEWAY_LOST_RETRIES = 1, /* of those: after a connection that broke */
    LIMIT_GATEWAY_FORM = 64 * 1024, /* a request's form or address */
    LIMIT_GATEWAY_ANSWER = 4 << 20, /* bytes; a page of intents with all the metadata allowed */
    LIMIT_GATEWAY_PAGE = 50,        /* objects a page: 100 large ones pass LIMIT_JSON_NODES */
    LIMIT_GATEWAY_PAGES = 40,       /* asked for in one call */
    LIMIT_GATEWAY_SKEW_MS = 60000,  /* between our clock and the gateway's */
    LIMIT_GATEWAY_ID = 255,         /* characters of an id that is not ours */
    LIMIT_GATEWAY_METADATA = 500,   /* characters of a metadata value, as Stripe has it */
    LIMIT_GATEWAY_URL = 4096,       /* bytes of an address it sends; a longer one is left out */
    LIMIT_GATEWAY_MESSAGE = 1000,   /* characters of its words about a failure; the rest is cut */
};
