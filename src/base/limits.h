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
    LIMIT_SPARE_FILES = 256,              /* descriptors kept for files, databases and egress */
    LIMIT_SPARE_EXCHANGES = 128,          /* request structures a loop keeps for reuse */
    LIMIT_SPARE_BYTES = 16 * 1024,        /* buffers above this are not kept */
    LIMIT_WEBSOCKET_IDLE_MS = 30 * 1000,  /* silent so long, he is pinged; twice, given up */
    LIMIT_WEBSOCKET_QUEUED = 1024 * 1024, /* bytes a slow peer has still to take: no more then */

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
    LIMIT_DB_MIGRATE_MS = 4 * 3600 * 1000, /* one file: indexes of many millions of rows */
    LIMIT_DB_RETRY_FIRST_MS = 50,
    LIMIT_DB_RETRY_MOST_MS = 2000,
    LIMIT_DB_CONNECTIONS = 64,
    LIMIT_DB_PIPELINE = 64, /* statements on their way, and their bytes */
    LIMIT_DB_PIPELINE_BYTES = 256 * 1024,
    LIMIT_DB_STATEMENT_BYTES = 64 * 1024 * 1024, /* the parameters of one statement */
    LIMIT_DB_NAMES = 512,                        /* prepared statements of one connection */
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
        60 * 1000,           /* PostgreSQL: how often live messages are counted, if any moved */
    LIMIT_PARKS = 5,         /* of one message, while the database did other work of ours */
    LIMIT_DEAD_SEEN = 10001, /* dead letters are counted up to here */

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
    LIMIT_ROUTES = 16,                /* rules of ICHIDO_ROUTES */
    LIMIT_ADMIN_TOKEN_MIN = 16,
    LIMIT_UNSTORED_LINE_MS = 60 * 1000, /* between two lines about webhooks refused for now */
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
    LIMIT_KEY_FRESH_MS = 23 * 3600 * 1000, /* never sent again with its key after that */
    LIMIT_REFUNDS = 200,                   /* of one payment */
    LIMIT_FEES = 64,                       /* fees that are being asked for */
    LIMIT_FEE_PAUSE_MS = 20,               /* between two of them: 50 a second */
    LIMIT_REFUND_LATE_MS = 5 * 60 * 1000,  /* a refund may be told that much behind its charge */
    LIMIT_OUTSIDE = 10000,                 /* messages whose outside part is under way */

    /* bank transfers */
    LIMIT_BANK_FILE = 4 * 1024 * 1024,   /* bytes of a bank's CSV */
    LIMIT_BANK_LINES = 20000,            /* deposits in it */
    LIMIT_BANK_TEXT = 400,               /* characters of what a bank says about a line */
    LIMIT_BANK_STEP = 100,               /* lines that one unit takes */
    LIMIT_BANK_ARENA = 64 * 1024 * 1024, /* of one import: its file as UTF-8, and its lines */
    LIMIT_BANK_LEFT = 20,           /* lines left open, or alike, that an import's answer shows */
    LIMIT_BANK_CANDIDATES = 5,      /* payments that a line may have meant, as they are shown */
    LIMIT_BANK_BODY = 16 * 1024,    /* of an operator's other requests */
    LIMIT_BANK_NOTE = 200,          /* characters of what an operator writes down */
    LIMIT_BANK_DETAILS = 24 * 1024, /* bytes of what a customer is told, as JSON */
    LIMIT_REFERENCE_TRIES = 16,     /* until a reference is new */

    /* purchases */
    LIMIT_KONBINI_DAYS = 4,              /* how long a slip may be paid (D19) */
    LIMIT_KONBINI_LATE_MS = 3600 * 1000, /* until the store's word of it must have come */
    LIMIT_RESERVED = 20, /* positions of a campaign that one user holds and has not paid */

    /* the payments API */
    LIMIT_PAYMENT_BODY = 16 * 1024, /* far more than any order needs */
    LIMIT_PAGE = 100,               /* payments in one answer */
    LIMIT_REPLAYS = 4096,           /* operations whose replays are counted between two writes */
    LIMIT_REPLAYS_STEP = 100,       /* of them in one unit */
    LIMIT_REPLAYS_PAUSE_MS = 100,   /* between two such units */
    LIMIT_REPLAYS_MS = 10 * 1000,   /* until they are written (M16) */
    LIMIT_TIMELINE_ROWS = 200,      /* of each source that a payment's timeline shows (O7) */
    LIMIT_TIMELINE_DETAILS = 768 * 1024, /* bytes of all details; further ones are left out */
    LIMIT_TIMELINE_TRIES = 20,           /* failed tries of one message in it */
    LIMIT_TIMELINE_PEOPLE = 32,          /* whose names it looks for */
    LIMIT_HISTORY_ROWS = 2000,           /* events that one page of their history looks at */

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

    /* money that must go back (D2) */

    /* campaigns */
    LIMIT_POSITIONS_PAGE = 1000, /* positions in one answer */
    LIMIT_CANCELLED = 25,        /* payments that one step of a cancelled campaign looks at */
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

    /* people who log in (A3) */
    LIMIT_OPERATORS = 1000,
    LIMIT_OPERATOR_NAME = 64,
    LIMIT_LOGIN_FAILURES = 64, /* persons and addresses that a minute tells apart */
    LIMIT_OPERATOR_BODY = 4 * 1024,
    LIMIT_LOGIN_BODY = 10 * 1024, /* a token, with every byte of a password escaped */
    LIMIT_PASSWORD_MIN = 12,      /* bytes */
    LIMIT_PASSWORD = 256,
    LIMIT_PASSWORD_THREADS = 2,  /* each needs 32 MB and about 80 ms for one */
    LIMIT_PASSWORD_WAITING = 32, /* for them; beyond it is 503 */
    LIMIT_SESSIONS = 32,         /* of one person; the oldest gives way */
    LIMIT_SESSION_IDLE_MS = 8 * 3600 * 1000,
    LIMIT_SESSION_MS = 7 * 24 * 3600 * 1000, /* however busy */
    LIMIT_SESSION_SEEN_MS = 60 * 1000,       /* how often it is written that one is in use */
    LIMIT_SESSIONS_PRUNED = 100,             /* expired ones that a login takes away */
    LIMIT_LOGIN_FREE = 5,                    /* failures of a name from an address, then: */
    LIMIT_LOGIN_FIRST_MS = 1000,             /* a wait that doubles */
    LIMIT_LOGIN_WAIT_MS = 5 * 60 * 1000,
    LIMIT_LOGIN_FORGET_MS = 3600 * 1000, /* without a failure they are forgotten */
    LIMIT_LOGIN_ADDRESS = 30,            /* failures a minute of one address, whatever the name */
    LIMIT_LOGIN_SLOTS = 4096,            /* of each kind that are remembered */

    /* Stripe-Signature */
    LIMIT_SIGNATURE_HEADER = 1024,
    LIMIT_SIGNATURES = 8,
    LIMIT_SECRETS = 16,

    /* the sandbox's events and switches */
    LIMIT_SANDBOX_EVENT = 256 * 1024, /* an event as it is stored */
    LIMIT_SANDBOX_EVENTS = 200000,    /* stored; the oldest are forgotten, */
    LIMIT_SANDBOX_FORGET = 64,        /* so many at a time */
    LIMIT_SANDBOX_EVENT_DAYS = 30,    /* and these: a job deletes what is older, */
    LIMIT_SANDBOX_FORGET_STEP = 200,  /* so many at a time, */
    LIMIT_SANDBOX_FORGET_PAUSE_MS = 100,
    LIMIT_SANDBOX_ENDPOINTS = 16,                /* webhook endpoints, as with Stripe */
    LIMIT_SANDBOX_TYPES = 500,                   /* types that one of them asks for */
    LIMIT_SANDBOX_TYPE_FILTER = 20,              /* types that a list of events is asked for */
    LIMIT_SANDBOX_OVERLAP_MS = 24 * 3600 * 1000, /* two secrets sign */
    LIMIT_SANDBOX_DEBIT_MS = 500,                /* until a debit is known to have worked, or not */
    LIMIT_SANDBOX_DEBIT_LATE_MS = 180 * 1000,    /* the same for accounts that take their time */
    LIMIT_SANDBOX_REFUND_DAYS = 45,    /* until a konbini refund that nobody asks for ends */
    LIMIT_SANDBOX_SEND_MS = 10 * 1000, /* one try to deliver it */
    LIMIT_SANDBOX_ANSWER = 64 * 1024,  /* of the receiver; nobody reads it */
    LIMIT_SANDBOX_RESEND_FACTOR = 300, /* Stripe's five minutes between two tries become a second */
    LIMIT_SANDBOX_RULES = 64,          /* fault rules at a time */
    LIMIT_SANDBOX_CHAOS_DELAY_MS =
        200, /* a delay and a hang by chance, at most, unless asked for */
    LIMIT_SANDBOX_CHAOS_HANG_MS = 500,
    LIMIT_SANDBOX_SWITCH_MS = 120 * 1000, /* the longest delay or hang that can be asked for */
    LIMIT_SANDBOX_COPIES = 10,            /* extra deliveries of each event */
    LIMIT_SANDBOX_REORDER = 8,            /* so many events in a row are sent backwards, */
    LIMIT_SANDBOX_REORDER_MS = 40,        /* each so much apart */
    LIMIT_SANDBOX_LISTED = 100,           /* events in one answer of /_sandbox */
    LIMIT_SANDBOX_BOOKS = 1000,           /* intents in one answer of /_sandbox */

    /* the sandbox's relay, for `stripe listen` */
    LIMIT_RELAY_SESSIONS = 100,            /* connected, or expected to connect again */
    LIMIT_RELAY_DEVICES = 1000,            /* whose secrets are remembered */
    LIMIT_RELAY_DEVICE_NAME = 200,         /* characters */
    LIMIT_RELAY_AWAIT_MS = 10 * 60 * 1000, /* so long a session waits to be connected (again) */
    LIMIT_RELAY_RECONNECT_S = 3600,        /* after which the client renews its connection */
    LIMIT_RELAY_WAITING = 50000,           /* events of one session that are not acknowledged */
    LIMIT_RELAY_TRIM = 64,                 /* the oldest go then, looked at that often */
    LIMIT_RELAY_WINDOW = 16,               /* sent and not acknowledged: no more until one is */
    LIMIT_RELAY_MESSAGE = 2 * 1024 * 1024, /* from the client: what was answered to whom */

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

    /* the sandbox's PayPay */
    LIMIT_SANDBOX_PP_BODY = 64 * 1024,
    LIMIT_SANDBOX_PP_SIGNED = 32 * 1024,  /* the text that is signed: a path and a few words */
    LIMIT_SANDBOX_PP_SKEW_S = 120,        /* between the caller's clock and the sandbox's */
    LIMIT_SANDBOX_PP_ID = 64,             /* characters of an id of the merchant's */
    LIMIT_SANDBOX_PP_TEXT = 255,          /* the same of other texts */
    LIMIT_SANDBOX_PP_ITEMS = 100,         /* of an order */
    LIMIT_SANDBOX_PP_CODE_MS = 5 * 60000, /* a code's life */
    LIMIT_SANDBOX_PP_HOLD_DAYS = 30, /* an authorization's, at most and where nothing is said */
    LIMIT_SANDBOX_PP_CONFIRM_MS = 10 * 60000, /* how long a user is asked about a capture */
    LIMIT_SANDBOX_PP_ASKS = 8103,             /* yen: a capture of so much asks its user */
    LIMIT_SANDBOX_PP_SIMILAR_MS = 5 * 60000,  /* same user, same amount: suspected within this */
    LIMIT_SANDBOX_PP_CANCEL_MS =
        15 * 60000, /* of the day after, in which a payment can be cancelled */
    LIMIT_SANDBOX_PP_REFUND_DAYS = 365,
    LIMIT_SANDBOX_PP_REFUNDS = 20,     /* of one payment, where many are allowed */
    LIMIT_SANDBOX_PP_NOTICE_MS = 1500, /* a receiver's time for one notification */
    LIMIT_SANDBOX_PP_NOTICE_TRIES = 3, /* then it is lost */
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

    /* what is found out by asking (E11, P7) */
    LIMIT_LIST_PAGE = 50,                   /* objects of a page of Stripe's lists */
    LIMIT_LIST_PAGE_LEAST = 5,              /* ... where one of so many cannot be read */
    LIMIT_HEAL_PAGES = 40,                  /* of one run; a longer gap goes on at once */
    LIMIT_HEAL_GO_ON_MS = 50,               /* ... behind this pause */
    LIMIT_HEAL_YOUNG_MS = 60 * 1000,        /* a younger event's webhook is still under way */
    LIMIT_HEAL_OVERLAP_MS = 2 * 60 * 1000,  /* events may be listed so late */
    LIMIT_HEAL_FIRST_MS = 24 * 3600 * 1000, /* the first run looks back so far */
    LIMIT_UNKNOWN_LOOK_MS = 60 * 1000,      /* between two looks for unknown outcomes */
    LIMIT_QUIET_LOOK_MS = 3600 * 1000,      /* the same where nothing is wrong (Q11) */
    LIMIT_UNKNOWN_AGAIN_MS = 3600 * 1000,   /* until one is told of again */
    LIMIT_UNKNOWN_TOLD = 50,                /* in one look */
    LIMIT_UNKNOWN_SEEN = 10001,             /* unknown outcomes are counted up to here */
    LIMIT_RECONCILE_PAUSE_MS = 60 * 1000,   /* what differs is looked at again after that */
    LIMIT_RECONCILE_STEPS = 200,            /* of one run of its job; the next goes on at once */
    LIMIT_RECONCILE_ROWS = 200,             /* of ours in one step, or forgotten in one */
    LIMIT_RECONCILE_REFUNDS = 200,          /* of one intent */
    LIMIT_RECONCILE_KEPT = 5000,            /* differences of a day; more are only counted */
    LIMIT_RECONCILE_REPORT = 16 << 20,      /* bytes of a day's report */
    LIMIT_RECONCILE_LATE = 7,               /* days that a server which was down makes up for */
    LIMIT_RECONCILE_DAYS = 400,             /* how long a day is kept */

    /* QStash */
    LIMIT_QSTASH_SECRET_MIN = 16, /* characters of its token and of a signing key */
    LIMIT_SIGNING_KEY = 255,      /* the same, at most */
    LIMIT_PUBLISH_MS = 5 * 1000,  /* one try to publish an event to a remote, its turn included */
    LIMIT_PUBLISH_CALLS = 256,    /* of them at a time; more wait for their turn */
    LIMIT_PUBLISHES = 4096,       /* events under way to it; more go to the builtin queue at once */
    LIMIT_PUBLISH_BYTES = 64 << 20, /* the same in bytes */
    LIMIT_WATCH_MS = 3600 * 1000,   /* what the remote took has come back by then, or is missed: its
                                       retries are over within minutes */
    LIMIT_WATCH_STEP_MS = 5 * 60 * 1000, /* between two looks; who leaves it waits so long */
    LIMIT_MIRROR_MS = 60 * 1000,         /* between two looks at the remote's dead letters */
    LIMIT_MIRROR_CALL_MS = 20 * 1000,
    LIMIT_MIRROR_ANSWER =
        8 << 20,                 /* bytes of one page; a larger one is asked for letter by letter */
    LIMIT_MIRROR_PAGE = 20,      /* letters of a page */
    LIMIT_MIRROR_PAGES = 50,     /* of one look; the next one goes on from there */
    LIMIT_ZONE_NAME = 64,        /* bytes of a time zone's name */
    LIMIT_ZONE_FILE = 64 * 1024, /* tzdata's largest has 4 KB */
    LIMIT_CRON = 512,            /* bytes; every minute, hour and day in a list has less */
    LIMIT_CRON_YEARS = 48,       /* the 29th of February on one weekday: 40 around 2100 */
    LIMIT_EXPRESSION = 256,      /* bytes of Upstash-Retry-Delay, and how deep it nests */
    LIMIT_EXPRESSION_DEPTH = 32,
    LIMIT_BACKOFF_MS = 24 * 3600 * 1000, /* no retry waits longer, whoever asks */

    /* QStash */
    LIMIT_QSTASH_BODY = 1024 * 1024, /* of one message */
    LIMIT_QSTASH_BATCH = 16 * 1024 * 1024,
    LIMIT_QSTASH_KEY = 512,  /* bytes of a flow control key; it is a key of an index */
    LIMIT_QSTASH_NAME = 255, /* of a queue, a group, a schedule, a label */
    LIMIT_QSTASH_HOST = 260,
    LIMIT_QSTASH_LABELS = 20,
    LIMIT_QSTASH_CALLS = 2048, /* connections of deliveries, over all destinations */
    LIMIT_QSTASH_RETRIES = 1000,
    LIMIT_QSTASH_ATTEMPT_MS = 30 * 1000, /* one try, unless the publisher says otherwise */
    LIMIT_QSTASH_ATTEMPT_MOST_MS = 2 * 3600 * 1000,
    LIMIT_QSTASH_ANSWER = 256 * 1024,   /* bytes of an answer that are kept for a callback */
    LIMIT_QSTASH_LOGGED = 16 * 1024,    /* bytes of an answer that are kept in the log */
    LIMIT_QSTASH_CANCEL = 100,          /* cancelled in one unit */
    LIMIT_QSTASH_WINDOW_LATE_MS = 5000, /* a flow key's wake-up that is so late is planned anew */

    /* QStash: deliveries */
    LIMIT_QSTASH_DESTINATIONS = 4096,        /* that are remembered */
    LIMIT_QSTASH_PER_HOST = 256,             /* calls to one destination at a time */
    LIMIT_QSTASH_UNDER_WAY = 4096,           /* calls, and parcels that wait for a place, in all */
    LIMIT_QSTASH_WAITING = 1024,             /* of them, for one destination */
    LIMIT_QSTASH_WAIT_MS = 1000,             /* a longer wait is put off instead */
    LIMIT_QSTASH_HORIZON_MS = 5 * 60 * 1000, /* nothing is put off longer, however long the line */
    LIMIT_QSTASH_SILENT = 5,                 /* calls in a row without an answer open the breaker */
    LIMIT_QSTASH_FLIGHT_BYTES = 64 * 1024 * 1024, /* bodies of all calls together */
    LIMIT_QSTASH_ARENA = 16 * 1024 * 1024,        /* of one delivery, with its callbacks' bodies */
    LIMIT_QSTASH_ANSWER_HEADER = 16 * 1024,       /* an answer's headers, as they are kept */
    LIMIT_QSTASH_TURN_MS = 30 * 1000,             /* in the client, beside the attempt's own time */
    LIMIT_QSTASH_URL = 8 * 1024,                  /* bytes of a destination, or a callback's */
    LIMIT_QSTASH_HEADER = 512 * 1024, /* as JSON: LIMIT_HEADERS with every byte escaped */
    LIMIT_QSTASH_DELAY_DAYS = 365,    /* until a message leaves */
    LIMIT_QSTASH_RETRIES_USUAL = 3,
    LIMIT_QSTASH_PERIOD_S = 7 * 24 * 3600,        /* of a flow key's rate */
    LIMIT_QSTASH_FLOW = 1000 * 1000 * 1000,       /* a rate, a parallelism */
    LIMIT_QSTASH_ENDPOINTS = 100,                 /* of a group */
    LIMIT_QSTASH_ITEMS = 10000,                   /* of a batch */
    LIMIT_QSTASH_BATCH_ANSWER = 16 * 1024 * 1024, /* items behind that get an error */
    LIMIT_QSTASH_QUEUES = 10000,
    LIMIT_QSTASH_PARALLELISM = 1000, /* of one queue */
    LIMIT_QSTASH_GROUPS = 1000,
    LIMIT_QSTASH_MEMBER_URL = 2048, /* of an endpoint: with its group it is a key of an index */
    LIMIT_QSTASH_FLOWS_LISTED = 1000,
    LIMIT_QSTASH_ROTATE_MS = 3600 * 1000, /* between two rotations of the signing keys */
    LIMIT_QSTASH_KEYS_MS = 1000, /* PostgreSQL: how soon another node's rotation is known */
    LIMIT_QSTASH_SCHEDULES = 10000,
    LIMIT_QSTASH_ZONE_MS = 3600 * 1000,         /* a time zone is gone: when to look again */
    LIMIT_QSTASH_LIST_BODIES = 8 * 1024 * 1024, /* of schedules, in one list; get shows the rest */
    LIMIT_QSTASH_VALUES = 200,                  /* of one key of a filter */
    LIMIT_QSTASH_IDS = 10000,                   /* named in one call */
    LIMIT_QSTASH_PAGE = 100,                    /* dead ones in one answer */
    LIMIT_QSTASH_LOG_PAGE = 1000,               /* lines of the log in one answer */
    LIMIT_QSTASH_LOOKED = 2000,                 /* rows that one unit looks at, */
    LIMIT_QSTASH_LOOKED_CALL = 20000,           /* and one call; its cursor goes on */
    LIMIT_QSTASH_PAGE_BYTES = 6 * 1024 * 1024,  /* a page ends there; its cursor goes on */
    LIMIT_QSTASH_DEAD_STEP = 50,                /* deleted or retried in one unit, */
    LIMIT_QSTASH_DEAD_CALL = 1000,              /* and in one call; its cursor goes on */
    LIMIT_QSTASH_STEP_BYTES = 4 * 1024 * 1024,  /* bodies that one unit retries */
    LIMIT_QSTASH_LOG_DAYS = 14,                 /* how long the log is kept, and what ended */
    LIMIT_QSTASH_DEAD_DAYS = 30,
    LIMIT_QSTASH_FLOW_DAYS = 30,       /* a flow key that nobody uses */
    LIMIT_QSTASH_FORGET = 500,         /* rows that one step of retention removes */
    LIMIT_QSTASH_FORGET_PAUSE_MS = 20, /* between two steps, while there is more */
    LIMIT_QSTASH_SHOWN = 4 * 1024,     /* bytes of an answer that an operator is shown */

    /* payments that an operator looks for */
    LIMIT_FIND_LOOKED = 2000,   /* that one page looks at, where no index decides */
    LIMIT_FIND_TEXT = 255,      /* characters that are looked for */
    LIMIT_FIND_IDS = 100,       /* payments that one id or key leads to, at a time */
    LIMIT_FIND_GATEWAYS = 16,   /* whose walks are merged */
    LIMIT_FIND_SKEW_MS = 60000, /* between a payment's id and its createdAt, at most */
    LIMIT_SHOWN_ROWS = 200,     /* operations, transactions, disputes shown with a payment */

    /* dead letters */
    LIMIT_DEAD_STEP = 100,                   /* that one unit changes */
    LIMIT_DEAD_STEP_BYTES = 4 * 1024 * 1024, /* that one unit reads of those it retries */
    LIMIT_DEAD_LOOKED = 2000,       /* that one unit looks at, where an index does not decide */
    LIMIT_DEAD_CALL = 20000,        /* that one request looks at; its cursor goes on */
    LIMIT_DEAD_ACT = 10000,         /* that one request changes at most, */
    LIMIT_DEAD_ACT_USUAL = 1000,    /* and where it does not say */
    LIMIT_DEAD_IDS = 1000,          /* named in one request */
    LIMIT_DEAD_BODY = 64 * 1024,    /* so many ids need 40 KB */
    LIMIT_DEAD_TEXT = 255,          /* characters of a filter's text */
    LIMIT_DEAD_GROUP = 10000,       /* letters of a group that are counted */
    LIMIT_DEAD_GROUPS_STEP = 2,     /* groups that one statement counts */
    LIMIT_DEAD_GROUPS_SUM = 20000,  /* letters that a page of groups counts; its cursor goes on */
    LIMIT_DEAD_GROUPS_LOOKED = 500, /* groups that a page looks at */
    LIMIT_DEAD_CAUSES = 200,        /* old letters that one step gives a cause */
    LIMIT_DEAD_EDIT = 256 * 1024,   /* bytes of a body that is edited, */
    LIMIT_DEAD_EDIT_BODY = 1024 * 1024, /* and of it as a JSON string */
    LIMIT_REDRIVE_RATE = 1000,          /* letters a second */
    LIMIT_REDRIVE_LOOK_MS = 60 * 1000,  /* is the message of each that runs still there */
    LIMIT_REDRIVES_LOOKED = 100,        /* at one look */
    LIMIT_REDRIVE_PAUSE_MS = 20,        /* between two steps, at least */
    LIMIT_REPLAY_LOOKED = 20000,        /* events that are counted before a replay begins */
    LIMIT_REPLAY_STEP = 1000,           /* that one step of it looks at */
    LIMIT_FAILURES_DAYS = 90,           /* how long failed attempts are kept */
    LIMIT_RETENTION_STEP = 200,         /* rows that each statement of retention takes (M2) */

    /* what people are told (N1, S2) */
    LIMIT_REMINDERS = 12,        /* of one collection, to one person */
    LIMIT_REMINDER_DAYS = 90,    /* before or after the due date */
    LIMIT_REMINDED = 50,         /* participants of one step; collections that one step plans */
    LIMIT_PLANS_LOOKED_AT = 200, /* collections of which that step finds out whether it has to */
    LIMIT_DEVICES = 20,          /* of one user */
    LIMIT_DEVICE_TOKEN = 1024,   /* bytes: an index has them too */
    LIMIT_CONTACT_BODY = 128 * 1024,
    LIMIT_MAIL = 64 * 1024,       /* bytes of one mail, headers and all */
    LIMIT_MAIL_ADDRESS = 254,     /* bytes (RFC 5321's path, without its brackets) */
    LIMIT_MAIL_REPLY = 16 * 1024, /* bytes of a mail server's answer to one command */
    LIMIT_MAIL_TITLE = 1024,      /* bytes of its subject, */
    LIMIT_MAIL_TEXT = 40 * 1024,  /* and of its words: base64 makes four thirds of them */
    LIMIT_MAIL_LINK = 2048,       /* and of a link under them */
    LIMIT_NOTIFY_MS = 30 * 1000,  /* one mail, push or webhook */
    LIMIT_SENDS = 8, /* of a channel, under way: as many as its client has connections to a host */
    LIMIT_SEND_WAIT_MS = 5000, /* in line for one of them: only alerts can be before it. With the
                                  call itself below ops/ichido.service's TimeoutStopSec */
    LIMIT_SEND_NOWHERE_MS = 24 * 3600 * 1000, /* until a node has its channel */
    LIMIT_TELLER_MS = 3600 * 1000,            /* so often a node says that it has one */
    LIMIT_SEND_TURN_MS = 1000,                /* so long one waits at least that found no room, */
    LIMIT_SEND_SPACE_MS = 4,       /* and they follow each other so closely: 250 a second */
    LIMIT_SEND_ARENA = 256 * 1024, /* of one send */

    /* push by FCM */
    LIMIT_FCM_MS = 15 * 1000,           /* one try; as long as Google's own library waits */
    LIMIT_FCM_PAYLOAD = 4096,           /* bytes that a phone is sent */
    LIMIT_FCM_TTL_S = 7 * 24 * 3600,    /* a phone that is off for longer is not told any more */
    LIMIT_FCM_ANSWER = 16 * 1024,       /* bytes that are read; the rest is cut */
    LIMIT_FCM_QUOTA_MS = 60 * 1000,     /* 429 without Retry-After */
    LIMIT_FCM_INTERNAL_MS = 10 * 1000,  /* 500: no earlier */
    LIMIT_FCM_TOKEN = 2048,             /* bytes of an access token; Google's word */
    LIMIT_FCM_TOKEN_MS = 10 * 1000,     /* one try to get one */
    LIMIT_FCM_EARLY_MS = 5 * 60 * 1000, /* so long before its end a token is not used any more */
    LIMIT_FCM_PAUSE_MS = 1000,          /* between two tries that fail; doubled up to */
    LIMIT_FCM_PAUSE_MOST_MS = 60 * 1000,
    LIMIT_FCM_WAITING = 4096,       /* pushes that wait for a token; more are put off */
    LIMIT_FCM_ALARM_MS = 60 * 1000, /* between two lines of one kind, however many pushes fail */
    LIMIT_HOOK_ANSWER = 4 * 1024,   /* bytes; nobody reads it */

    /* traces (O3) */
    LIMIT_TRACES_FORCED = 200,         /* a second, that outsiders ask to be recorded */
    LIMIT_SPAN_TEXT = 256,             /* bytes of a name, a reason, an attribute */
    LIMIT_OTLP_BODY = 8 * 1024 * 1024, /* of one request; the standard allows 64 MiB */
    LIMIT_OTLP_ANSWER = 64 * 1024,     /* bytes that are read; the rest is cut */
    LIMIT_OTLP_TRIES = 5,              /* of one batch; then it is gone */
    LIMIT_OTLP_PAUSE_MS = 1000,        /* before the second; half more each time, up to */
    LIMIT_OTLP_PAUSE_MOST_MS = 5000,
    LIMIT_OTLP_RETRY_AFTER_MS = 60 * 1000, /* a receiver that asks for more gets no more */
    LIMIT_OTLP_FLUSH_MS = 2000,            /* at the end, for all that waits */
    LIMIT_OTLP_HEADERS = 32,
    LIMIT_RESOURCE_ATTRIBUTES = 64,

    /* alerts and goals (O4, O10) */
    LIMIT_WINDOW_MS = 10 * 1000,         /* between two snapshots of the numbers, */
    LIMIT_WINDOW_FINE = 61,              /* so many of them: ten minutes */
    LIMIT_WINDOW_COARSE_MS = 60 * 1000,  /* the same for the day, */
    LIMIT_WINDOW_COARSE = 24 * 60 + 1,   /* a snapshot a minute */
    LIMIT_LIVE_MS = 2 * 1000,            /* between two points of the live charts, */
    LIMIT_LIVE_POINTS = 300,             /* so many of them: ten minutes */
    LIMIT_TODAY_SEEN = 10001,            /* payments of a day are summed up to here */
    LIMIT_KINDS_SEEN = 10001,            /* messages are counted by kind up to here */
    LIMIT_SANDBOX_CALL_MS = 10 * 1000,   /* a call of the operator's page to the sandbox */
    LIMIT_ALERT_EVENTS = 20,             /* a ratio of fewer says nothing where most went well, */
    LIMIT_ALERT_FAILURES = 2,            /* nor does one failure alone; */
    LIMIT_ALERT_FEW = 3,                 /* of so few events it takes these (Q5), */
    LIMIT_ALERT_FEW_TRIES = 5,           /* of the worker more tries than one bad event has */
    LIMIT_ALERT_FOR_MS = 60 * 1000,      /* a rate is too high for so long before it is told */
    LIMIT_ALERT_CLEAR = 80,              /* per cent of the threshold: well below, */
    LIMIT_ALERT_CALM_MS = 2 * 60 * 1000, /* and so for this long: resolved */
    LIMIT_ALERT_AGAIN_MS = 4 * 3600 * 1000, /* until one that goes on is told of again */
    LIMIT_ALERT_SEEN_MS = 60 * 1000,        /* a node says so often that its alert still stands; */
    LIMIT_ALERT_GONE_MS = 5 * 60 * 1000,    /* who did not for so long has gone */
    LIMIT_ALERT_ROWS = 64,                  /* that one look reads; the others wait for the next */
    LIMIT_ALERT_MAILS = 10,                 /* addresses */

    /* the audit log (O6) */
    LIMIT_AUDIT_SEAL = 500,                 /* rows that one unit seals, */
    LIMIT_AUDIT_WINDOW = 5000,              /* of so many that it looks at, */
    LIMIT_AUDIT_PAUSE_MS = 20,              /* and the rest between two of them */
    LIMIT_AUDIT_RESUME_MS = 60 * 1000,      /* until others go on with what a node had begun */
    LIMIT_AUDIT_LOOK_MS = 10 * 1000,        /* until a row is sealed, or a little later */
    LIMIT_AUDIT_SETTLE_MS = 30 * 1000,      /* PostgreSQL: between a row's number and its xid */
    LIMIT_AUDIT_LAST = 100,                 /* units of that before a process ends, */
    LIMIT_AUDIT_WAIT_MS = 30,               /* so far apart where a row cannot be sealed yet */
    LIMIT_AUDIT_TOLD_MS = 3600 * 1000,      /* the head is logged so often */
    LIMIT_AUDIT_VERIFY = 4000,              /* rows that one step verifies, */
    LIMIT_AUDIT_PROBLEMS = 100,             /* and problems that it names; the next one goes on */
    LIMIT_AUDIT_LOOKED = 3000,              /* rows that one page looks at; its cursor goes on */
    LIMIT_AUDIT_WALKED = 10 * 1000,         /* the same where the database compares them */
    LIMIT_AUDIT_EXPORT = 1000,              /* rows of one page of an export, */
    LIMIT_AUDIT_EXPORT_BYTES = 1024 * 1024, /* which also ends here */
    LIMIT_AUDIT_TEXT = 255,                 /* characters of a filter */

    /* errors to Sentry (O4) */
    LIMIT_SENTRY_WAITING = 64,                  /* events that wait for their turn */
    LIMIT_SENTRY_SAME = 5,                      /* of one message, a minute */
    LIMIT_SENTRY_MESSAGES = 64,                 /* whose number is kept */
    LIMIT_SENTRY_EVENT = 256 * 1024,            /* bytes; a log line has at most 16 KiB */
    LIMIT_SENTRY_REPORT = 4 * 1024,             /* Sentry's own limit */
    LIMIT_SENTRY_ANSWER = 16 * 1024,            /* bytes of an answer that are looked at */
    LIMIT_SENTRY_MS = 10 * 1000,                /* one call */
    LIMIT_SENTRY_TICK_MS = 1000,                /* until an error leaves */
    LIMIT_SENTRY_REPORT_MS = 30 * 1000,         /* until what was dropped is told by itself */
    LIMIT_SENTRY_PAUSE_MS = 60 * 1000,          /* a limit that does not say how long */
    LIMIT_SENTRY_SILENCE_MS = 24 * 3600 * 1000, /* the longest that is believed */
};
