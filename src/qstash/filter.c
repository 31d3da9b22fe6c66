/* filter.c - reads a filter from a query or a JSON body, and matches contents against it. Both
 * forms are first collected as texts for each key, and then checked together. */
#include "qstash/filter.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "http/message/target.h"

#include <stdio.h>
#include <string.h>

/* --- the keys --- */

enum key {
    /* the texts come first, with the numbers of enum filter_key */
    KEY_ID = FILTER_TEXTS,
    KEY_STATUS,
    KEY_STATE,
    KEY_FROM,
    KEY_TO,
    KEY_COUNT,
    KEY_CURSOR,
    KEY_IDS,
    KEY_TOKEN, /* checked by endpoint.c */
    KEYS,
};

enum { ANY = SELECT_LIVE | SELECT_DEAD | SELECT_LOG };

static const struct filter_known {
    const char *name;
    int key; /* of either enum */
    unsigned of;
} keys[] = {
    { "url", FILTER_URL, ANY },
    { "host", FILTER_HOST, SELECT_LIVE | SELECT_LOG },
    { "path", FILTER_PATH, SELECT_LIVE | SELECT_LOG },
    { "label", FILTER_LABEL, ANY },
    { "queueName", FILTER_QUEUE, ANY },
    { "flowControlKey", FILTER_FLOW, ANY },
    { "scheduleId", FILTER_SCHEDULE, ANY },
    { "topicName", FILTER_TOPIC, ANY },
    { "callerIp", FILTER_CALLER, ANY },
    { "callerIP", FILTER_CALLER, ANY },
    { "messageId", KEY_ID, SELECT_DEAD | SELECT_LOG },
    { "responseStatus", KEY_STATUS, SELECT_DEAD },
    { "state", KEY_STATE, SELECT_LOG },
    { "fromDate", KEY_FROM, ANY },
    { "toDate", KEY_TO, ANY },
    { "count", KEY_COUNT, ANY },
    { "cursor", KEY_CURSOR, ANY },
    { "messageIds", KEY_IDS, SELECT_LIVE },
    { "messageIds", KEY_ID, SELECT_LOG },
    { "dlqIds", KEY_IDS, SELECT_DEAD },
    { "qstash_token", KEY_TOKEN, ANY },
};

static const struct filter_known *key_find(enum selection_of of, struct str name)
{
    for (size_t i = 0; i < COUNT(keys); i++)
        if ((keys[i].of & of) && str_eq(str_of(keys[i].name), name))
            return &keys[i];
    return NULL;
}

/* --- values as given --- */

struct filter_reading {
    struct arena *arena;
    enum selection_of of;
    struct filter_texts given[KEYS];
    bool seen[KEYS];
    struct why *why;
};

static enum err filter_refuse(struct filter_reading *r, const char *name, const char *words)
{
    return why_err(r->why, ERR_VALIDATION, "invalid filter: %s %s", name, words);
}

static size_t key_most_values(int key)
{
    return key == KEY_IDS ? LIMIT_QSTASH_IDS : LIMIT_QSTASH_VALUES;
}

static enum err filter_push(struct filter_reading *r, const struct filter_known *k,
                            struct str value)
{
    struct filter_texts *t = &r->given[k->key];

    if (t->n == key_most_values(k->key))
        return filter_refuse(r, k->name, "has too many values");
    if (t->n == t->room) {
        size_t room = t->room ? 4 * t->room : 8;
        struct str *v = arena_alloc(r->arena, room, sizeof(*v));

        if (!v)
            return ERR_NO_MEMORY;
        if (t->n)
            memcpy(v, t->v, t->n * sizeof(*v));
        t->v = v;
        t->room = room;
    }
    t->v[t->n++] = value;
    return OK;
}

/* Whether a comma before rest separates two values: an address may contain commas. */
static bool comma_separates(int key, struct str rest)
{
    if (key == FILTER_URL)
        return str_starts(rest, S("http://")) || str_starts(rest, S("https://"));
    return key != FILTER_PATH || str_starts(rest, S("/"));
}

static bool key_is_single(int key)
{
    return key >= KEY_FROM && key <= KEY_CURSOR;
}

static size_t first_value_size(int key, struct str values)
{
    for (size_t i = 0; i < values.n && !key_is_single(key); i++)
        if (values.p[i] == ',' &&
            comma_separates(key, (struct str){ values.p + i + 1, values.n - i - 1 }))
            return i;
    return values.n;
}

static enum err filter_add_split(struct filter_reading *r, const struct filter_known *k,
                                 struct str values)
{
    enum err e = OK;

    for (;;) {
        size_t n = first_value_size(k->key, values);
        struct str one = str_trim((struct str){ values.p, n });

        if (!one.n)
            return filter_refuse(r, k->name, "has an empty value");
        e = filter_push(r, k, one);
        if (e || n == values.n)
            return e;
        values = (struct str){ values.p + n + 1, values.n - n - 1 };
    }
}

static enum err filter_add(struct filter_reading *r, const struct filter_known *k, struct str value)
{
    r->seen[k->key] = true;
    if (k->key == KEY_TOKEN || (k->key == KEY_CURSOR && !value.n))
        return OK;
    if (!str_is_utf8(value) || (value.n && memchr(value.p, '\0', value.n)))
        return filter_refuse(r, k->name, "is not text");
    if (key_is_single(k->key) && r->given[k->key].n)
        return filter_refuse(r, k->name, "is given twice");
    /* A flow key may have a comma itself; names have none. */
    if (k->key == FILTER_FLOW && value.n && memchr(value.p, ',', value.n)) {
        enum err e = filter_push(r, k, value);

        if (e)
            return e;
    }
    return filter_add_split(r, k, value);
}

static enum err filter_unknown(struct filter_reading *r, struct str name)
{
    name.n = name.n < 64 ? name.n : 64;
    return why_err(r->why, ERR_VALIDATION, "unknown filter: " STR_FMT, STR_ARG(name));
}

/* --- from the query --- */

/* Form encoding: a plus is a blank. */
static struct str form_decode(struct arena *a, struct str raw)
{
    char *p;

    if (!raw.n || !memchr(raw.p, '+', raw.n))
        return percent_decode(a, raw);
    p = arena_cstr(a, raw);
    for (size_t i = 0; p && i < raw.n; i++)
        if (p[i] == '+')
            p[i] = ' ';
    return p ? percent_decode(a, (struct str){ p, raw.n }) : (struct str){ 0 };
}

static enum err filter_read_query(struct filter_reading *r, struct str query)
{
    enum err e = OK;

    while (query.n && !e) {
        struct str pair = str_cut(&query, '&'), raw = str_cut(&pair, '=');
        struct str name = form_decode(r->arena, raw), value = form_decode(r->arena, pair);
        const struct filter_known *k = key_find(r->of, name);

        if (!raw.n && !pair.n)
            continue;
        if (!k)
            e = filter_unknown(r, name.p && str_is_utf8(name) ? name : S("(not text)"));
        else if (!value.p)
            e = filter_refuse(r, k->name, "is not encoded as it must be");
        else
            e = filter_add(r, k, value);
    }
    return e;
}

/* --- from the body: {"messageIds":["msg_..."]}, and all keys of a query --- */

static enum err filter_add_item(struct filter_reading *r, const struct filter_known *k,
                                const cJSON *item)
{
    char digits[32], *kept;

    if (cJSON_IsString(item)) {
        kept = arena_cstr(r->arena, str_of(item->valuestring));
        return kept ? filter_add(r, k, str_of(kept)) : ERR_NO_MEMORY;
    }
    if (!cJSON_IsNumber(item))
        return filter_refuse(r, k->name, "must be a text, a number, or a list of them");
    /* json_parse() keeps the text of numbers that are large or not whole. */
    snprintf(digits, sizeof(digits), "%.0f", item->valuedouble);
    kept = arena_cstr(r->arena, str_of(item->valuestring ? item->valuestring : digits));
    return kept ? filter_add(r, k, str_of(kept)) : ERR_NO_MEMORY;
}

static enum err filter_add_member(struct filter_reading *r, const cJSON *member)
{
    const struct filter_known *k = key_find(r->of, str_of(member->string));
    const cJSON *item;
    enum err e = OK;

    if (!k)
        return filter_unknown(r, str_of(member->string));
    if (k->key == KEY_CURSOR && cJSON_IsNull(member))
        return OK;
    if (!cJSON_IsArray(member))
        return filter_add_item(r, k, member);
    r->seen[k->key] = true;
    if (!member->child && k->key != KEY_IDS)
        return filter_refuse(r, k->name, "has no value");
    cJSON_ArrayForEach(item, member) if (!e) e = filter_add_item(r, k, item);
    return e;
}

static enum err filter_read_body(struct filter_reading *r, struct str body)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct json_fault fault = { 0 };
    const cJSON *member;
    enum err e;

    if (!body.n)
        return OK;
    e = json_parse(body, &tree, &fault);
    if (e == ERR_VALIDATION)
        why_set(r->why, "invalid JSON in the body, at byte %zu: %s", fault.offset, fault.why);
    if (e)
        return e;
    if (!cJSON_IsObject(tree))
        return why_err(r->why, ERR_VALIDATION, "the body must be a JSON object");
    cJSON_ArrayForEach(member, tree) if (!e) e = filter_add_member(r, member);
    return e;
}

/* --- their meaning --- */

static enum err filter_read_number(struct filter_reading *r, int key, const char *name,
                                   int64_t least, int64_t *ret_number)
{
    if (!r->given[key].n)
        return OK;
    if (!str_to_i64(r->given[key].v[0], ret_number) || *ret_number < least)
        return filter_refuse(r, name, "must be a whole number");
    return OK;
}

static enum err selection_read_numbers(struct filter_reading *r, struct selection *s)
{
    struct filter *f = &s->filter;
    enum err e;

    f->has_dates = r->given[KEY_FROM].n || r->given[KEY_TO].n;
    f->to_ms = INT64_MAX;
    e = filter_read_number(r, KEY_FROM, "fromDate", 0, &f->from_ms);
    if (!e)
        e = filter_read_number(r, KEY_TO, "toDate", 0, &f->to_ms);
    return e ? e : filter_read_number(r, KEY_COUNT, "count", 1, &s->count);
}

/* Invalid ids match nothing and are left out. */
static enum err filter_read_ids(struct filter_reading *r, struct filter *f)
{
    const struct filter_texts *t = &r->given[KEY_ID];

    f->has_ids = r->seen[KEY_ID];
    if (!t->n)
        return OK;
    f->ids = arena_alloc(r->arena, t->n, sizeof(*f->ids));
    if (!f->ids)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < t->n; i++)
        f->id_count += message_id_parse(t->v[i], &f->ids[f->id_count]);
    return OK;
}

static enum err filter_read_statuses(struct filter_reading *r, struct filter *f)
{
    const struct filter_texts *t = &r->given[KEY_STATUS];

    if (!t->n)
        return OK;
    f->status = arena_alloc(r->arena, t->n, sizeof(*f->status));
    if (!f->status)
        return ERR_NO_MEMORY;
    for (; f->status_count < t->n; f->status_count++)
        if (!str_to_i64(t->v[f->status_count], &f->status[f->status_count]))
            return filter_refuse(r, "responseStatus", "must be a whole number");
    return OK;
}

static unsigned state_bits(struct str word)
{
    if (str_eq_nocase(word, S("IN_PROGRESS")))
        return 1u << QSTASH_ACTIVE | 1u << QSTASH_RETRY | 1u << QSTASH_ERROR;
    if (str_eq_nocase(word, S("CANCELLED")))
        return 1u << QSTASH_CANCELED;
    for (unsigned s = QSTASH_CREATED; s < QSTASH_STATES; s++)
        if (str_eq_nocase(word, str_of(qstash_state_word((enum qstash_state)s))))
            return 1u << s;
    return 0;
}

static enum err filter_read_states(struct filter_reading *r, struct filter *f)
{
    const struct filter_texts *t = &r->given[KEY_STATE];

    for (size_t i = 0; i < t->n; i++) {
        unsigned bits = state_bits(t->v[i]);

        if (!bits)
            return filter_refuse(r, "state", "is not a state of a message");
        f->states |= bits;
    }
    return OK;
}

static enum err selection_fill(struct filter_reading *r, struct selection *s)
{
    enum err e = selection_read_numbers(r, s);

    for (int i = 0; i < FILTER_TEXTS; i++)
        s->filter.text[i] = r->given[i];
    s->ids = r->given[KEY_IDS];
    s->by_ids = r->seen[KEY_IDS];
    if (r->given[KEY_CURSOR].n)
        s->cursor = r->given[KEY_CURSOR].v[0];
    if (!e)
        e = filter_read_ids(r, &s->filter);
    if (!e)
        e = filter_read_statuses(r, &s->filter);
    return e ? e : filter_read_states(r, &s->filter);
}

enum err selection_read(struct arena *a, enum selection_of of, struct str query, struct str body,
                        struct selection *ret_selection, struct why *why)
{
    struct filter_reading r = { .arena = a, .of = of, .why = why };
    struct selection s = { 0 };
    enum err e = filter_read_query(&r, query);

    if (!e)
        e = filter_read_body(&r, body);
    if (!e)
        e = selection_fill(&r, &s);
    if (e)
        return e;
    *ret_selection = s;
    return OK;
}

/* --- matching --- */

static bool has_text(const struct filter_texts *t, struct str text)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->v[i], text))
            return true;
    return false;
}

static bool has_label(const struct filter_texts *t, struct str labels)
{
    while (labels.n)
        if (has_text(t, str_cut(&labels, ',')))
            return true;
    return false;
}

static bool fits_text(const struct filter *f, enum filter_key key, struct str text)
{
    const struct filter_texts *t = &f->text[key];

    if (!t->n)
        return true;
    if (key == FILTER_LABEL)
        return has_label(t, text);
    /* http://host and http://host/ are the same request. */
    if (key == FILTER_PATH && !text.n)
        text = S("/");
    return has_text(t, text);
}

bool filter_has_texts(const struct filter *f)
{
    for (int i = 0; i < FILTER_TEXTS; i++)
        if (f->text[i].n)
            return true;
    return false;
}

bool filter_fits_texts(const struct filter *f, const struct filter_facts *facts)
{
    for (int i = 0; i < FILTER_TEXTS; i++)
        if (!fits_text(f, (enum filter_key)i, facts->text[i]))
            return false;
    return true;
}

bool filter_fits_id(const struct filter *f, struct uuid id)
{
    for (size_t i = 0; i < f->id_count; i++)
        if (uuid_eq(f->ids[i], id))
            return true;
    return !f->has_ids;
}

bool filter_fits_status(const struct filter *f, int64_t status)
{
    for (size_t i = 0; i < f->status_count; i++)
        if (f->status[i] == status)
            return true;
    return !f->status_count;
}

bool filter_fits_state(const struct filter *f, int64_t state)
{
    return !f->states || (state > 0 && state < QSTASH_STATES && (f->states >> state & 1));
}

bool filter_fits_time(const struct filter *f, int64_t at_ms)
{
    return at_ms >= f->from_ms && at_ms <= f->to_ms;
}
