/* metrics.h - numbers for GET /metrics: counters, gauges and latency histograms, listed once. Any
 * thread may add; nobody takes a lock. Known label values exist from the start, as zero. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"

/*  X(name, wire name, label or NULL, label values or NULL (comma-separated), help) */
#define COUNTER_LIST(X)                                                                            \
    X(COUNT_WEBHOOK_RECEIVED, "ichido_webhook_received_total", NULL, NULL,                         \
      "Webhooks that were stored and acknowledged, duplicates included.")                          \
    X(COUNT_WEBHOOK_DUPLICATE, "ichido_webhook_duplicate_total", NULL, NULL,                       \
      "Webhooks whose event was stored before.")                                                   \
    X(COUNT_WEBHOOK_REJECTED, "ichido_webhook_rejected_total", "reason",                           \
      "no_header,malformed,no_timestamp,no_v1,mismatch,too_old,future,address,empty",              \
      "Webhooks that were refused, by reason.")                                                    \
    X(COUNT_WEBHOOK_UNSTORED, "ichido_webhook_unstored_total", NULL, NULL,                         \
      "Verified webhooks answered 503 because they could not be made durable.")                    \
    X(COUNT_EVENT_OUTCOME, "ichido_event_outcome_total", "outcome",                                \
      "processed,applied,superseded,ignored,wrong_mode,dead", "What became of provider events.")   \
    X(COUNT_REFUND_MISSING, "ichido_refund_missing_total", NULL, NULL,                             \
      "Charges of which more was refunded than their refunds say.")                                \
    X(COUNT_JOB, "ichido_job_total", "result", "done,retried,dead,stale",                          \
      "Runs of queue messages, by result.")                                                        \
    X(COUNT_HTTP, "ichido_http_requests_total", "class", "2xx,3xx,4xx,5xx",                        \
      "Answered requests, by class of status.")                                                    \
    X(COUNT_HTTP_REFUSED, "ichido_http_refused_total", NULL, NULL,                                 \
      "Connections and requests refused before they reached a handler.")                           \
    X(COUNT_COMMITS, "ichido_store_commits_total", NULL, NULL, "Durable commits.")                 \
    X(COUNT_UNITS, "ichido_store_units_total", NULL, NULL, "Units of work that were run.")         \
    X(COUNT_STORE_ERRORS, "ichido_store_errors_total", NULL, NULL,                                 \
      "Units that failed because of the database itself.")                                         \
    X(COUNT_LOG_DROPPED, "ichido_log_dropped_total", NULL, NULL, "Log lines that found no room.")

#define GAUGE_LIST(X)                                                                              \
    X(GAUGE_LIVE, "ichido_queue_live", "Messages in the queue.")                                   \
    X(GAUGE_OLDEST, "ichido_queue_oldest_ready_seconds", "Age of the oldest ready message.")       \
    X(GAUGE_DEAD, "ichido_queue_dead", "Dead letters that wait for an operator; 10001: or more.")  \
    X(GAUGE_CONNECTIONS, "ichido_http_connections", "Open connections.")                           \
    X(GAUGE_IN_FLIGHT, "ichido_http_in_flight", "Requests being answered.")                        \
    X(GAUGE_WAITING, "ichido_store_waiting", "Units that wait for the database.")                  \
    X(GAUGE_WAL, "ichido_store_wal_bytes", "SQLite: size of the write-ahead log.")

#define HISTOGRAM_LIST(X)                                                                          \
    X(TIME_ACK, "ichido_webhook_ack_seconds", "From a webhook's last byte to its answer.")         \
    X(TIME_COMMIT, "ichido_store_commit_seconds", "A commit, fsync included.")                     \
    X(TIME_END_TO_END, "ichido_webhook_end_to_end_seconds", "From reception to processed.")

#define METRIC_ID3(id, name, help) id,
#define METRIC_ID5(id, name, label, values, help) id,
enum counter { COUNTER_LIST(METRIC_ID5) COUNTERS };
enum gauge { GAUGE_LIST(METRIC_ID3) GAUGES };
enum histogram { HISTOGRAM_LIST(METRIC_ID3) HISTOGRAMS };
#undef METRIC_ID3
#undef METRIC_ID5

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

void metrics_count(struct metrics *m, enum counter c, int64_t n);
/* For a counter with a label; a value that is not listed counts as the last listed one. */
void metrics_count_as(struct metrics *m, enum counter c, struct str value, int64_t n);
void metrics_set(struct metrics *m, enum gauge g, double value);
void metrics_time(struct metrics *m, enum histogram h, int64_t us);
int64_t metrics_read(const struct metrics *m, enum counter c, struct str value); /* "" : no label */

/* Prometheus text 0.0.4, or OpenMetrics 1.0 where asked for. */
void metrics_print(const struct metrics *m, bool openmetrics, struct buf *out);
