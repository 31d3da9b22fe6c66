/* limits.h - the limits of everything that could grow without bound: sizes, counts and times. A
 * comment that ends with a comma or "to" continues with the next line. */
#pragma once

enum {
    /* HTTP */
    LIMIT_REQUEST_LINE = 8 * 1024,
    LIMIT_HEADERS = 32 * 1024, /* all header bytes of a request */
    LIMIT_HEADER_COUNT = 100,
    LIMIT_BODY = 1024 * 1024,        /* a route may set a lower limit */
    LIMIT_WEBHOOK_BODY = 256 * 1024, /* W5 */
    LIMIT_REQUEST_ARENA = 4 * 1024 * 1024,
    LIMIT_CONNECTIONS = 20000,
    LIMIT_IN_FLIGHT = 16384,    /* requests between admission and answer, on all loops */
    LIMIT_HEAD_MS = 10 * 1000,  /* from a request's first byte to the end of its headers */
    LIMIT_BODY_MS = 30 * 1000,  /* from the end of the headers to the end of the body */
    LIMIT_IDLE_MS = 75 * 1000,  /* between two requests of one connection */
    LIMIT_REPLY_MS = 30 * 1000, /* until the peer has taken the last byte of a reply */
    LIMIT_HANDSHAKE_MS = 10 * 1000,
    LIMIT_SHUTDOWN_MS = 40 * 1000,
    LIMIT_FINISH_MS = 5 * 1000, /* after a forced shutdown, until the loops end in any case */
    LIMIT_LINGER_MS = 2 * 1000, /* a closing connection is still read, or its reply could be lost */
    LIMIT_CHUNK_FRAMING = 64 * 1024,  /* chunk lines, extensions, trailers of one body */
    LIMIT_BODIES = 256 * 1024 * 1024, /* bodies held at a time, over all connections */
    LIMIT_REPLY = 32 * 1024 * 1024,
    LIMIT_REPLY_HEADERS = 16 * 1024,
    LIMIT_READ = 64 * 1024,         /* the read buffer that a loop's connections share */
    LIMIT_PENDING = 2 * LIMIT_READ, /* bytes of one read, kept while a request is answered */
    LIMIT_CIPHER = 2 * LIMIT_REPLY, /* a reply as TLS records */
    LIMIT_RATE_SLOTS = 4096,        /* client addresses that the rate limit remembers */
    LIMIT_ACCEPTS = 64,             /* connections accepted at one wake-up */
    LIMIT_ACCEPT_PAUSE_MS = 100,    /* after EMFILE and the like */
    LIMIT_LISTENERS = 8,            /* sockets systemd may pass */
    LIMIT_LOOPS = 64,
    LIMIT_SPARE_FILES = 256,              /* descriptors kept for files, databases and egress */
    LIMIT_SPARE_EXCHANGES = 128,          /* request structures a loop keeps for reuse */
    LIMIT_SPARE_BYTES = 16 * 1024,        /* buffers above this are not kept */
    LIMIT_WEBSOCKET_IDLE_MS = 30 * 1000,  /* a silent peer is pinged; after twice this, closed */
    LIMIT_WEBSOCKET_QUEUED = 1024 * 1024, /* bytes not taken by a slow peer; then no more is sent */

    /* the store */
    LIMIT_STORE_WAIT_MS = 1000, /* P6: a unit that waited longer before it starts is answered 503 */
    LIMIT_BATCH = 128,          /* front units in one commit */
    LIMIT_BULK = 64,            /* units of one bulk kind in one statement */
    LIMIT_BACK_US = 6000,       /* time of back units in one commit */
    LIMIT_BULK_BYTES = 2 * 1024 * 1024,
    LIMIT_STATEMENT_ROWS = 200,
    LIMIT_RERUNS = 3,

    /* PostgreSQL */
    LIMIT_DB_MS = 1000,         /* one statement, on the server (P6) */
    LIMIT_DB_LOCK_MS = 400,     /* the wait of a statement for a lock; then the unit is run again */
    LIMIT_DB_HURRY_MS = 100,    /* the same for a unit of a bulk that failed as a whole */
    LIMIT_DB_ALONE_MS = 3000,   /* all units of such a bulk, one after another */
    LIMIT_DB_CLOCK_MS = 5000,   /* how often the time of the database is read (M12) */
    LIMIT_DB_REPLY_MS = 2000,   /* one round trip, on our side; then the connection is lost */
    LIMIT_DB_CONNECT_MS = 1000, /* one try to connect */
    LIMIT_DB_ASK_MS = 1000,     /* finding out whether a commit succeeded */
    LIMIT_DB_OPEN_MS = 5000,    /* at start, until the database must have answered */
    LIMIT_DB_MIGRATE_MS = 4 * 3600 * 1000, /* one file: indexes of many millions of rows */
    LIMIT_DB_RETRY_FIRST_MS = 50,
    LIMIT_DB_RETRY_MOST_MS = 2000,
    LIMIT_DB_CONNECTIONS = 64,
    LIMIT_DB_PIPELINE = 64, /* statements sent without their results, and their bytes */
    LIMIT_DB_PIPELINE_BYTES = 256 * 1024,
    LIMIT_DB_STATEMENT_BYTES = 64 * 1024 * 1024, /* the parameters of one statement */
    LIMIT_DB_NAMES = 512,                        /* prepared statements of one connection */
    LIMIT_HINT_MS = 20,                          /* at most one NOTIFY in this time (M7) */
    LIMIT_WAL_STEP = 2000,    /* SQLite: frames (of 4 KB) after which a part is checkpointed */
    LIMIT_WAL = 32000,        /* SQLite: frames at which the writer waits for the checkpoint */
    LIMIT_FILE_BUSY_MS = 250, /* SQLite: another program holds the file's write lock */
    LIMIT_READERS = 16,       /* SQLite: reader threads */

    /* the queue */
    LIMIT_LEASE_MS = 10 * 1000,
    LIMIT_RENEW_MS = 3 * 1000,
    LIMIT_LEASED = 400,       /* messages that one node holds at a time */
    LIMIT_POLL_MS = 5 * 1000, /* PostgreSQL only: between two queries without a hint */
    LIMIT_LEASE_ROOM = 50,    /* after a full fetch the next one waits until so many fit */
    LIMIT_LEASE_ARENA = 8 * 1024 * 1024, /* texts of the messages of one fetch */
    LIMIT_TROUBLE_MS = 100, /* pause after a database error, doubled up to the next line */
    LIMIT_TROUBLE_MAX_MS = 2 * 1000,
    LIMIT_CONTENDED_MS = 10, /* due rows are locked by other nodes: retry, doubled up to 1 s */
    LIMIT_CONTENDED_MAX_MS = 1000,
    LIMIT_RECOUNT_MS =
        60 * 1000,           /* PostgreSQL: how often live messages are counted, if any moved */
    LIMIT_PARKS = 5,         /* of one message, while the database did other work of ours */
    LIMIT_DEAD_SEEN = 10001, /* dead letters are counted up to here */

    /* JSON */
    LIMIT_JSON_DEPTH = 32,
    LIMIT_JSON_NODES = 20000,
    LIMIT_JSON_NUMBER = 60, /* characters; cJSON keeps 63 and drops the others */
    LIMIT_JSON_TEXT = 16 * 1024 * 1024,
    LIMIT_JSON_PROBLEMS = 32 * 1024, /* bytes of an "errors" array */

    /* outgoing calls, each where its option is 0 */
    LIMIT_CALLS_PER_HOST = 64, /* under way at a time; further calls wait */
    LIMIT_CALLS = 512,
    LIMIT_CALL_MS = 30 * 1000,
    LIMIT_CALL_HEADERS = 64 * 1024, /* headers of an answer */
    LIMIT_CALL_ANSWER = 1024 * 1024,

    /* settings */
    LIMIT_SETTING = 16 * 1024,        /* bytes of one value */
    LIMIT_SETTINGS_FILE = 256 * 1024, /* the file that ICHIDO_CONFIG names */
    LIMIT_SETTINGS = 1024 * 1024,     /* all values */
    LIMIT_ROUTES = 16,                /* rules of ICHIDO_ROUTES */
    LIMIT_ADMIN_TOKEN_MIN = 16,
    LIMIT_UNSTORED_LINE_MS = 60 * 1000, /* between two log lines about webhooks answered 503 */
    LIMIT_WEBHOOK_SECRET_MIN = 16,
    LIMIT_JWT_SECRET_MIN = 32, /* as long as the hash (RFC 7518) */

    /* gateways and payments */
    LIMIT_GATEWAY_CALL_MS = 15 * 1000,   /* one try (P6) */
    LIMIT_GATEWAY_BUDGET_MS = 28 * 1000, /* all tries and pauses together */
    LIMIT_GATEWAY_CALLS = 8192,          /* under way at a time */
    LIMIT_DECLINED_MS = 3 * 1000, /* cancelling the intent of a decline, while the client waits */
    LIMIT_REQUEST_MS = 30 * 1000, /* a payment request, from its last byte to its answer */
    LIMIT_WAITERS = 8192,         /* requests that wait for an operation's answer */
    LIMIT_RESEND_MS = 30 * 1000,  /* a resume sends again within this of the claim (D6) */
    LIMIT_ABSENT_MS = 15 * 60 * 1000,      /* surely absent after the last send: FAILED (D6) */
    LIMIT_KEY_FRESH_MS = 23 * 3600 * 1000, /* never sent again with its key after this */
    LIMIT_REFUNDS = 200,                   /* of one payment */
    LIMIT_FEES = 64,                       /* requests for fees that are under way */
    LIMIT_FEE_PAUSE_MS = 20,               /* between two of them: 50 a second */
    LIMIT_REFUND_LATE_MS = 5 * 60 * 1000,  /* a refund may be reported so long after its charge */
    LIMIT_OUTSIDE = 10000,                 /* messages whose call to the outside is under way */

    /* bank transfers */
    LIMIT_BANK_FILE = 4 * 1024 * 1024,   /* bytes of a bank's CSV */
    LIMIT_BANK_LINES = 20000,            /* deposits in one file */
    LIMIT_BANK_TEXT = 400,               /* characters of a bank's text about a line */
    LIMIT_BANK_STEP = 100,               /* lines that one unit imports */
    LIMIT_BANK_ARENA = 64 * 1024 * 1024, /* one import: its file as UTF-8, and its lines */
    LIMIT_BANK_LEFT = 20,      /* unmatched or ambiguous lines that the answer of an import shows */
    LIMIT_BANK_CANDIDATES = 5, /* payments that are shown as possible matches of a line */
    LIMIT_BANK_BODY = 16 * 1024,    /* the body of an operator's other requests */
    LIMIT_BANK_NOTE = 200,          /* characters of an operator's note */
    LIMIT_BANK_DETAILS = 24 * 1024, /* bytes of the payment instructions for a customer, as JSON */
    LIMIT_REFERENCE_TRIES = 16,     /* random references that are tried until one is new */

    /* purchases */
    LIMIT_KONBINI_DAYS = 4,              /* how long a slip may be paid (D19) */
    LIMIT_KONBINI_LATE_MS = 3600 * 1000, /* until the store must have reported a payment */
    LIMIT_RESERVED = 20,                 /* unpaid positions of a campaign that one user may hold */

    /* the payments API */
    LIMIT_PAYMENT_BODY = 16 * 1024, /* far more than any order needs */
    LIMIT_PAGE = 100,               /* payments in one answer */
    LIMIT_REPLAYS = 4096,           /* operations whose replays are counted between two writes */
    LIMIT_REPLAYS_STEP = 100,       /* operations whose counts one unit writes */
    LIMIT_REPLAYS_PAUSE_MS = 100,   /* between two such units */
    LIMIT_REPLAYS_MS = 10 * 1000,   /* until the counts are written (M16) */
    LIMIT_TIMELINE_ROWS = 200,      /* rows of each source that a payment's timeline shows (O7) */
    LIMIT_TIMELINE_DETAILS = 768 * 1024, /* bytes of all details; further ones are left out */
    LIMIT_TIMELINE_TRIES = 20,           /* failed tries of one message in a timeline */
    LIMIT_TIMELINE_PEOPLE = 32,          /* people whose names a timeline looks up */
    LIMIT_HISTORY_ROWS = 2000,           /* events that one page of the history reads */

    /* bookings, domain events and their subscribers */
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
    LIMIT_DELIVERY_ANSWER = 64 * 1024,     /* of a subscriber; it is not used */
    LIMIT_DELIVERY_ARENA = 256 * 1024,     /* of one delivery */
    LIMIT_RETRY_AFTER_MS = 60 * 60 * 1000, /* the longest Retry-After of a subscriber */

    /* campaigns */
    LIMIT_POSITIONS_PAGE = 1000, /* positions in one answer */
    LIMIT_CANCELLED = 25,        /* payments that one step of a cancelled campaign handles */
    LIMIT_TOLD = 50,             /* entries of a draw that one step notifies */

    /* provider facts in messages of the queue */
    LIMIT_FACT = 2 * 1024 * 1024, /* bytes as JSON: a webhook body with every byte escaped */

    /* tokens */
    LIMIT_TOKEN = 8 * 1024,
    LIMIT_TOKEN_KID = 256,
    LIMIT_TOKEN_LEEWAY_MS = 30 * 1000, /* nbf and iat; exp has none */
    LIMIT_TOKEN_CACHE = 4096,          /* verified tokens that are remembered */
    LIMIT_RSA_BITS_MIN = 2048,
    LIMIT_RSA_BITS_MAX = 8192, /* a larger key from outside would cost milliseconds */
    LIMIT_JWKS_BYTES = 256 * 1024,
    LIMIT_JWKS_KEYS = 64,
    LIMIT_JWKS_CALL_MS = 5 * 1000,
    LIMIT_JWKS_MS = 10 * 60 * 1000,  /* how long fetched keys are used without fetching again */
    LIMIT_JWKS_AHEAD_MS = 60 * 1000, /* they are fetched again so long before that */
    LIMIT_JWKS_PAUSE_MS = 30 * 1000, /* between two fetches */
    LIMIT_JWKS_FIRST_MS = 2 * 1000,  /* the same while there is no key at all */
    LIMIT_JWKS_DOWN_MS = 24 * 3600 * 1000, /* how long keys are used while their server is down */
    LIMIT_JWKS_WAITERS = 1024,

    /* operators' logins (A3) */
    LIMIT_OPERATORS = 1000,
    LIMIT_OPERATOR_NAME = 64,
    LIMIT_LOGIN_FAILURES = 64, /* people and addresses that are counted apart in a minute */
    LIMIT_OPERATOR_BODY = 4 * 1024,
    LIMIT_LOGIN_BODY = 10 * 1024, /* a login with every byte of the password escaped */
    LIMIT_PASSWORD_MIN = 12,      /* bytes */
    LIMIT_PASSWORD = 256,
    LIMIT_PASSWORD_THREADS = 2,  /* each needs 32 MB and about 80 ms for one password */
    LIMIT_PASSWORD_WAITING = 32, /* waiting for those threads; further ones are answered 503 */
    LIMIT_SESSIONS = 32,         /* of one person; a further login ends the oldest */
    LIMIT_SESSION_IDLE_MS = 8 * 3600 * 1000,
    LIMIT_SESSION_MS = 7 * 24 * 3600 * 1000, /* also of a session in use */
    LIMIT_SESSION_SEEN_MS = 60 * 1000,       /* how often the last use of a session is written */
    LIMIT_SESSIONS_PRUNED = 100,             /* expired sessions that a login deletes */
    LIMIT_LOGIN_FREE = 5,        /* failures of a name from an address without a wait; then */
    LIMIT_LOGIN_FIRST_MS = 1000, /* this wait, doubled after each failure up to */
    LIMIT_LOGIN_WAIT_MS = 5 * 60 * 1000,
    LIMIT_LOGIN_FORGET_MS = 3600 * 1000, /* failures are forgotten after this time without one */
    LIMIT_LOGIN_ADDRESS = 30,            /* failures a minute from one address, for all names */
    LIMIT_LOGIN_SLOTS = 4096,            /* entries of each kind that are remembered */

    /* Stripe-Signature */
    LIMIT_SIGNATURE_HEADER = 1024,
    LIMIT_SIGNATURES = 8,
    LIMIT_SECRETS = 16,

    /* the sandbox's events and switches */
    LIMIT_SANDBOX_EVENT = 256 * 1024, /* an event as it is stored */
    LIMIT_SANDBOX_EVENTS = 200000,    /* stored events; above that the oldest are deleted, */
    LIMIT_SANDBOX_FORGET = 64,        /* so many at a time */
    LIMIT_SANDBOX_EVENT_DAYS = 30,    /* older events are deleted by a job, */
    LIMIT_SANDBOX_FORGET_STEP = 200,  /* so many in one step */
    LIMIT_SANDBOX_FORGET_PAUSE_MS = 100,
    LIMIT_SANDBOX_ENDPOINTS = 16,                /* webhook endpoints, as with Stripe */
    LIMIT_SANDBOX_TYPES = 500,                   /* event types of one endpoint */
    LIMIT_SANDBOX_TYPE_FILTER = 20,              /* event types in the filter of a list */
    LIMIT_SANDBOX_OVERLAP_MS = 24 * 3600 * 1000, /* how long the old secret signs too */
    LIMIT_SANDBOX_DEBIT_MS = 500,                /* until a debit succeeds or fails */
    LIMIT_SANDBOX_DEBIT_LATE_MS = 180 * 1000,    /* the same for test accounts that are slow */
    LIMIT_SANDBOX_REFUND_DAYS = 45,              /* until an uncollected konbini refund ends */
    LIMIT_SANDBOX_SEND_MS = 10 * 1000,           /* one try to deliver an event */
    LIMIT_SANDBOX_ANSWER = 64 * 1024,            /* of the receiver; it is not used */
    LIMIT_SANDBOX_RESEND_FACTOR = 300, /* Stripe's five minutes between two tries become a second */
    LIMIT_SANDBOX_RULES = 64,          /* fault rules at a time */
    LIMIT_SANDBOX_CHAOS_DELAY_MS = 200, /* a random delay, at most, unless a test sets it */
    LIMIT_SANDBOX_CHAOS_HANG_MS = 500,
    LIMIT_SANDBOX_SWITCH_MS = 120 * 1000, /* the longest delay or hang that can be asked for */
    LIMIT_SANDBOX_COPIES = 10,            /* extra deliveries of each event */
    LIMIT_SANDBOX_REORDER = 8,            /* so many events in a row are sent in reverse order, */
    LIMIT_SANDBOX_REORDER_MS = 40,        /* with this time between two of them */
    LIMIT_SANDBOX_LISTED = 100,           /* events in one answer of /_sandbox */
    LIMIT_SANDBOX_BOOKS = 1000,           /* intents in one answer of /_sandbox */

    /* the sandbox's relay, for `stripe listen` */
    LIMIT_RELAY_SESSIONS = 100,            /* sessions that are connected or may connect again */
    LIMIT_RELAY_DEVICES = 1000,            /* devices whose secrets are remembered */
    LIMIT_RELAY_DEVICE_NAME = 200,         /* characters */
    LIMIT_RELAY_AWAIT_MS = 10 * 60 * 1000, /* how long a session waits for its client to connect */
    LIMIT_RELAY_RECONNECT_S = 3600,        /* after which the client renews its connection */
    LIMIT_RELAY_WAITING = 50000,           /* events of one session that are not acknowledged */
    LIMIT_RELAY_TRIM = 64,   /* above that the oldest are deleted; checked after so many events */
    LIMIT_RELAY_WINDOW = 16, /* events that are sent before one must be acknowledged */
    LIMIT_RELAY_MESSAGE = 2 * 1024 * 1024, /* a message of the client: an answer that it received */

    /* the sandbox's Stripe API; a form is what came as one */
    LIMIT_FORM_PAIRS = 1000,
    LIMIT_FORM_DEPTH = 8,
    LIMIT_SANDBOX_BODY = 256 * 1024,
    LIMIT_SANDBOX_OBJECT = 8 * 1024 * 1024,  /* an answer: 100 intents with all their metadata */
    LIMIT_SANDBOX_ARENA = 32 * 1024 * 1024,  /* one call or job */
    LIMIT_SANDBOX_KEY = 255,                 /* characters of an Idempotency-Key, as with Stripe */
    LIMIT_SANDBOX_KEY_MS = 24 * 3600 * 1000, /* how long the answer of a key is kept */
    LIMIT_SANDBOX_TEXT = 5000,               /* characters of a text */
    LIMIT_SANDBOX_METADATA = 50,             /* keys; below, characters of a key and of a value */
    LIMIT_SANDBOX_METADATA_NAME = 40,
    LIMIT_SANDBOX_METADATA_VALUE = 500,
    LIMIT_SANDBOX_AMOUNT_LEAST = 50,               /* 50 yen, 50 cents */
    LIMIT_SANDBOX_AMOUNT_MOST = 99999999,          /* eight digits */
    LIMIT_SANDBOX_LAPSE_MS = 7 * 24 * 3600 * 1000, /* how long an authorization is valid */
    LIMIT_SANDBOX_REFUND_FAIL_MS = 500, /* until a refund to pm_card_refundFail comes back */
    LIMIT_SANDBOX_PAGE = 100,
    LIMIT_SANDBOX_ITEMS = 100,               /* lines of one Checkout Session */
    LIMIT_SANDBOX_QUANTITY = 999999,         /* of one line */
    LIMIT_SANDBOX_SESSION_LEAST_S = 30 * 60, /* how long a session is valid */
    LIMIT_SANDBOX_SESSION_MOST_S = 24 * 3600,
    LIMIT_SANDBOX_URL = 8 * 1024,    /* bytes; it must fit into the headers of a reply */
    LIMIT_SANDBOX_VOUCHER_DAYS = 60, /* how long a konbini slip is valid, at most */
    LIMIT_SANDBOX_VOUCHER_DELAY_MS = 180 * 1000, /* until a slip that asks for it expires */

    /* the sandbox's PayPay */
    LIMIT_SANDBOX_PP_BODY = 64 * 1024,
    LIMIT_SANDBOX_PP_SIGNED = 32 * 1024,      /* the signed text: a path and a few fields */
    LIMIT_SANDBOX_PP_SKEW_S = 120,            /* between the caller's clock and the sandbox's */
    LIMIT_SANDBOX_PP_ID = 64,                 /* characters of an id of the merchant */
    LIMIT_SANDBOX_PP_TEXT = 255,              /* characters of other texts */
    LIMIT_SANDBOX_PP_ITEMS = 100,             /* items of an order */
    LIMIT_SANDBOX_PP_CODE_MS = 5 * 60000,     /* how long a code is valid */
    LIMIT_SANDBOX_PP_HOLD_DAYS = 30,          /* how long an authorization is valid, at most */
    LIMIT_SANDBOX_PP_CONFIRM_MS = 10 * 60000, /* how long a user may take to confirm a capture */
    LIMIT_SANDBOX_PP_ASKS = 8103, /* yen: the user must confirm a capture of this amount */
    LIMIT_SANDBOX_PP_SIMILAR_MS = 5 * 60000, /* same user and amount: suspected within this */
    LIMIT_SANDBOX_PP_CANCEL_MS =
        15 * 60000, /* of the day after, in which a payment can be cancelled */
    LIMIT_SANDBOX_PP_REFUND_DAYS = 365,
    LIMIT_SANDBOX_PP_REFUNDS = 20,     /* of one payment, where several refunds are allowed */
    LIMIT_SANDBOX_PP_NOTICE_MS = 1500, /* the time for the answer to one notification */
    LIMIT_SANDBOX_PP_NOTICE_TRIES = 3, /* after them the notification is lost */
    LIMIT_SANDBOX_PP_NOTICE_GAP_MS = 100,

    /* the Stripe adapter */
    LIMIT_GATEWAY_LEAST_MS = 500,   /* a retry that would have less time is not begun */
    LIMIT_GATEWAY_TRIES = 50,       /* noted one by one in one run of an operation (O7) */
    LIMIT_GATEWAY_LOST_RETRIES = 1, /* of those: after a connection that broke */
    LIMIT_GATEWAY_FORM = 64 * 1024, /* a request's form or address */
    LIMIT_GATEWAY_ANSWER = 4 << 20, /* bytes; a page of intents with all the metadata allowed */
    LIMIT_GATEWAY_PAGE = 50,        /* objects a page: 100 large ones pass LIMIT_JSON_NODES */
    LIMIT_GATEWAY_PAGES = 40,       /* asked for in one call */
    LIMIT_GATEWAY_SKEW_MS = 300000, /* between our clock and the gateway's, as for its webhooks */
    LIMIT_GATEWAY_ID = 255,         /* characters of an id that is not ours */
    LIMIT_GATEWAY_METADATA = 500,   /* characters of a metadata value, as Stripe has it */
    LIMIT_GATEWAY_URL = 4096,       /* bytes of an address it sends; a longer one is left out */
    LIMIT_GATEWAY_MESSAGE = 1000,   /* characters of its words about a failure; the rest is cut */

    /* what stands before every gateway (G5) */
    LIMIT_GATEWAY_WAITING = 16384,     /* calls in line for one gateway */
    LIMIT_GATEWAY_WAIT_MS = 10 * 1000, /* in line; who waited longer is turned away */
    LIMIT_BREAKER_FAILURES = 20,       /* in a row, until the breaker opens */

    /* the PayPay adapter, and what it is asked for */
    LIMIT_PAYPAY_CODES = 9,             /* ids of one payment: a lost reply costs one */
    LIMIT_PAYPAY_STEPS = 24,            /* requests of one call, tries of a step aside */
    LIMIT_POLL_FIRST_MS = 5 * 1000,     /* between two looks at an open payment, at first */
    LIMIT_POLL_LATE_MS = 5 * 60 * 1000, /* behind a code's end: then it is cancelled */

    /* authorisations behind their time (D9) */
    LIMIT_LAPSE_LATE_MS =
        15 * 60 * 1000, /* then it is asked for, and so long between the first looks */

    /* queries of the provider: backfill, unknown outcomes, reconciliation (E11, P7) */
    LIMIT_LIST_PAGE = 50,                   /* objects of a page of Stripe's lists */
    LIMIT_LIST_PAGE_LEAST = 5,              /* ... after an object of a page could not be read */
    LIMIT_HEAL_PAGES = 40,                  /* pages of one run; a longer gap is continued */
    LIMIT_HEAL_GO_ON_MS = 50,               /* ... after this pause */
    LIMIT_HEAL_YOUNG_MS = 60 * 1000,        /* the webhook of a younger event may still arrive */
    LIMIT_HEAL_OVERLAP_MS = 2 * 60 * 1000,  /* an event may appear in the list so late */
    LIMIT_HEAL_FIRST_MS = 24 * 3600 * 1000, /* how far the first run looks back */
    LIMIT_UNKNOWN_LOOK_MS = 60 * 1000,      /* between two searches for unknown outcomes */
    LIMIT_QUIET_LOOK_MS = 3600 * 1000,      /* the same while nothing is wrong (Q11) */
    LIMIT_UNKNOWN_AGAIN_MS = 3600 * 1000,   /* until the same one is reported again */
    LIMIT_UNKNOWN_TOLD = 50,                /* reported by one search */
    LIMIT_UNKNOWN_SEEN = 10001,             /* unknown outcomes are counted up to this number */
    LIMIT_RECONCILE_PAUSE_MS = 60 * 1000,   /* until differences are checked again */
    LIMIT_RECONCILE_STEPS = 200,   /* of one run of its job; the next run continues at once */
    LIMIT_RECONCILE_ROWS = 200,    /* of our rows in one step, also when old ones are deleted */
    LIMIT_RECONCILE_REFUNDS = 200, /* of one intent */
    LIMIT_RECONCILE_KEPT = 5000,   /* differences of a day that are stored; more are only counted */
    LIMIT_RECONCILE_REPORT = 16 << 20, /* bytes of a day's report */
    LIMIT_RECONCILE_LATE = 7,   /* days that are reconciled later after the server was down */
    LIMIT_RECONCILE_DAYS = 400, /* how long the report of a day is kept */

    /* QStash */
    LIMIT_QSTASH_SECRET_MIN = 16, /* characters of its token and of a signing key */
    LIMIT_SIGNING_KEY = 255,      /* the same, at most */
    LIMIT_PUBLISH_MS = 5 * 1000,  /* one try to publish to a remote, with the wait for a turn */
    LIMIT_PUBLISH_CALLS = 256,    /* of those at a time; further ones wait for their turn */
    LIMIT_PUBLISHES = 4096, /* events under way to a remote; more go to the builtin queue at once */
    LIMIT_PUBLISH_BYTES = 64 << 20, /* the same in bytes */
    LIMIT_WATCH_MS = 3600 * 1000, /* an event published to the remote must have an outcome by then:
                                       its retries end within minutes */
    LIMIT_WATCH_STEP_MS = 5 * 60 * 1000, /* between two searches for such events */
    LIMIT_MIRROR_MS = 60 * 1000,         /* between two reads of the remote's dead letters */
    LIMIT_MIRROR_CALL_MS = 20 * 1000,
    LIMIT_MIRROR_ANSWER = 8 << 20, /* bytes of one page; a larger one is read one by one */
    LIMIT_MIRROR_PAGE = 20,        /* dead letters of a page */
    LIMIT_MIRROR_PAGES = 50,       /* pages of one read; the next one continues */
    LIMIT_ZONE_NAME = 64,          /* bytes of a time zone's name */
    LIMIT_ZONE_FILE = 64 * 1024,   /* tzdata's largest has 4 KB */
    LIMIT_CRON = 512,              /* bytes; a list of every minute, hour and day is shorter */
    LIMIT_CRON_YEARS = 48,         /* to search; the 29th of February on one weekday needs 40 */
    LIMIT_EXPRESSION = 256,        /* bytes of Upstash-Retry-Delay, and how deep it nests */
    LIMIT_EXPRESSION_DEPTH = 32,
    LIMIT_BACKOFF_MS = 24 * 3600 * 1000, /* the longest wait before a retry */

    /* QStash */
    LIMIT_QSTASH_BODY = 1024 * 1024, /* of one message */
    LIMIT_QSTASH_BATCH = 16 * 1024 * 1024,
    LIMIT_QSTASH_KEY = 512,  /* bytes of a flow control key; it is a key of an index */
    LIMIT_QSTASH_NAME = 255, /* of a queue, a URL group, a schedule, a label */
    LIMIT_QSTASH_HOST = 260,
    LIMIT_QSTASH_LABELS = 20,
    LIMIT_QSTASH_CALLS = 2048, /* connections of deliveries to all destinations */
    LIMIT_QSTASH_RETRIES = 1000,
    LIMIT_QSTASH_ATTEMPT_MS = 30 * 1000, /* one attempt, unless the publisher sets its own time */
    LIMIT_QSTASH_ATTEMPT_MOST_MS = 2 * 3600 * 1000,
    LIMIT_QSTASH_ANSWER = 256 * 1024,   /* bytes of an answer that are kept for a callback */
    LIMIT_QSTASH_LOGGED = 16 * 1024,    /* bytes of an answer that are kept in the log */
    LIMIT_QSTASH_CANCEL = 100,          /* messages that one unit cancels */
    LIMIT_QSTASH_WINDOW_LATE_MS = 5000, /* a flow key's wake-up that is so late is planned again */

    /* QStash: deliveries */
    LIMIT_QSTASH_DESTINATIONS = 4096, /* destinations that are remembered */
    LIMIT_QSTASH_PER_HOST = 256,      /* calls to one destination at a time */
    LIMIT_QSTASH_UNDER_WAY = 4096,    /* calls, and messages that wait for a permit, in all */
    LIMIT_QSTASH_WAITING = 1024,      /* of those, for one destination */
    LIMIT_QSTASH_WAIT_MS = 1000,      /* a message that would wait longer is rescheduled instead */
    LIMIT_QSTASH_HORIZON_MS = 5 * 60 * 1000, /* a message is rescheduled at most so far ahead */
    LIMIT_QSTASH_SILENT = 5,                 /* calls in a row without an answer open the breaker */
    LIMIT_QSTASH_FLIGHT_BYTES = 64 * 1024 * 1024, /* bodies of all calls that are under way */
    LIMIT_QSTASH_ARENA = 16 * 1024 * 1024,  /* one delivery with the bodies of its callbacks */
    LIMIT_QSTASH_ANSWER_HEADER = 16 * 1024, /* the headers of an answer, as they are kept */
    LIMIT_QSTASH_TURN_MS = 30 * 1000,       /* waiting in the client, besides the attempt's time */
    LIMIT_QSTASH_URL = 8 * 1024,            /* bytes of a destination, or a callback's */
    LIMIT_QSTASH_HEADER = 512 * 1024,       /* as JSON: LIMIT_HEADERS with every byte escaped */
    LIMIT_QSTASH_DELAY_DAYS = 365,          /* the longest delay of a message */
    LIMIT_QSTASH_RETRIES_USUAL = 3,
    LIMIT_QSTASH_PERIOD_S = 7 * 24 * 3600,        /* the period of a flow key's rate */
    LIMIT_QSTASH_FLOW = 1000 * 1000 * 1000,       /* a rate or a parallelism */
    LIMIT_QSTASH_ENDPOINTS = 100,                 /* endpoints of a URL group */
    LIMIT_QSTASH_ITEMS = 10000,                   /* items of a batch */
    LIMIT_QSTASH_BATCH_ANSWER = 16 * 1024 * 1024, /* further items get an error */
    LIMIT_QSTASH_QUEUES = 10000,
    LIMIT_QSTASH_PARALLELISM = 1000, /* of one queue */
    LIMIT_QSTASH_GROUPS = 1000,
    LIMIT_QSTASH_MEMBER_URL = 2048, /* of an endpoint: with its group it is a key of an index */
    LIMIT_QSTASH_FLOWS_LISTED = 1000,
    LIMIT_QSTASH_ROTATE_MS = 3600 * 1000, /* between two rotations of the signing keys */
    LIMIT_QSTASH_KEYS_MS = 1000, /* PostgreSQL: how soon another node's rotation is known */
    LIMIT_QSTASH_SCHEDULES = 10000,
    LIMIT_QSTASH_ZONE_MS = 3600 * 1000, /* until a time zone that is missing is looked up again */
    LIMIT_QSTASH_LIST_BODIES = 8 * 1024 * 1024, /* in a list of schedules; get shows all */
    LIMIT_QSTASH_VALUES = 200,                  /* values of one key of a filter */
    LIMIT_QSTASH_IDS = 10000,                   /* ids in one call */
    LIMIT_QSTASH_PAGE = 100,                    /* dead letters in one answer */
    LIMIT_QSTASH_LOG_PAGE = 1000,               /* lines of the log in one answer */
    LIMIT_QSTASH_LOOKED = 2000,                 /* rows that one unit reads, */
    LIMIT_QSTASH_LOOKED_CALL = 20000,           /* and one call; its cursor continues */
    LIMIT_QSTASH_PAGE_BYTES = 6 * 1024 * 1024,  /* a page ends here; its cursor continues */
    LIMIT_QSTASH_DEAD_STEP = 50,                /* dead letters deleted or retried in one unit, */
    LIMIT_QSTASH_DEAD_CALL = 1000,              /* and in one call; its cursor continues */
    LIMIT_QSTASH_STEP_BYTES = 4 * 1024 * 1024,  /* bodies that one unit retries */
    LIMIT_QSTASH_LOG_DAYS = 14,                 /* how long the log and ended messages are kept */
    LIMIT_QSTASH_DEAD_DAYS = 30,
    LIMIT_QSTASH_FLOW_DAYS = 30,       /* how long an unused flow key is kept */
    LIMIT_QSTASH_FORGET = 500,         /* rows that one step of retention deletes */
    LIMIT_QSTASH_FORGET_PAUSE_MS = 20, /* between two steps, while there is more */
    LIMIT_QSTASH_SHOWN = 4 * 1024,     /* bytes of an answer that operators are shown */

    /* the search for payments */
    LIMIT_FIND_LOOKED = 2000,   /* that one page reads, where no index decides */
    LIMIT_FIND_TEXT = 255,      /* characters of a search text */
    LIMIT_FIND_IDS = 100,       /* payments of one id or key, at a time */
    LIMIT_FIND_GATEWAYS = 16,   /* gateways whose scans are merged */
    LIMIT_FIND_SKEW_MS = 60000, /* between a payment's id and its createdAt, at most */
    LIMIT_SHOWN_ROWS = 200,     /* operations, transactions, disputes shown with a payment */

    /* dead letters */
    LIMIT_DEAD_STEP = 100,                   /* that one unit changes */
    LIMIT_DEAD_STEP_BYTES = 4 * 1024 * 1024, /* bodies that one unit reads to retry them */
    LIMIT_DEAD_LOOKED = 2000,                /* that one unit reads, where no index decides */
    LIMIT_DEAD_CALL = 20000,                 /* that one request reads; its cursor continues */
    LIMIT_DEAD_ACT = 10000,                  /* that one request changes at most, */
    LIMIT_DEAD_ACT_USUAL = 1000,             /* and by default */
    LIMIT_DEAD_IDS = 1000,                   /* ids in one request */
    LIMIT_DEAD_BODY = 64 * 1024,             /* the body of a request; so many ids need 40 KB */
    LIMIT_DEAD_TEXT = 255,                   /* characters of the text of a filter */
    LIMIT_DEAD_GROUP = 10000,                /* dead letters of a group that are counted */
    LIMIT_DEAD_GROUPS_STEP = 2,              /* groups that one statement counts */
    LIMIT_DEAD_GROUPS_SUM = 20000,      /* that a page of groups counts; its cursor continues */
    LIMIT_DEAD_GROUPS_LOOKED = 500,     /* groups that a page reads */
    LIMIT_DEAD_CAUSES = 200,            /* old dead letters to which one step gives a cause */
    LIMIT_DEAD_EDIT = 256 * 1024,       /* bytes of an edited body, */
    LIMIT_DEAD_EDIT_BODY = 1024 * 1024, /* and of it as a JSON string */
    LIMIT_REDRIVE_RATE = 1000,          /* dead letters a second */
    LIMIT_REDRIVE_LOOK_MS = 60 * 1000,  /* between two checks of the running redrives */
    LIMIT_REDRIVES_LOOKED = 100,        /* redrives that one check reads */
    LIMIT_REDRIVE_PAUSE_MS = 20,        /* between two steps, at least */
    LIMIT_REPLAY_LOOKED = 20000,        /* events that are counted before a replay begins */
    LIMIT_REPLAY_STEP = 1000,           /* events that one step of a replay reads */
    LIMIT_FAILURES_DAYS = 90,           /* how long failed attempts are kept */
    LIMIT_RETENTION_STEP = 200,         /* rows that each statement of retention takes (M2) */

    /* notifications (N1, S2) */
    LIMIT_REMINDERS = 12,     /* of one collection, to one person */
    LIMIT_REMINDER_DAYS = 90, /* before or after the due date */
    LIMIT_REMINDED = 50, /* participants that one step reminds; collections that one step plans */
    LIMIT_PLANS_LOOKED_AT = 200, /* collections that such a step reads */
    LIMIT_DEVICES = 20,          /* of one user */
    LIMIT_DEVICE_TOKEN = 1024,   /* bytes; an index has them too */
    LIMIT_CONTACT_BODY = 128 * 1024,
    LIMIT_MAIL = 64 * 1024,       /* bytes of one mail with its headers */
    LIMIT_MAIL_ADDRESS = 254,     /* bytes (RFC 5321's path, without its brackets) */
    LIMIT_MAIL_REPLY = 16 * 1024, /* bytes of a mail server's answer to one command */
    LIMIT_MAIL_TITLE = 1024,      /* bytes of a subject, */
    LIMIT_MAIL_TEXT = 40 * 1024,  /* of the text: base64 makes four thirds of them */
    LIMIT_MAIL_LINK = 2048,       /* and of the link below the text */
    LIMIT_NOTIFY_MS = 30 * 1000,  /* one mail, push or webhook */
    LIMIT_SENDS = 8, /* of a channel, under way: as many as its client has connections to a host */
    LIMIT_SEND_WAIT_MS = 5000, /* in line for one of them: only alerts can be before it. With the
                                  call itself below ops/ichido.service's TimeoutStopSec */
    LIMIT_SEND_NOWHERE_MS = 24 * 3600 * 1000, /* until a node has the channel of a notification */
    LIMIT_TELLER_MS = 3600 * 1000,            /* how often a node reports which channels it has */
    LIMIT_SEND_TURN_MS = 1000,     /* how long a send waits at least that found no connection */
    LIMIT_SEND_SPACE_MS = 4,       /* between two of those: 250 a second */
    LIMIT_SEND_ARENA = 256 * 1024, /* one send */

    /* push by FCM */
    LIMIT_FCM_MS = 15 * 1000,           /* one try; as long as Google's own library waits */
    LIMIT_FCM_PAYLOAD = 4096,           /* bytes of a push */
    LIMIT_FCM_TTL_S = 7 * 24 * 3600,    /* a push for a phone that is off for longer is lost */
    LIMIT_FCM_ANSWER = 16 * 1024,       /* bytes that are read; the rest is cut */
    LIMIT_FCM_QUOTA_MS = 60 * 1000,     /* 429 without Retry-After */
    LIMIT_FCM_INTERNAL_MS = 10 * 1000,  /* the same after 500 */
    LIMIT_FCM_TOKEN = 2048,             /* bytes of an access token; Google's word */
    LIMIT_FCM_TOKEN_MS = 10 * 1000,     /* one try to get a token */
    LIMIT_FCM_EARLY_MS = 5 * 60 * 1000, /* a token is replaced so long before its end */
    LIMIT_FCM_PAUSE_MS = 1000,          /* between two failed tries; doubled up to */
    LIMIT_FCM_PAUSE_MOST_MS = 60 * 1000,
    LIMIT_FCM_WAITING = 4096,       /* pushes that wait for a token; more are rescheduled */
    LIMIT_FCM_ALARM_MS = 60 * 1000, /* between two log lines of one kind */
    LIMIT_HOOK_ANSWER = 4 * 1024,   /* bytes; they are not used */

    /* traces (O3) */
    LIMIT_TRACES_FORCED = 200, /* traces a second that requests from outside may have recorded */
    LIMIT_SPAN_TEXT = 256,     /* bytes of a name, a reason, an attribute */
    LIMIT_OTLP_BODY = 8 * 1024 * 1024, /* of one request; the standard allows 64 MiB */
    LIMIT_OTLP_ANSWER = 64 * 1024,     /* bytes that are read; the rest is cut */
    LIMIT_OTLP_TRIES = 5,              /* of one batch; then it is dropped */
    LIMIT_OTLP_PAUSE_MS = 1000,        /* before the second try; grows by half each time, up to */
    LIMIT_OTLP_PAUSE_MOST_MS = 5000,
    LIMIT_OTLP_RETRY_AFTER_MS = 60 * 1000, /* the longest Retry-After of a receiver */
    LIMIT_OTLP_FLUSH_MS = 2000,            /* at the end, for all waiting spans */
    LIMIT_OTLP_HEADERS = 32,
    LIMIT_RESOURCE_ATTRIBUTES = 64,

    /* alerts and service level objectives (O4, O10) */
    LIMIT_WINDOW_MS = 10 * 1000,        /* between two snapshots of the counters, */
    LIMIT_WINDOW_FINE = 61,             /* so many are kept: ten minutes */
    LIMIT_WINDOW_COARSE_MS = 60 * 1000, /* between two snapshots for the day, */
    LIMIT_WINDOW_COARSE = 24 * 60 + 1,  /* so many are kept */
    LIMIT_LIVE_MS = 2 * 1000,           /* between two points of the live charts, */
    LIMIT_LIVE_POINTS = 300,            /* so many are kept: ten minutes */
    LIMIT_TODAY_SEEN = 10001,           /* payments of a day are summed up to this number */
    LIMIT_KINDS_SEEN = 10001,           /* messages are counted by kind up to this number */
    LIMIT_SANDBOX_CALL_MS = 10 * 1000,  /* a call of the admin page to the sandbox */
    LIMIT_ALERT_EVENTS = 20,   /* a ratio of fewer events does not count where most went well, */
    LIMIT_ALERT_FAILURES = 2,  /* nor one failure alone; */
    LIMIT_ALERT_FEW = 3,       /* with so few events these failures count (Q5), */
    LIMIT_ALERT_FEW_TRIES = 5, /* and for the worker more tries than one bad event has */
    LIMIT_ALERT_FOR_MS = 60 * 1000, /* how long a rate must be too high before an alert fires */
    LIMIT_ALERT_CLEAR = 80,         /* per cent of the threshold: well below */
    LIMIT_ALERT_CALM_MS = 2 * 60 * 1000,    /* how long a value must be well below: resolved */
    LIMIT_ALERT_AGAIN_MS = 4 * 3600 * 1000, /* until an alert that still fires is sent again */
    LIMIT_ALERT_SEEN_MS = 60 * 1000,     /* how often a node confirms that its alert still fires; */
    LIMIT_ALERT_GONE_MS = 5 * 60 * 1000, /* after this time without that the node is gone */
    LIMIT_ALERT_ROWS = 64,               /* that one search reads; the others wait for the next */
    LIMIT_ALERT_MAILS = 10,              /* addresses */

    /* the audit log (O6) */
    LIMIT_AUDIT_SEAL = 500,            /* rows that one unit seals, */
    LIMIT_AUDIT_WINDOW = 5000,         /* among so many that it reads, */
    LIMIT_AUDIT_PAUSE_MS = 20,         /* and the pause between two units */
    LIMIT_AUDIT_RESUME_MS = 60 * 1000, /* until another node continues what a node had begun */
    LIMIT_AUDIT_LOOK_MS = 10 * 1000,   /* until a row is sealed, or slightly later */
    LIMIT_AUDIT_SETTLE_MS = 30 * 1000, /* PostgreSQL: between a row's number and its xid */
    LIMIT_AUDIT_LAST = 100,            /* units that seal before a process ends, */
    LIMIT_AUDIT_WAIT_MS = 30,          /* with this pause where a row cannot be sealed yet */
    LIMIT_AUDIT_TOLD_MS = 3600 * 1000, /* how often the head is logged */
    LIMIT_AUDIT_VERIFY = 4000,         /* rows that one step verifies, */
    LIMIT_AUDIT_PROBLEMS = 100,        /* and problems that it names; the next step continues */
    LIMIT_AUDIT_LOOKED = 3000,         /* rows that one page reads; its cursor continues */
    LIMIT_AUDIT_WALKED = 10 * 1000,    /* the same where the database compares them */
    LIMIT_AUDIT_EXPORT = 1000,         /* rows of one page of an export, */
    LIMIT_AUDIT_EXPORT_BYTES = 1024 * 1024, /* which also ends here */
    LIMIT_AUDIT_TEXT = 255,                 /* characters of a filter */

    /* errors to Sentry (O4) */
    LIMIT_SENTRY_WAITING = 64,          /* events that wait */
    LIMIT_SENTRY_SAME = 5,              /* of one message, a minute */
    LIMIT_SENTRY_MESSAGES = 64,         /* messages whose count is kept */
    LIMIT_SENTRY_EVENT = 256 * 1024,    /* bytes; a log line has at most 16 KiB */
    LIMIT_SENTRY_REPORT = 4 * 1024,     /* Sentry's own limit */
    LIMIT_SENTRY_ANSWER = 16 * 1024,    /* bytes of an answer that are read */
    LIMIT_SENTRY_MS = 10 * 1000,        /* one call */
    LIMIT_SENTRY_TICK_MS = 1000,        /* until an error is sent */
    LIMIT_SENTRY_REPORT_MS = 30 * 1000, /* until dropped events are reported without an event */
    LIMIT_SENTRY_PAUSE_MS = 60 * 1000,  /* a limit that does not say how long */
    LIMIT_SENTRY_SILENCE_MS = 24 * 3600 * 1000, /* the longest limit that is obeyed */
};
