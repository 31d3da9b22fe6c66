/* scans.c - index scans, merged into pages.
 *
 *   driver: which index     scans: one for each value     page: their rows, merged and cut
 *
 * A page takes a few rows of each scan. The rows after the last one of an unfinished scan are
 * unknown, so the page ends at the first such row (the horizon), and the rest is read again. */
#include "qstash/scans.h"

#include "base/limits.h"
#include "queue/lane.h"
#include "store/values.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_LEAST = 8,      /* rows of each scan, at least */
    SCANS_MOST = 1000,   /* with more, another key is the driver */
    PLACES = 4,          /* enum place */
    SLACK_MS = 5 * 1000, /* between the time in an id and that of its message */
};

/* --- drivers --- */

enum scans_order { BY_SEQ, BY_ID, BY_PAIR }; /* of the rows: by seq; id; (major, seq) */

enum keyed {
    KEYED_TEXT,
    KEYED_HASH,     /* of the text */
    KEYED_ADDRESS,  /* host and path of a url, hashed */
    KEYED_PAIR,     /* a host and a path, hashed */
    KEYED_PLACES,   /* the text, and each place */
    KEYED_QUEUE,    /* the queue of that name, and each place */
    KEYED_IDS,      /* of messages */
    KEYED_STATUSES, /* numbers */
    KEYED_TIME,     /* no key: the range is in the order */
    KEYED_NOT,      /* no key: all rows */
};

struct driver {
    enum stmt stmt;
    enum scans_order order;
    enum keyed keyed;
    enum filter_key key; /* if it has one */
};

/* The first of several equal ones is taken. */
static const struct driver live_drivers[] = {
    { STMT_qstash_live_of_address, BY_SEQ, KEYED_ADDRESS, FILTER_URL },
    { STMT_qstash_live_of_schedule, BY_SEQ, KEYED_TEXT, FILTER_SCHEDULE },
    { STMT_qstash_live_of_label, BY_ID, KEYED_TEXT, FILTER_LABEL },
    { STMT_qstash_live_of_address, BY_SEQ, KEYED_PAIR, FILTER_HOST },
    { STMT_qstash_live_of_flow, BY_SEQ, KEYED_PLACES, FILTER_FLOW },
    { STMT_qstash_live_of_topic, BY_SEQ, KEYED_TEXT, FILTER_TOPIC },
    { STMT_qstash_live_of_queue, BY_SEQ, KEYED_QUEUE, FILTER_QUEUE },
    { STMT_qstash_live_of_path, BY_SEQ, KEYED_HASH, FILTER_PATH },
    { STMT_qstash_live_of_host, BY_PAIR, KEYED_HASH, FILTER_HOST },
    { STMT_qstash_live_of_caller, BY_SEQ, KEYED_TEXT, FILTER_CALLER },
    { STMT_qstash_live_of_time, BY_ID, KEYED_TIME, FILTER_TEXTS },
    { STMT_qstash_live_walk, BY_SEQ, KEYED_NOT, FILTER_TEXTS },
};

static const struct driver dead_drivers[] = {
    { STMT_qstash_dead_of_id, BY_SEQ, KEYED_IDS, FILTER_TEXTS },
    { STMT_qstash_dead_of_url, BY_SEQ, KEYED_HASH, FILTER_URL },
    { STMT_qstash_dead_of_schedule, BY_SEQ, KEYED_TEXT, FILTER_SCHEDULE },
    { STMT_qstash_dead_of_label, BY_SEQ, KEYED_TEXT, FILTER_LABEL },
    { STMT_qstash_dead_of_flow, BY_SEQ, KEYED_TEXT, FILTER_FLOW },
    { STMT_qstash_dead_of_topic, BY_SEQ, KEYED_TEXT, FILTER_TOPIC },
    { STMT_qstash_dead_of_queue, BY_SEQ, KEYED_TEXT, FILTER_QUEUE },
    { STMT_qstash_dead_of_status, BY_SEQ, KEYED_STATUSES, FILTER_TEXTS },
    { STMT_qstash_dead_of_caller, BY_SEQ, KEYED_TEXT, FILTER_CALLER },
    { STMT_qstash_dead_of_time, BY_PAIR, KEYED_TIME, FILTER_TEXTS },
    { STMT_qstash_dead_walk, BY_SEQ, KEYED_NOT, FILTER_TEXTS },
};

static const struct driver log_drivers[] = {
    { STMT_qstash_log_of_id, BY_SEQ, KEYED_IDS, FILTER_TEXTS },
    { STMT_qstash_log_walk, BY_SEQ, KEYED_NOT, FILTER_TEXTS },
};

static const struct {
    const struct driver *all;
    int n;
    bool down;
} drivers[] = {
    [FIND_LIVE] = { live_drivers, COUNT(live_drivers), true },
    [FIND_DEAD] = { dead_drivers, COUNT(dead_drivers), false },
    [FIND_LOG] = { log_drivers, COUNT(log_drivers), true },
};

int scan_last_driver(enum find_in in)
{
    return drivers[in].n - 1;
}

bool scan_is_descending(enum find_in in)
{
    return drivers[in].down;
}

bool scan_is_by_time(enum find_in in, int driver)
{
    return drivers[in].all[driver].keyed == KEYED_TIME;
}

static bool driver_has_key(const struct driver *d, const struct filter *f)
{
    switch (d->keyed) {
    case KEYED_TEXT:
    case KEYED_HASH:
    case KEYED_ADDRESS:
    case KEYED_PLACES:
    case KEYED_QUEUE: return f->text[d->key].n;
    case KEYED_PAIR:
        return f->text[FILTER_HOST].n && f->text[FILTER_PATH].n &&
               f->text[FILTER_HOST].n * f->text[FILTER_PATH].n <= SCANS_MOST;
    case KEYED_IDS: return f->has_ids;
    case KEYED_STATUSES: return f->status_count;
    case KEYED_TIME: return f->has_dates;
    case KEYED_NOT: return false;
    }
    abort();
}

bool scan_may_drive(const struct find *f, int i)
{
    const struct driver *d = &drivers[f->in].all[i];
    bool by_time = f->in == FIND_DEAD && d->keyed == KEYED_TIME;

    if (f->in == FIND_DEAD && f->at.seq && by_time != f->by_time)
        return false; /* the cursor has the other order */
    return by_time && f->by_time ? true : driver_has_key(d, f->filter);
}

/* --- the scans of a driver --- */

struct scan_set {
    struct val (*keys)[2];
    size_t n, room;
    int key_count; /* of each */
};

static bool scan_set_add(struct scan_set *w, struct val first, struct val second)
{
    if (w->n == w->room)
        return false;
    w->keys[w->n][0] = first;
    w->keys[w->n++][1] = second;
    return true;
}

static struct val hash_of(struct str text)
{
    return V_INT(lane_of(text));
}

static bool scan_set_add_places(struct scan_set *w, struct val key)
{
    for (int place = 0; place < PLACES; place++)
        if (!scan_set_add(w, key, V_INT(place)))
            return false;
    return true;
}

static enum err scan_set_add_queues(struct tx *tx, struct scan_set *w,
                                    const struct filter_texts *names)
{
    for (size_t i = 0; i < names->n; i++) {
        struct row row;
        enum err e = TX_ROW(tx, STMT_qstash_queue_find, &row, V_TEXT(names->v[i]));

        if (e && e != ERR_NOT_FOUND)
            return e;
        if (!e && !scan_set_add_places(w, V_INT(row.col[0].i)))
            return ERR_NO_MEMORY;
    }
    return OK;
}

/* An address without a path matches "/" too. */
static bool scan_set_add_paths(struct scan_set *w, const struct val *host,
                               const struct filter_texts *paths)
{
    for (size_t i = 0; i < paths->n; i++) {
        struct val hash = hash_of(paths->v[i]), none = hash_of(S(""));
        bool root = str_eq(paths->v[i], S("/"));

        if (!scan_set_add(w, host ? *host : hash, hash) ||
            (root && !scan_set_add(w, host ? *host : none, none)))
            return false;
    }
    return true;
}

static bool scan_set_add_pairs(struct scan_set *w, const struct filter *f)
{
    for (size_t i = 0; i < f->text[FILTER_HOST].n; i++) {
        struct val host = hash_of(f->text[FILTER_HOST].v[i]);

        if (!scan_set_add_paths(w, &host, &f->text[FILTER_PATH]))
            return false;
    }
    return true;
}

static bool scan_set_add_address(struct scan_set *w, struct str url)
{
    struct parcel p = { 0 };

    return !parcel_set_url(&p, url) || scan_set_add(w, hash_of(p.host), hash_of(p.path));
}

static bool scan_set_add_texts(struct scan_set *w, const struct driver *d,
                               const struct filter_texts *t)
{
    bool fits = true;

    if (d->key == FILTER_PATH)
        return scan_set_add_paths(w, NULL, t);
    for (size_t i = 0; i < t->n && fits; i++) {
        struct val text = V_TEXT(t->v[i]);

        fits = d->keyed == KEYED_ADDRESS  ? scan_set_add_address(w, t->v[i])
               : d->keyed == KEYED_PLACES ? scan_set_add_places(w, text)
               : d->keyed == KEYED_HASH   ? scan_set_add(w, hash_of(t->v[i]), V_NULL)
                                          : scan_set_add(w, text, V_NULL);
    }
    return fits;
}

static bool scan_set_add_numbers(struct scan_set *w, const struct filter *f, bool ids)
{
    bool fits = true;

    for (size_t i = 0; ids && i < f->id_count && fits; i++)
        fits = scan_set_add(w, v_uuid(&f->ids[i]), V_NULL);
    for (size_t i = 0; !ids && i < f->status_count && fits; i++)
        fits = scan_set_add(w, V_INT(f->status[i]), V_NULL);
    return fits;
}

static int key_count_of(enum keyed k)
{
    switch (k) {
    case KEYED_TIME:
    case KEYED_NOT: return 0;
    case KEYED_ADDRESS:
    case KEYED_PAIR:
    case KEYED_PLACES:
    case KEYED_QUEUE: return 2;
    case KEYED_TEXT:
    case KEYED_HASH:
    case KEYED_IDS:
    case KEYED_STATUSES: return 1;
    }
    abort();
}

static enum err scan_set_init(struct tx *tx, struct find *f, const struct driver *d,
                              struct scan_set *w)
{
    bool fits;

    *w = (struct scan_set){ .room = 2 * SCANS_MOST, .key_count = key_count_of(d->keyed) };
    w->keys = arena_alloc(f->arena, w->room, sizeof(w->keys[0]));
    if (!w->keys)
        return ERR_NO_MEMORY;
    switch (d->keyed) {
    case KEYED_QUEUE: return scan_set_add_queues(tx, w, &f->filter->text[d->key]);
    case KEYED_PAIR: fits = scan_set_add_pairs(w, f->filter); break;
    case KEYED_IDS: fits = scan_set_add_numbers(w, f->filter, true); break;
    case KEYED_STATUSES: fits = scan_set_add_numbers(w, f->filter, false); break;
    case KEYED_TIME:
    case KEYED_NOT: fits = scan_set_add(w, V_NULL, V_NULL); break;
    default: fits = scan_set_add_texts(w, d, &f->filter->text[d->key]);
    }
    return fits ? OK : ERR_NO_MEMORY;
}

/* --- a page --- */

struct page_reader {
    struct find *find;
    const struct driver *driver;
    struct found *rows;
    size_t n, room;
    bool whole;
};

static int64_t time_of_id(struct uuid id)
{
    int64_t ms = 0;

    for (int i = 0; i < 6; i++)
        ms = ms << 8 | id.b[i];
    return ms;
}

/* The smallest id of that time. */
static struct uuid id_of_time(int64_t ms)
{
    struct uuid id = { 0 };

    if (ms < 0)
        return id;
    if (ms >= INT64_C(1) << 48)
        memset(id.b, 0xff, sizeof(id.b));
    else
        for (int i = 0; i < 6; i++)
            id.b[i] = (unsigned char)(ms >> (40 - 8 * i));
    return id;
}

int spot_compare(const struct spot *a, const struct spot *b)
{
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return memcmp(a->id.b, b->id.b, sizeof(a->id.b));
}

static int found_ascending(const void *a, const void *b)
{
    return spot_compare(&((const struct found *)a)->spot, &((const struct found *)b)->spot);
}

static int found_descending(const void *a, const void *b)
{
    return found_ascending(b, a);
}

static enum err page_add_row(void *ctx, const struct row *row)
{
    struct page_reader *p = ctx;
    const struct val *c = row->col;
    struct found x = { .seq = c[0].i };

    if (p->n == p->room || !uuid_of_bytes(c[1].s, &x.id))
        return ERR_INTERNAL;
    x.at_ms = p->find->in == FIND_LIVE ? time_of_id(x.id) : c[2].i;
    x.number = row->count > 3 ? c[3].i : 0;
    if (p->driver->order == BY_ID)
        x.spot.id = x.id;
    else
        x.spot.seq = x.seq;
    if (p->driver->order == BY_PAIR)
        x.spot.major = c[2].i;
    p->rows[p->n++] = x;
    return OK;
}

/* The parameters of a scan: its keys, where it begins, how many rows, where it ends. The time in an
 * id is only close to that of its message, so a range of ids is a little wider. */
static size_t scan_params(struct find *f, const struct driver *d, const struct val *keys,
                          int key_count, struct uuid ids[2], int64_t limit, struct val v[8])
{
    const struct filter *filter = f->filter;
    size_t n = 0;

    for (int i = 0; i < key_count; i++)
        v[n++] = keys[i];
    if (d->order == BY_ID) {
        struct uuid newest = filter->to_ms < INT64_MAX - 2 * SLACK_MS
                                 ? id_of_time(filter->to_ms + SLACK_MS)
                                 : id_of_time(INT64_MAX);

        ids[0] = memcmp(newest.b, f->at.id.b, sizeof(newest.b)) < 0 ? newest : f->at.id;
        ids[1] = id_of_time(filter->from_ms - SLACK_MS);
        v[n++] = v_uuid(&ids[0]);
        v[n++] = v_uuid(&ids[1]);
    } else {
        bool early = d->keyed == KEYED_TIME && f->at.major < filter->from_ms;

        if (d->order == BY_PAIR)
            v[n++] = V_INT(early ? filter->from_ms - 1 : f->at.major);
        v[n++] = V_INT(early ? INT64_MAX : f->at.seq);
    }
    v[n++] = V_INT(limit);
    if (d->keyed == KEYED_TIME && d->order == BY_PAIR)
        v[n++] = V_INT(filter->to_ms);
    return n;
}

static enum err page_read_scan(struct tx *tx, struct page_reader *p, const struct scan_set *w,
                               size_t at, size_t limit)
{
    struct uuid ids[2];
    struct val v[8];
    size_t n = scan_params(p->find, p->driver, w->keys[at], w->key_count, ids, (int64_t)limit, v);

    return tx_each(tx, p->driver->stmt, v, n, page_add_row, p);
}

/* Drops the rows after the horizon, where a scan may have rows that were not read. */
static void page_cut_at(struct page_reader *p, const struct spot *horizon)
{
    int sign = drivers[p->find->in].down ? -1 : 1;

    while (p->n && spot_compare(&p->rows[p->n - 1].spot, horizon) * sign > 0)
        p->n--;
}

static void page_drop_repeats(struct page_reader *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n; i++)
        if (!i || spot_compare(&p->rows[i].spot, &p->rows[kept - 1].spot))
            p->rows[kept++] = p->rows[i];
    p->n = kept;
}

/* The horizon is the first among the last rows of the unfinished scans. */
static enum err page_read_scans(struct tx *tx, struct page_reader *p, const struct scan_set *w,
                                size_t each, struct spot *ret_horizon)
{
    int sign = drivers[p->find->in].down ? -1 : 1;

    p->whole = true;
    for (size_t i = 0; i < w->n; i++) {
        size_t before = p->n;
        const struct spot *last;
        enum err e = page_read_scan(tx, p, w, i, each);

        if (e)
            return e;
        if (p->n - before < each)
            continue;
        last = &p->rows[p->n - 1].spot;
        if (p->whole || spot_compare(last, ret_horizon) * sign < 0)
            *ret_horizon = *last;
        p->whole = false;
    }
    return OK;
}

enum err scan_page(struct tx *tx, struct find *f, int driver, struct scan_page *ret_page)
{
    struct page_reader page = { .find = f, .driver = &drivers[f->in].all[driver] }, *p = &page;
    struct spot horizon = { 0 };
    struct scan_set w;
    size_t each;
    enum err e;

    e = scan_set_init(tx, f, p->driver, &w);
    if (e)
        return e;
    each = w.n && SCAN_PAGE_ROWS / w.n > PAGE_LEAST ? SCAN_PAGE_ROWS / w.n : PAGE_LEAST;
    p->room = w.n * each;
    p->rows = arena_alloc(f->arena, p->room ? p->room : 1, sizeof(*p->rows));
    if (!p->rows)
        return ERR_NO_MEMORY;
    e = page_read_scans(tx, p, &w, each, &horizon);
    qsort(p->rows, p->n, sizeof(*p->rows),
          drivers[f->in].down ? found_descending : found_ascending);
    if (!p->whole)
        page_cut_at(p, &horizon);
    page_drop_repeats(p);
    *ret_page = (struct scan_page){ .rows = p->rows, .n = p->n, .whole = p->whole };
    return e;
}
