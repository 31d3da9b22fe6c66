/* Every filter, by whatever index it is driven, finds what a plain walk over all rows finds: in its
 * order, nothing twice, in pages of any size, with a cursor carried from one to the next as text.
 */
#include "payment/rows.h"
#include "qstash/find.h"
#include "qstash/rows.h"
#include "unit/queue/rig.h"

enum { PARCELS = 800, BATCH = 50, FILTERS = 100, TEXT = 512 * 1024, STEP_MS = 50 };

static struct {
    struct rig *rig;
    struct qstash q;
    struct arena texts;
    struct parcel parcels[PARCELS];
    uint64_t seed;
} w;

static size_t below(size_t n) /* the same numbers at each run */
{
    w.seed = w.seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(w.seed >> 33) % n;
}

/* --- parcels of every kind --- */

static const char *const hosts[] = { "a.test", "b.test:8080", "c.test" };
static const char *const paths[] = { "", "/", "/x", "/y/z" };
static const char *const queries[] = { "", "?q=1" };
static const char *const labels[] = { "", "red", "blue", "red,blue", "green" };
static const char *const queues[] = { "", "", "q1", "q2" };
static const char *const flows[] = { "", "", "k1", "k 2" };
static const char *const schedules[] = { "", "", "", "s1" };
static const char *const topics[] = { "", "", "t1" };
static const char *const callers[] = { "10.0.0.1", "::1" };

#define PICK(list) str_of((list)[below(COUNT(list))])

static struct parcel make(void)
{
    struct parcel p = { .method = S("POST"), .retries = 3, .flow = { .rate = 5, .period_s = 60 } };
    char url[256];

    snprintf(url, sizeof(url), "http://%s%s%s", hosts[below(COUNT(hosts))],
             paths[below(COUNT(paths))], queries[below(COUNT(queries))]);
    assert_true(parcel_set_url(&p, arena_str(&w.texts, str_of(url))));
    p.labels = PICK(labels);
    p.queue = PICK(queues);
    p.flow_key = PICK(flows);
    p.schedule_id = PICK(schedules);
    p.topic = PICK(topics);
    p.caller_ip = PICK(callers);
    p.id = env_uuid(w.q.env);
    p.created_ms = p.not_before_ms = env_now_ms(w.q.env);
    return p;
}

/* ctx is the first of BATCH. Every second one is given up at once. */
static enum err do_post(struct tx *tx, void *ctx)
{
    const struct parcel *p = ctx;
    enum err e = OK;

    for (int i = 0; i < BATCH && !e; i++) {
        e = parcel_post(&w.q, tx, &p[i]);
        if (!e && i % 2)
            e = parcel_give_up(&w.q, tx, p[i].id, S("it is a test"));
    }
    return e;
}

static void must(enum err (*run)(struct tx *, void *), void *ctx)
{
    enum err e = rig_do(w.rig, 0, run, ctx);

    if (e)
        fail_msg("%s", err_code(e));
}

/* The dead have one of three statuses, and died one after the other. */
static void begin(void **state)
{
    char text[64];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.q.env = &w.rig->env[0];
    w.q.store = w.rig->store[0];
    arena_init(&w.texts, 1 << 20);
    for (int i = 0; i < PARCELS; i++) {
        atomic_fetch_add(&rig_now_ms, STEP_MS);
        w.parcels[i] = make();
        if (i % BATCH == BATCH - 1)
            must(do_post, &w.parcels[i + 1 - BATCH]);
    }
    sql_text(w.rig,
             "UPDATE qstash_dead SET status = 500 + seq % 3, died_at = (SELECT c.created_at"
             " FROM qstash_messages c WHERE c.id = qstash_dead.id)",
             text, sizeof(text));
}

/* --- a filter, and the same in SQL --- */

struct asked_for {
    char query[4096], where[8192];
};

static void add_text(char *to, size_t size, const char *format, const char *value)
{
    size_t n = strlen(to);

    snprintf(to + n, size - n, format, value);
}

static void encode(const char *value, char out[512])
{
    size_t n = 0;

    for (; *value && n + 4 < 512; value++)
        n += (size_t)snprintf(out + n, 512 - n, "%%%02x", (unsigned char)*value);
    out[n] = '\0';
}

/* One or two values of the list, or one that nobody has. */
static void ask_key(struct asked_for *f, const char *key, const char *column,
                    const char *const *list, size_t n)
{
    size_t count = 1 + below(2);

    add_text(f->where, sizeof(f->where), " AND (1 = 0", "");
    for (size_t i = 0; i < count; i++) {
        const char *value = below(8) ? list[below(n)] : "/nobody";
        char encoded[512], one[128];

        if (!*value)
            value = "/";
        snprintf(one, sizeof(one), "%.*s", (int)strcspn(value, ","), value);
        encode(one, encoded);
        add_text(f->query, sizeof(f->query), f->query[0] ? "&%s=" : "%s=", key);
        add_text(f->query, sizeof(f->query), "%s", encoded);
        if (!strcmp(key, "label"))
            add_text(f->where, sizeof(f->where), " OR ',' || c.labels || ',' LIKE '%%,%s,%%'", one);
        else {
            add_text(f->where, sizeof(f->where), " OR %s = ", column);
            add_text(f->where, sizeof(f->where), "'%s'", one);
            if (!strcmp(key, "path") && !strcmp(one, "/"))
                add_text(f->where, sizeof(f->where), " OR %s = ''", column);
        }
    }
    add_text(f->where, sizeof(f->where), ")", "");
}

static void ask_url(struct asked_for *f)
{
    struct str url = w.parcels[below(PARCELS)].url;
    char text[256], encoded[512];

    snprintf(text, sizeof(text), STR_FMT, STR_ARG(url));
    encode(text, encoded);
    add_text(f->query, sizeof(f->query), f->query[0] ? "&url=%s" : "url=%s", encoded);
    add_text(f->where, sizeof(f->where), " AND c.url = '%s'", text);
}

static void ask_dates(struct asked_for *f, const char *column)
{
    int64_t first = w.parcels[0].created_ms, from = first + (int64_t)below(PARCELS) * STEP_MS;
    int64_t to = from + (int64_t)below(PARCELS) * STEP_MS;
    char text[128];

    if (below(3)) {
        snprintf(text, sizeof(text), "fromDate=%lld", (long long)from);
        add_text(f->query, sizeof(f->query), f->query[0] ? "&%s" : "%s", text);
        snprintf(text, sizeof(text), " AND %s >= %lld", column, (long long)from);
        add_text(f->where, sizeof(f->where), "%s", text);
    }
    if (below(3)) {
        snprintf(text, sizeof(text), "toDate=%lld", (long long)to);
        add_text(f->query, sizeof(f->query), f->query[0] ? "&%s" : "%s", text);
        snprintf(text, sizeof(text), " AND %s <= %lld", column, (long long)to);
        add_text(f->where, sizeof(f->where), "%s", text);
    }
}

static void ask_id(struct asked_for *f)
{
    struct uuid id = w.parcels[below(PARCELS)].id;
    char text[MESSAGE_ID_TEXT + 1];

    message_id_text(id, text);
    add_text(f->query, sizeof(f->query), f->query[0] ? "&messageId=%s" : "messageId=%s", text);
    add_text(f->where, sizeof(f->where),
             w.rig->postgres ? " AND c.id = '\\x%s'" : " AND c.id = x'%s'", text + 4);
}

static void ask_number(struct asked_for *f, enum find_in in)
{
    char text[64];

    if (in == FIND_DEAD) {
        size_t status = 500 + below(4);

        snprintf(text, sizeof(text), "responseStatus=%zu", status);
        add_text(f->query, sizeof(f->query), f->query[0] ? "&%s" : "%s", text);
        snprintf(text, sizeof(text), " AND x.status = %zu", status);
    } else {
        enum qstash_state state = QSTASH_CREATED + (enum qstash_state)below(QSTASH_STATES - 1);

        snprintf(text, sizeof(text), "state=%s", qstash_state_word(state));
        add_text(f->query, sizeof(f->query), f->query[0] ? "&%s" : "%s", text);
        snprintf(text, sizeof(text), " AND x.state = %d", (int)state);
    }
    add_text(f->where, sizeof(f->where), "%s", text);
}

static struct asked_for ask(enum find_in in)
{
    static const char *const times[] = { "c.created_at", "x.died_at", "x.at" };
    struct asked_for f = { .query = "" };
    size_t seldom = 3 + below(8);

    if (!below(seldom) && in != FIND_DEAD)
        ask_key(&f, "host", "c.host", hosts, COUNT(hosts));
    if (!below(seldom) && in != FIND_DEAD)
        ask_key(&f, "path", "c.path", paths, COUNT(paths));
    if (!below(seldom))
        ask_key(&f, "label", "c.labels", labels + 1, COUNT(labels) - 1);
    if (!below(seldom))
        ask_key(&f, "queueName", "c.queue", queues + 2, COUNT(queues) - 2);
    if (!below(seldom))
        ask_key(&f, "flowControlKey", "c.flow_key", flows + 2, COUNT(flows) - 2);
    if (!below(seldom))
        ask_key(&f, "scheduleId", "c.schedule_id", schedules + 3, COUNT(schedules) - 3);
    if (!below(seldom))
        ask_key(&f, "topicName", "c.topic", topics + 2, COUNT(topics) - 2);
    if (!below(seldom))
        ask_key(&f, "callerIp", "c.caller_ip", callers, COUNT(callers));
    if (!below(2 * seldom))
        ask_url(&f);
    if (!below(seldom))
        ask_dates(&f, times[in]);
    if (!below(2 * seldom) && in != FIND_LIVE)
        ask_id(&f);
    if (!below(seldom) && in != FIND_LIVE)
        ask_number(&f, in);
    return f;
}

/* --- what is found, page by page --- */

struct looking {
    enum find_in in;
    const struct filter *filter;
    size_t max;
    int64_t budget;
    char cursor[FIND_CURSOR];
    struct find find;
    bool carried; /* by the cursor's text, and not by the find */
    char *text;   /* ids in hex, a comma behind each */
    size_t n;
    struct arena arena;
};

static enum err do_look(struct tx *tx, void *ctx)
{
    struct looking *l = ctx;
    struct find f = l->find;
    enum err e;

    if (l->carried) {
        find_begin(&f, l->in, l->filter);
        if (l->cursor[0])
            assert_true(find_cursor_read(&f, str_of(l->cursor)));
    }
    f.arena = &l->arena;
    f.max = l->max;
    f.budget = l->budget;
    f.found = arena_alloc(&l->arena, f.max, sizeof(*f.found));
    e = find_next(tx, &f);
    l->find = f;
    return e;
}

static void find_all(struct looking *l)
{
    l->n = 0;
    l->text[0] = '\0';
    find_begin(&l->find, l->in, l->filter);
    do {
        must(do_look, l);
        for (size_t i = 0; i < l->find.count; i++) {
            char id[MESSAGE_ID_TEXT + 1];

            message_id_text(l->find.found[i].id, id);
            l->n += (size_t)snprintf(l->text + l->n, TEXT - l->n, "%s,", id + 4);
        }
        find_cursor(&l->find, &l->find.at, l->cursor);
    } while (!l->find.end);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Live ones come in the order of the index that drives. */
static void sort(char *text)
{
    static char *ids[PARCELS * 8];
    static char sorted[TEXT];
    size_t n = 0, length = 0;

    for (char *p = strtok(text, ","); p; p = strtok(NULL, ","))
        ids[n++] = p;
    qsort(ids, n, sizeof(ids[0]), by_text);
    sorted[0] = '\0';
    for (size_t i = 0; i < n; i++)
        length += (size_t)snprintf(sorted + length, TEXT - length, "%s,", ids[i]);
    memcpy(text, sorted, length + 1);
}

static void expect(enum find_in in, const struct asked_for *f, char *text)
{
    static const char *const tables[] = { "qstash_live", "qstash_dead", "qstash_log" };
    static const char *const orders[] = { "x.seq DESC", "x.seq", "x.seq DESC" };
    static char sql[16384];

    snprintf(sql, sizeof(sql),
             w.rig->postgres
                 ? "SELECT string_agg(h || ',', '') FROM (SELECT encode(c.id, 'hex') AS h FROM %s x"
                   " JOIN qstash_messages c ON c.id = x.id WHERE 1 = 1%s ORDER BY %s) y"
                 : "SELECT group_concat(h || ',', '') FROM (SELECT lower(hex(c.id)) AS h FROM %s x"
                   " JOIN qstash_messages c ON c.id = x.id WHERE 1 = 1%s ORDER BY %s) y",
             tables[in], f->where, orders[in]);
    sql_text(w.rig, sql, text, TEXT);
}

static void every_filter(enum find_in in, enum selection_of of)
{
    char *want = malloc(TEXT), *have = malloc(TEXT);
    struct why why;
    int found = 0;

    for (int i = 0; i < FILTERS; i++) {
        struct asked_for f = ask(in);
        struct looking l = { .in = in, .text = have, .carried = in != FIND_LIVE && below(2) };
        struct selection s;

        arena_init(&l.arena, 64 << 20);
        l.max = 1 + below(200);
        l.budget = (int64_t)(1 + below(1500));
        assert_int_equal(selection_read(&l.arena, of, str_of(f.query), S(""), &s, &why), OK);
        l.filter = &s.filter;
        find_all(&l);
        expect(in, &f, want);
        found += *want != '\0';
        if (in == FIND_LIVE) {
            sort(want);
            sort(have);
        }
        if (strcmp(want, have) != 0)
            fail_msg("%s\nby driver %d, %zu at a time\nwant %s\nhave %s", f.query, l.find.driver,
                     l.max, want, have);
        arena_release(&l.arena);
    }
    assert_true(found > FILTERS / 3); /* or the filters are worth nothing */
    free(want);
    free(have);
}

static void all_filters_find_what_a_walk_finds(void **state)
{
    begin(state);
    every_filter(FIND_LIVE, SELECT_LIVE);
    every_filter(FIND_DEAD, SELECT_DEAD);
    every_filter(FIND_LOG, SELECT_LOG);
    arena_release(&w.texts);
}

/* --- which index --- */

struct probe {
    const char *query;
    int64_t looked;
    struct find find;
};

static enum err do_probe(struct tx *tx, void *ctx)
{
    struct probe *p = ctx;
    struct found found[10];
    struct selection s;
    struct arena a;
    struct why why;
    enum err e;

    arena_init(&a, 4 << 20);
    e = selection_read(&a, SELECT_DEAD, str_of(p->query), S(""), &s, &why);
    find_begin(&p->find, FIND_DEAD, &s.filter);
    p->find.arena = &a;
    p->find.found = found;
    p->find.max = COUNT(found);
    p->find.budget = 1000000;
    if (!e)
        e = find_next(tx, &p->find);
    p->looked = p->find.looked;
    arena_release(&a);
    return e;
}

/* A thousand have the label, one has the status; and the other way round. */
static void the_key_with_the_fewest_rows_drives(void **state)
{
    static const char *const fill[] = {
        "INSERT INTO qstash_dead (id, died_at, retried, status, url_hash, caller_ip)"
        " SELECT id, 1, 0, 500, 7, 'c' FROM qstash_messages",
        "INSERT INTO qstash_labels (label, dead, seq, id) SELECT 'all', 1, seq, id FROM "
        "qstash_dead",
        "INSERT INTO qstash_labels (label, dead, seq, id)"
        " SELECT 'one', 1, seq, id FROM qstash_dead ORDER BY seq DESC LIMIT 1",
        "UPDATE qstash_messages SET labels = 'all,one'",
        "UPDATE qstash_dead SET status = 404 WHERE seq = (SELECT max(seq) FROM qstash_dead)",
        "UPDATE qstash_dead SET died_at = 99 WHERE seq = (SELECT max(seq) FROM qstash_dead)",
    };
    static const char *const asked[] = {
        "label=all&responseStatus=404",
        "label=one&responseStatus=500,404",
        "label=all&fromDate=50",
        "callerIp=c&label=one",
        "callerIp=c&responseStatus=404&label=all",
    };
    char text[16];

    w.rig = *state;
    sql_text(
        w.rig,
        w.rig->postgres
            ? "INSERT INTO qstash_messages (id, created_at, not_before, method, url, host, path,"
              " retries, timeout_ms, caller_ip) SELECT decode(md5(i::text), 'hex'), i, i, 'POST',"
              " 'http://a', 'a', '', 0, 0, 'c' FROM generate_series(1, 5000) i"
            : "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
              " INSERT INTO qstash_messages (id, created_at, not_before, method, url, host, path,"
              " retries, timeout_ms, caller_ip) SELECT randomblob(16), i, i, 'POST', 'http://a',"
              " 'a', '', 0, 0, 'c' FROM n",
        text, sizeof(text));
    for (size_t i = 0; i < COUNT(fill); i++)
        sql_text(w.rig, fill[i], text, sizeof(text));
    for (size_t i = 0; i < COUNT(asked); i++) {
        struct probe p = { .query = asked[i] };

        must(do_probe, &p);
        if (p.find.count != 1 || p.looked > 10)
            fail_msg("%s: %zu found, %lld looked at", asked[i], p.find.count, (long long)p.looked);
    }
}

int main(void)
{
    const struct CMUnitTest sqlite[] = {
        ON_SQLITE(all_filters_find_what_a_walk_finds),
        ON_SQLITE(the_key_with_the_fewest_rows_drives),
    };
    const struct CMUnitTest postgres[] = {
        ON_POSTGRES(all_filters_find_what_a_walk_finds),
        ON_POSTGRES(the_key_with_the_fewest_rows_drives),
    };

    return RUN_BOTH(sqlite, postgres);
}
