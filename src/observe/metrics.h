/* metrics.h - the counters, gauges and latency histograms of GET /metrics. Any thread may add,
 * without a lock. Series of known label values exist from the start with the value zero. */
#pragma once

#include "base/buf.h"
#include "base/time/clock.h"

/*  X(name, wire name, labels or NULL, their values or NULL, help). Up to three labels, separated by
 *  commas; the values of each by commas, the labels' lists by semicolons: "status,op", "a,b;x,y,z".
 *  A value that is not listed counts as the last of its list. The list "*" of currencies grows as
 *  currencies are used, up to METRICS_CURRENCIES; further ones are "other". */
#define COUNTER_LIST(X)                                                                            \
    X(COUNT_PAYMENT_CREATE, "payment_create_total", "status", "success,failed,gateway_error",      \
      "Payments that were asked for, replays left out; failed: a decline or 4xx; gateway_error: "  \
      "502 or 504.")                                                                               \
    X(COUNT_IDEMPOTENCY_HIT, "payment_idempotency_hit_total", NULL, NULL,                          \
      "Requests for money that got the answer of an earlier one with the same key.")               \
    X(COUNT_GATEWAY_REQUEST, "payment_gateway_request_total", "gateway,operation,status",          \
      METRICS_GATEWAYS ";" METRICS_OPERATIONS                                                      \
                       ";ok,declined,refused,absent,retry_later,uncertain,timeout,turned_away",    \
      "What gateways were asked for, their retries included, by the answer; turned_away: by our "  \
      "own breaker or limit, nothing was sent.")                                                   \
    X(COUNT_PAYMENT_AMOUNT, "payment_amount_total", "currency,status",                             \
      "*;AUTHORIZED,CAPTURED,REFUNDED",                                                            \
      "Money that was authorised, captured and given back, in the currency's minor unit.")         \
    X(COUNT_VIOLATION, "ichido_idempotency_violation_total", "kind",                               \
      "gateway_key,second_payment,second_effect",                                                  \
      "What was about to happen twice, or did; must stay 0. gateway_key: a key of ours with "      \
      "another content; second_payment: money on a second intent of a payment, sent back; "        \
      "second_effect: an event with an effect already, stopped.")                                  \
    X(COUNT_PROCESSING, "ichido_webhook_processing_total", "result", "done,retried,dead",          \
      "Tries to process a provider's event, by the queue or by the worker.")                       \
    X(COUNT_DEAD, "ichido_queue_dead_letters_total", NULL, NULL,                                   \
      "Dead letters that came in, in whatever way, also again; without alerts.")                   \
    X(COUNT_WEBHOOK_RECEIVED, "ichido_webhook_received_total", NULL, NULL,                         \
      "Webhooks that were stored and acknowledged, duplicates included.")                          \
    X(COUNT_WEBHOOK_DUPLICATE, "ichido_webhook_duplicate_total", NULL, NULL,                       \
      "Webhooks whose event was stored before.")                                                   \
    X(COUNT_WEBHOOK_REJECTED, "ichido_webhook_rejected_total", "reason",                           \
      "no_header,malformed,no_timestamp,no_v1,mismatch,too_old,future,address,empty",              \
      "Webhooks that were refused, by reason.")                                                    \
    X(COUNT_WEBHOOK_UNSTORED, "ichido_webhook_unstored_total", NULL, NULL,                         \
      "Verified webhooks answered 503 because they could not be made durable.")                    \
    X(COUNT_WEBHOOK_HEALED, "ichido_webhook_healed_total", NULL, NULL,                             \
      "Events whose webhook never came, taken from the provider's list.")                          \
    X(COUNT_EVENT_OUTCOME, "ichido_event_outcome_total", "outcome",                                \
      "processed,applied,superseded,ignored,wrong_mode,dead", "What became of provider events.")   \
    X(COUNT_WORKER, "ichido_worker_total", "result", "done,known,retry,dead,refused",              \
      "What QStash sent to the webhook worker, by what became of it.")                             \
    X(COUNT_PUBLISH, "ichido_publish_total", "result", "sent,failed,fallback",                     \
      "Tries to publish an event to QStash; fallback: events that the builtin queue took back.")   \
    X(COUNT_DELIVERY, "ichido_delivery_total", "result",                                           \
      "delivered,retried,dead,canceled,put_off",                                                   \
      "Attempts to deliver a message of the QStash API; put_off: its destination was not called.") \
    X(COUNT_REFUND_MISSING, "ichido_refund_missing_total", NULL, NULL,                             \
      "Charges of which more was refunded than their refunds say.")                                \
    X(COUNT_DIFFERENCE, "ichido_reconciliation_differences_total", "state", "open,healed",         \
      "Differences between our books and the provider's that a reconciliation found.")             \
    X(COUNT_JOB, "ichido_job_total", "result", "done,retried,dead,stale,put_off",                  \
      "Runs of queue messages, by result; put_off: due again by its own wish, nothing failed.")    \
    X(COUNT_NOTIFICATION, "ichido_notification_total", "channel,result",                           \
      "mail,push,webhook;sent,failed,unknown,skipped,later,put_off",                               \
      "What people were told, by channel; later: to be tried again; put_off: waits for its turn.") \
    X(COUNT_HTTP, "ichido_http_requests_total", "class", "2xx,3xx,4xx,5xx",                        \
      "Answered requests, by class of status.")                                                    \
    X(COUNT_HTTP_REFUSED, "ichido_http_refused_total", NULL, NULL,                                 \
      "Connections and requests refused before they reached a handler.")                           \
    X(COUNT_COMMITS, "ichido_store_commits_total", NULL, NULL, "Durable commits.")                 \
    X(COUNT_UNITS, "ichido_store_units_total", NULL, NULL, "Units of work that were run.")         \
    X(COUNT_STORE_ERRORS, "ichido_store_errors_total", NULL, NULL,                                 \
      "Units that failed because of the database itself.")                                         \
    X(COUNT_SPANS, "ichido_trace_spans_total", "result", "exported,rejected,failed,dropped",       \
      "Recorded spans: taken by the receiver, refused by it one by one, never taken, or without "  \
      "room to wait for it.")                                                                      \
    X(COUNT_SENTRY, "ichido_sentry_events_total", "result", "sent,dropped",                        \
      "Errors that Sentry took, and those that it did not or that had no room.")                   \
    X(COUNT_LOG_DROPPED, "ichido_log_dropped_total", NULL, NULL, "Log lines that found no room.")

#define GAUGE_LIST(X)                                                                              \
    X(GAUGE_LIVE, "ichido_queue_live", "Messages in the queue.")                                   \
    X(GAUGE_OLDEST, "ichido_queue_oldest_ready_seconds", "Age of the oldest ready message.")       \
    X(GAUGE_DEAD, "ichido_queue_dead",                                                             \
      "Dead letters that wait for an operator, without alerts; 10001: or more.")                   \
    X(GAUGE_DEAD_OLDEST, "ichido_queue_dead_oldest_seconds", "Age of the oldest of them.")         \
    X(GAUGE_UNKNOWN, "ichido_payment_unknown",                                                     \
      "Money operations whose outcome is not known; 10001: or more.")                              \
    X(GAUGE_UNKNOWN_OLDEST, "ichido_payment_unknown_oldest_seconds",                               \
      "Age of the oldest of them, from its claim on.")                                             \
    X(GAUGE_CONNECTIONS, "ichido_http_connections", "Open connections.")                           \
    X(GAUGE_IN_FLIGHT, "ichido_http_in_flight", "Requests being answered.")                        \
    X(GAUGE_WAITING, "ichido_store_waiting", "Units that wait for the database.")                  \
    X(GAUGE_WAL, "ichido_store_wal_bytes", "SQLite: size of the write-ahead log.")                 \
    X(GAUGE_START, "process_start_time_seconds", "When this process started, since 1970.")

#define HISTOGRAM_LIST(X)                                                                          \
    X(TIME_CREATE, "payment_create_duration_seconds", "status", "success,failed,gateway_error",    \
      "From a payment's request to its answer, counted as in payment_create_total.")               \
    X(TIME_GATEWAY, "payment_gateway_duration_seconds", "gateway,operation",                       \
      METRICS_GATEWAYS ";" METRICS_OPERATIONS,                                                     \
      "From the first try of what a gateway was asked for to its answer or the end of its time.")  \
    X(TIME_ACK, "ichido_webhook_ack_seconds", NULL, NULL,                                          \
      "From a webhook's last byte to its answer.")                                                 \
    X(TIME_COMMIT, "ichido_store_commit_seconds", NULL, NULL, "A commit, fsync included.")         \
    X(TIME_END_TO_END, "ichido_webhook_end_to_end_seconds", NULL, NULL,                            \
      "From reception to processed.")

/* In the order of gateway/port.h's enum gateway_ask. A gateway that is not set up is not shown. */
#define METRICS_GATEWAYS "stripe,sandbox,paypay,manual"
#define METRICS_OPERATIONS "authorize,capture,void,refund,fetch,fetch_refund,checkout,expire"

#define METRIC_ID3(id, name, help) id,
#define METRIC_ID5(id, name, labels, values, help) id,
enum counter { COUNTER_LIST(METRIC_ID5) COUNTERS };
enum gauge { GAUGE_LIST(METRIC_ID3) GAUGES };
enum histogram { HISTOGRAM_LIST(METRIC_ID5) HISTOGRAMS };
#undef METRIC_ID3
#undef METRIC_ID5

/* The indexes of values in the lists above, for code that must be fast. */
enum create_status { CREATE_SUCCESS, CREATE_FAILED, CREATE_GATEWAY_ERROR };
enum amount_status { AMOUNT_AUTHORIZED, AMOUNT_CAPTURED, AMOUNT_REFUNDED };
enum violation { VIOLATION_GATEWAY_KEY, VIOLATION_SECOND_PAYMENT, VIOLATION_SECOND_EFFECT };

enum {
    METRICS_LABELS = 3,
    METRICS_BUCKETS = 16,
    METRICS_CURRENCIES = 64,
    METRICS_ALL = -1,
};

/* The indexes of label values in their lists, in the order of the labels, for callers that know
 * them without a search. */
struct labels {
    unsigned char at[METRICS_LABELS];
};
#define AT(...) ((struct labels){ { __VA_ARGS__ } })

struct metrics;

struct metrics *metrics_new(void); /* NULL: no memory. With m NULL the functions below do nothing */
void metrics_free(struct metrics *m);
/* Sets ichido_build_info, before other threads may read. The text is borrowed. */
void metrics_set_version(struct metrics *m, const char *version);
/* Returns the gateway's index in METRICS_GATEWAYS. From now on its series are shown. */
unsigned char metrics_gateway(struct metrics *m, struct str name);

void metrics_count(struct metrics *m, enum counter c, int64_t n);
/* Counts in a counter with one label. A value that is not listed counts as the last listed one. */
void metrics_count_as(struct metrics *m, enum counter c, struct str value, int64_t n);
void metrics_count_at(struct metrics *m, enum counter c, struct labels at, int64_t n);
/* The cell of one series, for code that counts only after a commit: metrics_add() fits
 * tx_after_commit(). */
void *metrics_cell(struct metrics *m, enum counter c, struct labels at);
void *metrics_amount_cell(struct metrics *m, const char currency[4], enum amount_status s);
void metrics_add(void *cell, int64_t n); /* NULL is fine */
void metrics_set(struct metrics *m, enum gauge g, double value);
void metrics_time(struct metrics *m, enum histogram h, int64_t us);
void metrics_time_at(struct metrics *m, enum histogram h, struct labels at, int64_t us);

/* Functions that read, for alerts and tests. Each number is current, but two numbers may be of
 * different instants. */
int64_t metrics_read(const struct metrics *m, enum counter c, struct str value); /* "": no label */
int64_t metrics_read_at(const struct metrics *m, enum counter c, struct labels at);
/* The sum of all series whose label has the value; with label "" of all series of the counter. */
int64_t metrics_sum(const struct metrics *m, enum counter c, struct str label, struct str value);
double metrics_gauge(const struct metrics *m, enum gauge g); /* as the last scrape set it */
/* Reads how many values each bucket holds (not cumulative; the last bucket is above all bounds) and
 * returns how many there are in all. place: the number of a series of the histogram, with the last
 * label running fastest; METRICS_ALL: the sum of all series. */
int64_t metrics_buckets(const struct metrics *m, enum histogram h, int place,
                        int64_t ret_buckets[METRICS_BUCKETS + 1]);
const int64_t *metrics_bounds_us(void); /* the METRICS_BUCKETS upper bounds, ascending */

/* Writes Prometheus text 0.0.4, or OpenMetrics 1.0. */
void metrics_print(const struct metrics *m, bool openmetrics, struct buf *out);
