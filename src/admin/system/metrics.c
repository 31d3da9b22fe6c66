/* metrics.c - two parts: every answer is counted when it is sent, and gauges are read from the
 * store only when /metrics is scraped. If the database is away, its gauges keep their last
 * values. */
#include "admin/system/metrics.h"

#include "admin/sandbox/sandbox.h"
#include "api/collections.h"
#include "api/payments.h"
#include "api/purchases.h"
#include "endpoint/authorize.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "payment/unknown.h"
#include "queue/queue.h"
#include "store/store.h"

#include <string.h>

enum { METRICS_MAX = 1024 * 1024 };

struct scrape {
    struct unit unit;
    struct request *request;
    const struct api_metrics *parts;
    struct queue_state state;
    struct unknown_state unknown;
};

/* --- which format --- */

static bool accept_is_text(struct str type)
{
    return str_eq_nocase(type, S("text/plain")) || str_eq_nocase(type, S("text/*")) ||
           str_eq_nocase(type, S("*/*"));
}

/* "0.75" in thousandths; an invalid weight counts as 1. */
static int accept_weight(struct str q)
{
    int weight = 0, unit = 1000;

    if (!q.n || (q.p[0] != '0' && q.p[0] != '1') || (q.n > 1 && q.p[1] != '.'))
        return 1000;
    weight = (q.p[0] - '0') * 1000;
    for (size_t i = 2; i < q.n && q.p[i] >= '0' && q.p[i] <= '9' && unit > 1; i++) {
        unit /= 10;
        weight += (q.p[i] - '0') * unit;
    }
    return weight < 1000 ? weight : 1000;
}

struct accept_element { /* one element of Accept */
    struct str type, version;
    int weight;
};

static struct accept_element accept_read_element(struct str element)
{
    struct accept_element w = { .type = str_trim(str_cut(&element, ';')), .weight = 1000 };

    while (element.n) {
        struct str value = str_cut(&element, ';'), name = str_trim(str_cut(&value, '='));

        value = str_trim(value);
        if (str_eq_nocase(name, S("q")))
            w.weight = accept_weight(value);
        else if (str_eq_nocase(name, S("version")))
            w.version = value;
    }
    return w;
}

/* Whether Accept prefers OpenMetrics; at equal weights it wins, since it carries more
 * information. */
static bool metrics_wants_openmetrics(const struct request *r)
{
    struct str accept = request_header(r, S("Accept"), NULL);
    int openmetrics = 0, text = 0;

    while (accept.n) {
        struct accept_element w = accept_read_element(str_cut(&accept, ','));
        bool ours = !w.version.n || str_eq(w.version, S("1.0.0"));

        if (str_eq_nocase(w.type, S("application/openmetrics-text")) && ours &&
            w.weight > openmetrics)
            openmetrics = w.weight;
        else if (accept_is_text(w.type) && w.weight > text)
            text = w.weight;
    }
    return openmetrics && openmetrics >= text;
}

/* --- answers --- */

static bool metrics_creates_payment(const struct route *route)
{
    authorized_handler h = route ? authorized_handler_of(route) : NULL;

    return h == api_payment_create || h == api_purchase_create || h == api_participant_checkout ||
           h == api_sandbox_pay;
}

/* False: it counts as none of them; our own failures are in ichido_http_requests_total. */
static bool metrics_create_status(const struct request *r, int status, enum create_status *ret)
{
    if (status == 502 || status == 504)
        *ret = CREATE_GATEWAY_ERROR;
    else if ((status >= 400 && status < 500) || r->note == NOTE_DECLINED)
        *ret = CREATE_FAILED;
    else if (status < 300)
        *ret = CREATE_SUCCESS;
    else
        return false;
    return true;
}

static void metrics_count_create(const struct request *r, int status)
{
    struct env *env = r->env;
    enum create_status s;

    if (!metrics_create_status(r, status, &s))
        return;
    metrics_count_at(env->metrics, COUNT_PAYMENT_CREATE, AT((unsigned char)s), 1);
    metrics_time_at(env->metrics, TIME_CREATE, AT((unsigned char)s),
                    clock_mono_us(&env->clock) - r->began_us);
}

void api_count_answer(const struct request *r, int status)
{
    int class = status / 100 - 2;

    if (class >= 0 && class <= 3)
        metrics_count_at(r->env->metrics, COUNT_HTTP, AT((unsigned char)class), 1);
    if (r->note == NOTE_REPLAYED)
        metrics_count(r->env->metrics, COUNT_IDEMPOTENCY_HIT, 1);
    else if (metrics_creates_payment(r->route))
        metrics_count_create(r, status);
}

/* --- the scrape --- */

static void metrics_set_gauges(struct metrics *m, const struct scrape *s)
{
    struct server_counts http = server_counts(s->request->server);
    struct store_health store = store_health(s->parts->store);

    metrics_count(m, COUNT_LOG_DROPPED, log_take_dropped(s->request->env->log));
    metrics_set(m, GAUGE_LIVE, (double)queue_live(s->parts->queue));
    metrics_set(m, GAUGE_CONNECTIONS, http.connections);
    metrics_set(m, GAUGE_IN_FLIGHT, http.in_flight);
    metrics_set(m, GAUGE_WAITING, store.waiting);
    metrics_set(m, GAUGE_WAL, (double)store.wal_bytes);
    if (s->unit.err)
        return; /* the database is away: its gauges keep their last values */
    metrics_set(m, GAUGE_OLDEST, (double)s->state.oldest_ready_ms / 1000);
    metrics_set(m, GAUGE_DEAD, (double)s->state.dead);
    metrics_set(m, GAUGE_DEAD_OLDEST, (double)s->state.dead_oldest_ms / 1000);
    metrics_set(m, GAUGE_UNKNOWN, (double)s->unknown.count);
    metrics_set(m, GAUGE_UNKNOWN_OLDEST, (double)s->unknown.oldest_ms / 1000);
}

static void metrics_answer(struct unit *u)
{
    struct scrape *s = CONTAINER_OF(u, struct scrape, unit);
    struct request *r = s->request;
    bool openmetrics = metrics_wants_openmetrics(r);
    struct buf text;

    metrics_set_gauges(r->env->metrics, s);
    buf_init(&text, METRICS_MAX);
    metrics_print(r->env->metrics, openmetrics, &text);
    if (text.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 200,
                   openmetrics ? S("application/openmetrics-text; version=1.0.0; charset=utf-8")
                               : S("text/plain; version=0.0.4; charset=utf-8"),
                   buf_str(&text));
    buf_release(&text);
}

static enum err metrics_read_state(struct tx *tx, struct unit *u)
{
    struct scrape *s = CONTAINER_OF(u, struct scrape, unit);
    int64_t now_ms = env_now_ms(tx_env(tx));
    enum err e = queue_read_state(tx, now_ms, &s->state);

    return e ? e : unknown_read_state(tx, now_ms, &s->unknown);
}

void api_metrics(struct request *r, void *ctx)
{
    static const struct unit_kind kind = { "metrics.read", UNIT_READ, metrics_read_state, NULL };
    struct scrape *s = api_room(r, sizeof(*s));

    if (!s)
        return;
    s->request = r;
    s->parts = ctx;
    s->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = metrics_answer };
    store_post(s->parts->store, &s->unit);
}
