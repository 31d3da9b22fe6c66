/* hosts.c - a hash table of hosts with their waiting turns, and a round-robin list of the hosts that
 * may start another call. */
#include "http/client/hosts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct host {
    struct host *next; /* in its bucket */
    struct host *runnable_next;
    struct turn *first, *last; /* waiting */
    int running;
    bool is_runnable; /* stands in the list of runnable hosts */
    size_t name_size;
    char name[];
};

/* "https://api.example.com:8443" of the whole URL. */
static struct str host_part(struct str url)
{
    int slashes = 0;

    for (size_t i = 0; i < url.n; i++)
        if ((url.p[i] == '/' && ++slashes == 3) || url.p[i] == '?' || url.p[i] == '#')
            return (struct str){ url.p, i };
    return url;
}

static struct host **bucket_of(struct hosts *h, struct str name)
{
    uint32_t hash = 2166136261U; /* FNV-1a: a bad spread only makes a list longer */

    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.p[i]) * 16777619U;
    return &h->buckets[hash % HOST_BUCKETS];
}

static struct host *find_or_new(struct hosts *h, struct str name)
{
    struct host **bucket = bucket_of(h, name), *host;

    for (host = *bucket; host; host = host->next)
        if (str_eq(name, (struct str){ host->name, host->name_size }))
            return host;
    host = calloc(1, sizeof(*host) + name.n);
    if (!host)
        return NULL;
    memcpy(host->name, name.p, name.n);
    host->name_size = name.n;
    host->next = *bucket;
    *bucket = host;
    return host;
}

static void forget_if_idle(struct hosts *h, struct host *host)
{
    struct host **at = bucket_of(h, (struct str){ host->name, host->name_size });

    if (host->running || host->first || host->is_runnable)
        return;
    while (*at != host)
        at = &(*at)->next;
    *at = host->next;
    free(host);
}

static void make_runnable(struct hosts *h, struct host *host)
{
    if (host->is_runnable || !host->first || host->running >= h->max_per_host)
        return;
    host->is_runnable = true;
    host->runnable_next = NULL;
    if (h->runnable_last)
        h->runnable_last->runnable_next = host;
    else
        h->runnable = host;
    h->runnable_last = host;
}

bool hosts_add(struct hosts *h, struct turn *t)
{
    struct host *host = find_or_new(h, host_part(t->call->url));

    if (!host)
        return false;
    t->host = host;
    t->next = NULL;
    if (host->first)
        host->last->next = t;
    else
        host->first = t;
    host->last = t;
    h->waiting++;
    make_runnable(h, host);
    return true;
}

/* In the last quarter of all places a host may have one call only. This does not apply where one host
 * may have all places. */
static bool may_run(const struct hosts *h, const struct host *host)
{
    int left = h->max_total - h->running;

    return !host->running || host->running < left - h->max_total / 4 ||
           h->max_per_host >= h->max_total;
}

/* The first host that may run. Hosts that are skipped have many calls under way, so they are few. */
static struct host *pop_runnable(struct hosts *h)
{
    struct host **at = &h->runnable, *before = NULL, *host;

    while ((host = *at) && !may_run(h, host)) {
        before = host;
        at = &host->runnable_next;
    }
    if (!host)
        return NULL;
    *at = host->runnable_next;
    if (h->runnable_last == host)
        h->runnable_last = before;
    host->is_runnable = false;
    return host;
}

struct turn *hosts_next(struct hosts *h)
{
    struct host *host = h->running < h->max_total ? pop_runnable(h) : NULL;
    struct turn *t;

    if (!host)
        return NULL;
    t = host->first;
    assert(t);
    host->first = t->next;
    h->waiting--;
    host->running++;
    h->running++;
    make_runnable(h, host);
    return t;
}

void hosts_done(struct hosts *h, struct turn *t)
{
    assert(t->host->running > 0 && h->running > 0);
    t->host->running--;
    h->running--;
    make_runnable(h, t->host);
    forget_if_idle(h, t->host);
}

/* Moves the expired turns of one host to the list. */
static void take_expired(struct hosts *h, struct host *host, int64_t now_us, struct turn **list)
{
    struct turn **at = &host->first, *kept = NULL;

    while (*at) {
        struct turn *t = *at;

        if (t->deadline_us > now_us) {
            kept = t;
            at = &t->next;
            continue;
        }
        *at = t->next;
        t->next = *list;
        *list = t;
        h->waiting--;
    }
    host->last = kept;
}

/* Expiry may have left hosts in the runnable list that have no waiting turn. */
static void prune_runnable(struct hosts *h)
{
    struct host *host = h->runnable;

    h->runnable = h->runnable_last = NULL;
    while (host) {
        struct host *next = host->runnable_next;

        host->is_runnable = false;
        make_runnable(h, host);
        host = next;
    }
}

struct turn *hosts_expired(struct hosts *h, int64_t now_us)
{
    struct turn *list = NULL;

    for (size_t i = 0; i < HOST_BUCKETS; i++)
        for (struct host *host = h->buckets[i]; host; host = host->next)
            take_expired(h, host, now_us, &list);
    if (!list)
        return NULL;
    prune_runnable(h);
    for (size_t i = 0; i < HOST_BUCKETS; i++)
        for (struct host *host = h->buckets[i], *next; host; host = next) {
            next = host->next;
            forget_if_idle(h, host);
        }
    return list;
}
