/* client.c - draws the events of a seed, sends them, and checks what became of them.
 *
 *   (1) An event that was ACKed is stored exactly once, and the ACK names its message.
 *   (2) At rest each event has the outcome that its nature requires. */
#include "sim/client.h"

#include "sim/check.h"
#include "sim/events.h"
#include "sim/node.h"
#include "sim/order.h"
#include "sim/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESEND_MS = 500 };

struct sim_send {
    struct sim_request request; /* the real unit ... */
    struct order order;         /* ... or that of an order */
    struct sim_client *client;
    struct event *event;
    struct sim_node *node;
    struct sim_send *next;
};

/* --- the events --- */

static enum nature draw_nature(struct sim *s)
{
    if (!s->plan.special || sim_below(s, s->plan.special))
        return PLAIN;
    return (enum nature)(1 + sim_below(s, NATURES - 1));
}

static void write_body(struct event *e, size_t number, uint64_t lane)
{
    const char *type = e->nature == UNKNOWN_TYPE ? "what.is_this" : "payment_intent.succeeded";

    if (e->nature == UNREADABLE)
        snprintf(e->body, sizeof(e->body), "{\"id\":\"evt_%zu\", broken", number);
    else if (lane)
        snprintf(e->body, sizeof(e->body),
                 "{\"id\":\"%s\",\"object\":\"event\",\"type\":\"%s\",\"created\":%d,"
                 "\"livemode\":false,\"data\":{\"object\":{\"id\":\"pi_%llu\",\"object\":"
                 "\"payment_intent\",\"metadata\":{\"payment_id\":\"pay_%llu\"}}}}",
                 e->id, type, 1760000000 + (int)number, (unsigned long long)lane,
                 (unsigned long long)lane);
    else
        snprintf(e->body, sizeof(e->body),
                 "{\"id\":\"%s\",\"object\":\"event\",\"type\":\"%s\",\"created\":%d,"
                 "\"livemode\":false,\"data\":{\"object\":{\"object\":\"balance\"}}}",
                 e->id, type, 1760000000 + (int)number);
}

/* An order has no body that could be malformed. */
static void draw_order(struct sim *s, struct event *e)
{
    e->is_order = s->plan.order && sim_below(s, s->plan.order) == 0;
    e->puts_off = s->plan.puts_off && sim_below(s, s->plan.puts_off) == 0;
    e->unadopted = s->plan.unadopted && sim_below(s, s->plan.unadopted) == 0;
    if (e->is_order && (e->nature == UNKNOWN_TYPE || e->nature == UNREADABLE))
        e->nature = PLAIN;
}

static void draw_event(struct sim_client *c, size_t number)
{
    struct sim *s = c->sim;
    struct event *e = &c->events[number];
    bool has_lane = sim_below(s, 4) != 0;

    e->nature = draw_nature(s);
    draw_order(s, e);
    e->fails = 1 + (int)sim_below(s, SIM_RETRIES);
    e->wanted = sim_chance(s, s->plan.duplicate) ? 2 + (int)sim_below(s, 2) : 1;
    snprintf(e->id, sizeof(e->id), "evt_%zu_%llx", number, (unsigned long long)sim_below(s, 65536));
    snprintf(e->key, sizeof(e->key), "%s", e->id);
    write_body(e, number, has_lane ? 1 + sim_below(s, (uint64_t)s->plan.lanes) : 0);
    c->special += e->nature != PLAIN;
    if (e->nature == UNKNOWN_TYPE)
        sim_mark(s, MARK_UNKNOWN_TYPE);
}

struct sim_client *sim_client_new(struct sim *s)
{
    struct sim_client *c = calloc(1, sizeof(*c));

    if (!c)
        abort();
    c->sim = s;
    c->n = (size_t)s->plan.events;
    c->events = calloc(c->n, sizeof(*c->events));
    if (!c->events)
        abort();
    for (size_t i = 0; i < c->n; i++)
        draw_event(c, i);
    return c;
}

void sim_client_free(struct sim_client *c)
{
    if (!c)
        return;
    free(c->events);
    free(c);
}

int sim_client_special(const struct sim_client *c)
{
    return (int)c->special;
}

/* --- sending --- */

static bool wants_to_be_sent(const struct sim_client *c, const struct event *e)
{
    bool twin = e->wanted > 1 && e->in_flight < 2; /* duplicates may overlap */

    return e->acks < e->wanted && (!e->in_flight || twin) &&
           c->sim->mono_us / 1000 >= e->not_before_ms;
}

static struct sim_node *find_accepting_node(const struct sim_client *c)
{
    struct sim *s = c->sim;
    int first = (int)sim_below(s, (uint64_t)s->node_count);

    for (int i = 0; i < s->node_count; i++) {
        struct sim_node *n = s->nodes[(first + i) % s->node_count];

        if (n->up && !n->stopping)
            return n;
    }
    return NULL;
}

bool sim_client_can_send(const struct sim_client *c)
{
    bool open = false;

    for (int i = 0; i < c->sim->node_count; i++)
        open |= c->sim->nodes[i]->up && !c->sim->nodes[i]->stopping;
    for (size_t i = 0; open && i < c->n; i++)
        if (wants_to_be_sent(c, &c->events[i]))
            return true;
    return false;
}

static struct event *pick_event(struct sim_client *c)
{
    size_t first = sim_below(c->sim, c->n);

    for (size_t i = 0; i < c->n; i++) {
        struct event *e = &c->events[(first + i) % c->n];

        if (wants_to_be_sent(c, e))
            return e;
    }
    return NULL;
}

static void got_ack(struct sim_client *c, struct event *e, struct uuid named)
{
    struct sim *s = c->sim;
    struct uuid message;

    if (!check_find_event(s->check, str_of(e->key), &message))
        sim_fail(s, "event %s was ACKed and is not stored once", e->id);
    else if (!uuid_eq(message, named))
        sim_fail(s, "the ACK of event %s names another message", e->id);
    if (sim_chance(s, s->plan.ack_lost)) {
        sim_mark(s, MARK_ACK_LOST);
        return;
    }
    e->acks++;
    if (e->nature == UNREADABLE)
        sim_mark(s, MARK_UNREADABLE);
}

static void drop_send(struct sim_client *c, struct sim_send *send)
{
    struct sim_send **at = &c->sends;

    while (*at != send)
        at = &(*at)->next;
    *at = send->next;
    send->event->in_flight--;
    sim_request_release(&send->request);
    order_release(&send->order);
    free(send);
}

static void answered(struct sim_send *send, enum err verdict, struct uuid message)
{
    struct sim_client *c = send->client;
    struct event *e = send->event;

    SIM_TRACE(c->sim, "node %d answers %s: %s", send->node->index, e->id, err_code(verdict));
    e->not_before_ms = c->sim->mono_us / 1000 + (verdict ? RESEND_MS : 0);
    if (!verdict)
        got_ack(c, e, message);
    drop_send(c, send);
}

static void request_answered(struct sim_request *d)
{
    answered(CONTAINER_OF(d, struct sim_send, request), d->receive.unit.err, d->receive.message_id);
}

static void order_answered(struct order *o)
{
    answered(CONTAINER_OF(o, struct sim_send, order), o->unit.err, o->message_id);
}

void sim_client_node_died(struct sim_client *c, const struct sim_node *n)
{
    for (struct sim_send *s = c->sends, *next; s; s = next) {
        next = s->next;
        if (s->node == n)
            drop_send(c, s);
    }
}

static void mark_send(struct sim_client *c, const struct event *e)
{
    if (e->acks)
        sim_mark(c->sim, MARK_DUPLICATE);
    else if (e->sent && !e->in_flight)
        sim_mark(c->sim,
                 check_is_stored(c->sim->check, str_of(e->key)) ? MARK_RESENT_STORED : MARK_RESENT);
    else if (e->in_flight)
        sim_mark(c->sim, MARK_DUPLICATE_AT_ONCE);
}

void sim_client_send(struct sim_client *c)
{
    struct event *e = pick_event(c);
    struct sim_node *n = find_accepting_node(c);
    struct sim_send *send = calloc(1, sizeof(*send));

    if (!send)
        abort();
    *send = (struct sim_send){ .client = c, .event = e, .node = n, .next = c->sends };
    c->sends = send;
    SIM_TRACE(c->sim, "client sends %s to node %d", e->id, n->index);
    mark_send(c, e);
    e->sent++;
    e->in_flight++;
    if (e->is_order) {
        order_post(&send->order, n, str_of(e->id), order_answered);
        return;
    }
    sim_request_post(&send->request, n, str_of(e->body), request_answered);
    snprintf(e->key, sizeof(e->key), STR_FMT, STR_ARG(send->request.receive.event.id));
}

bool sim_client_is_done(const struct sim_client *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->events[i].acks < c->events[i].wanted || c->events[i].in_flight)
            return false;
    return true;
}

/* --- checks --- */

void sim_client_check_acked(struct sim_client *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->events[i].acks && !check_is_stored(c->sim->check, str_of(c->events[i].key)))
            sim_fail(c->sim, "event %s was ACKed and is lost", c->events[i].id);
}

static bool must_die(const struct event *e)
{
    return e->nature == UNREADABLE || e->nature == FAILS || e->nature == FAILS_ALWAYS ||
           e->nature == KILLS;
}

/* The outcome in webhook_outcomes after a successful job. sim_request_post() stores no fact about a
 * payment, so no event is applied to one. */
static const char *outcome_when_done(const struct event *e)
{
    if (e->is_order)
        return "applied";
    return e->nature == UNKNOWN_TYPE ? "ignored" : "processed";
}

/* Faults may cost attempts, so an event that should succeed may become a dead letter too. One that
 * must become a dead letter does. */
static void check_end(struct sim_client *c, const struct event *e)
{
    struct sim *s = c->sim;
    char outcome[32];
    bool dead;

    if (!check_outcome(s->check, str_of(e->key), outcome, &dead))
        sim_fail(s, "event %s is not there at the end", e->id);
    else if (!dead && !outcome[0])
        sim_fail(s, "event %s has no end", e->id);
    else if (must_die(e) && !dead)
        sim_fail(s, "event %s should be a dead letter and is %s", e->id, outcome);
    else if (!dead && strcmp(outcome, outcome_when_done(e)) != 0)
        sim_fail(s, "event %s is %s", e->id, outcome);
    SIM_TRACE(s, "event %s: %s%s", e->id, outcome, dead ? ", dead letter" : "");
}

void sim_client_check_ends(struct sim_client *c)
{
    for (size_t i = 0; i < c->n; i++)
        check_end(c, &c->events[i]);
}
