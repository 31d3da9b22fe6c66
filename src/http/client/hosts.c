#include "http/client/hosts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct host {
    struct host *next; /* in its bucket */
    struct host *hungry_next;
    struct turn *first, *last; /* waiting */
    int running;
    bool is_hungry; /* stands in the list of the hungry */
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

    if (host->running || host->first || host->is_hungry)
        return;
    while (*at != host)
        at = &(*at)->next;
    *at = host->next;
    free(host);
}

static void make_hungry(struct hosts *h, struct host *host)
{
    if (host->is_hungry || !host->first || host->running >= h->max_per_host)
        return;
    host->is_hungry = true;
    host->hungry_next = NULL;
    if (h->hungry_last)
        h->hungry_last->hungry_next = host;
    else
        h->hungry = host;
    h->hungry_last = host;
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
    make_hungry(h, host);
    return true;
}

/* Of the last quarter everybody has only one. Where one host may have all places there is nobody to
 * keep some for. */
static bool may_run(const struct hosts *h, const struct host *host)
{
    int left = h->max_total - h->running;

    return !host->running || host->running < left - h->max_total / 4 ||
           h->max_per_host >= h->max_total;
}

/* The first that may; those that it passes over have many under way, so there are few of them. */
static struct host *pop_hungry(struct hosts *h)
{
    struct host **at = &h->hungry, *before = NULL, *host;

    while ((host = *at) && !may_run(h, host)) {
        before = host;
        at = &host->hungry_next;
    }
    if (!host)
        return NULL;
    *at = host->hungry_next;
    if (h->hungry_last == host)
        h->hungry_last = before;
    host->is_hungry = false;
    return host;
}

struct turn *hosts_next(struct hosts *h)
{
    struct host *host = h->running < h->max_total ? pop_hungry(h) : NULL;
    struct turn *t;

    if (!host)
        return NULL;
    t = host->first;
    assert(t);
    host->first = t->next;
    h->waiting--;
    host->running++;
    h->running++;
    make_hungry(h, host);
    return t;
}

void hosts_done(struct hosts *h, struct turn *t)
{
    assert(t->host->running > 0 && h->running > 0);
    t->host->running--;
    h->running--;
    make_hungry(h, t->host);
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

/* Expiry may have left hosts in the list of the hungry that wait for nothing. */
static void prune_hungry(struct hosts *h)
{
    struct host *host = h->hungry;

    h->hungry = h->hungry_last = NULL;
    while (host) {
        struct host *next = host->hungry_next;

        host->is_hungry = false;
        make_hungry(h, host);
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
    prune_hungry(h);
    for (size_t i = 0; i < HOST_BUCKETS; i++)
        for (struct host *host = h->buckets[i], *next; host; host = next) {
            next = host->next;
            forget_if_idle(h, host);
        }
    return list;
}
