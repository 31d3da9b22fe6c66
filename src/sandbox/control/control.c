/* control.c - the routes under /_sandbox, which are not part of Stripe's API. They read JSON
 * strictly, so that a misspelt switch is an error and does not make a test prove nothing. All of
 * them run on the sandbox's executor. */
#include "sandbox/control/control.h"

#include "base/limits.h"

#include <string.h>

/* --- answers --- */

void control_reply(struct request *r, int status, struct str type, struct buf *text)
{
    /* a copy, because *text may lie in the request's arena, which the reply frees */
    struct buf b = *text;

    if (b.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, status, type, buf_str(&b));
    buf_release(&b);
}

struct str control_query(const struct request *r, struct str name)
{
    struct str rest = r->query;

    while (rest.n) {
        struct str value = str_cut(&rest, '&'), key = str_cut(&value, '=');

        if (str_eq(key, name))
            return value;
    }
    return S("");
}

/* --- reading a body of switches --- */

static void reject_unknown_fields(struct control_body *in, const char *const *names, size_t n)
{
    const cJSON *field;

    cJSON_ArrayForEach(field, in->body)
    {
        size_t i = 0;

        while (i < n && strcmp(names[i], field->string) != 0)
            i++;
        if (i == n)
            json_problem(&in->problems, field->string, "there is no such switch");
    }
}

bool control_body_begin(struct control_body *in, struct request *r, const char *const *names,
                        size_t n)
{
    struct json_fault fault = { 0 };

    *in = (struct control_body){ 0 };
    if (json_parse(r->body, &in->body, &fault)) {
        reply_problem(r, ERR_VALIDATION, fault.why);
        return false;
    }
    if (!cJSON_IsObject(in->body)) {
        json_freep(&in->body);
        reply_problem(r, ERR_VALIDATION, "an object of switches is wanted");
        return false;
    }
    json_problems_init(&in->problems);
    reject_unknown_fields(in, names, n);
    return true;
}

bool control_body_end(struct control_body *in, struct request *r)
{
    bool fine = !in->problems.count;

    if (!fine)
        reply_problem_errors(r, ERR_VALIDATION, NULL, json_problems_array(&in->problems));
    json_problems_release(&in->problems);
    json_freep(&in->body);
    return fine;
}

/* --- GET /_sandbox/events?type=&limit= --- */

struct event_list {
    struct unit unit;
    struct request *request;
    struct str type;
    int64_t limit, count;
    struct buf text;
};

static enum err add_event(void *ctx, const struct row *row)
{
    struct event_list *l = ctx;

    if (l->count++ == l->limit)
        return OK; /* the extra row only says that there are more */
    if (l->count > 1)
        buf_char(&l->text, ',');
    buf_add(&l->text, row->col[0].s);
    return OK;
}

static enum err event_list_run(struct tx *tx, struct unit *u)
{
    struct event_list *l = CONTAINER_OF(u, struct event_list, unit);
    struct val v[] = { V_TEXT(l->type), V_INT(l->limit + 1) };
    enum err e;

    l->count = 0;
    buf_clear(&l->text);
    buf_add(&l->text, S("{\"object\":\"list\",\"data\":["));
    e = tx_each(tx, STMT_sandbox_event_list, v, COUNT(v), add_event, l);
    buf_add(&l->text, l->count > l->limit ? S("],\"has_more\":true,") : S("],\"has_more\":false,"));
    buf_add(&l->text, S("\"url\":\"/_sandbox/events\"}\n"));
    return e;
}

static void event_list_done(struct unit *u)
{
    struct event_list *l = CONTAINER_OF(u, struct event_list, unit);

    if (!u->err) {
        control_reply(l->request, 200, S("application/json"), &l->text);
        return;
    }
    buf_release(&l->text);
    reply_problem(l->request, u->err, NULL);
}

static void control_list_events(struct request *r, void *ctx)
{
    static const struct unit_kind kind = { "sandbox.events", UNIT_READ, event_list_run, NULL };
    struct event_list *l = arena_alloc(&r->arena, 1, sizeof(*l));
    struct str limit = control_query(r, S("limit"));

    if (!l) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    l->request = r;
    l->type = control_query(r, S("type"));
    if (!limit.n) {
        l->limit = LIMIT_SANDBOX_LISTED;
    } else if (!str_to_i64(limit, &l->limit) || l->limit < 1 || l->limit > LIMIT_SANDBOX_LISTED) {
        reply_problem(r, ERR_VALIDATION, "limit is a number from 1 to 100");
        return;
    }
    buf_init(&l->text, LIMIT_REPLY);
    l->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = event_list_done };
    store_post(((struct sandbox *)ctx)->store, &l->unit);
}

/* --- changes by our own pages only --- */

/* Whether an origin or a Host header names this machine, with any port. */
static bool is_loopback(struct str host)
{
    static const struct str names[] = { { "localhost", 9 }, { "127.0.0.1", 9 }, { "[::1]", 5 } };

    for (size_t i = 0; i < COUNT(names); i++) {
        struct str port = host;

        if (!str_starts(host, names[i]))
            continue;
        port.p += names[i].n;
        port.n -= names[i].n;
        return !port.n || port.p[0] == ':';
    }
    return false;
}

/* A page of another site must not press the buttons of a sandbox on the same machine. A browser
 * says where a request comes from: it must be our own page. The Host must be a loopback name
 * too, since a foreign name may be made to resolve to this machine. Programs send none of these
 * headers. */
static bool comes_from_own_page(const struct request *r)
{
    struct str site = request_header(r, S("Sec-Fetch-Site"), NULL);
    struct str origin = request_header(r, S("Origin"), NULL);
    struct str host = request_header(r, S("Host"), NULL);

    if (site.n)
        return (str_eq(site, S("same-origin")) || str_eq(site, S("none"))) && is_loopback(host);
    if (!origin.n)
        return true;
    if (!str_starts(origin, S("http://")))
        return false;
    origin.p += 7;
    origin.n -= 7;
    return str_eq_nocase(origin, host) && is_loopback(host);
}

bool control_from_own_page(struct request *r)
{
    if (comes_from_own_page(r))
        return true;
    reply_problem(r, ERR_FORBIDDEN,
                  "another site's page may not change the sandbox; open /_sandbox itself");
    return false;
}

/* --- the table --- */

/* GET / redirects to the front page. */
static void redirect_to_home(struct request *r, void *sandbox)
{
    (void)sandbox;
    reply_header(r, S("Location"), S("/_sandbox"));
    reply_send(r, 303, S(""), S(""));
}

struct control_route {
    const char *method, *path;
    void (*handle)(struct request *r, void *sandbox);
};

static const struct control_route control_routes[] = {
    { "GET", "/", redirect_to_home },
    { "GET", "/_sandbox", control_home },
    { "POST", "/_sandbox", control_press },
    { "GET", "/_sandbox/faults", control_rules },
    { "POST", "/_sandbox/faults", control_add_rule },
    { "DELETE", "/_sandbox/faults", control_clear_rules },
    { "GET", "/_sandbox/webhooks", control_webhooks },
    { "POST", "/_sandbox/webhooks", control_set_webhooks },
    { "GET", "/_sandbox/chaos", control_chaos },
    { "POST", "/_sandbox/chaos", control_set_chaos },
    { "DELETE", "/_sandbox/chaos", control_end_chaos },
    { "GET", "/_sandbox/events", control_list_events },
    { "GET", "/_sandbox/books", control_ledger },
    { "GET", "/_sandbox/authenticate/{intent}", control_ask_customer },
    { "POST", "/_sandbox/authenticate/{intent}", control_authenticate },
    { "POST", "/_sandbox/events/{id}/resend", control_resend },
    { "GET", "/_sandbox/checkout/{session}", control_show_checkout },
    { "POST", "/_sandbox/checkout/{session}", control_use_checkout },
    { "POST", "/_sandbox/checkout/{session}/pay", control_pay_checkout },
    { "GET", "/_sandbox/konbini/{intent}", control_show_voucher },
    { "POST", "/_sandbox/konbini/{intent}/pay", control_pay_voucher },
    { "POST", "/_sandbox/konbini/{intent}/expire", control_end_voucher },
    { "GET", "/_sandbox/transfer/{intent}", control_show_transfer },
    { "POST", "/_sandbox/transfer/{intent}", control_send_transfer },
    { "POST", "/_sandbox/webhooks/roll", control_roll },
    { "GET", "/_sandbox/strict", control_strict },
    { "POST", "/_sandbox/strict", control_set_strict },
    { "POST", "/_sandbox/refunds/{id}", control_move_refund },
    { "POST", "/_sandbox/intents/{id}/lapse", control_expire_hold },
    { "POST", "/_sandbox/disputes", control_open_dispute },
    { "POST", "/_sandbox/disputes/{id}/close", control_close_dispute },
};
const size_t sandbox_control_route_count = COUNT(control_routes);

/* Every method but GET may change something. */
static void control_handle(struct request *r, void *endpoint)
{
    const struct control_endpoint *at = endpoint;

    if (strcmp(at->route->method, "GET") == 0 || control_from_own_page(r))
        at->route->handle(r, at->sandbox);
}

void sandbox_control_fill(struct sandbox *s, struct control_endpoint *endpoints,
                          struct route *routes)
{
    for (size_t i = 0; i < COUNT(control_routes); i++) {
        endpoints[i] = (struct control_endpoint){ &control_routes[i], s };
        routes[i] = (struct route){ .method = control_routes[i].method,
                                    .path = control_routes[i].path,
                                    .handle = control_handle,
                                    .ctx = &endpoints[i] };
    }
}
