/* lottery_job.c - a sold-out campaign is drawn once, and all participants are notified.
 *
 *   campaign.draw --sold_out? drawn, entries, ranks: one commit--> campaign.draw "0"
 *                                                                        |
 *        notifies some entries after that number: one commit <-----------'--> campaign.draw "50" ...
 *
 *   (1) The campaign's status decides: only the transaction that moves it from sold_out to drawn
 *       draws. A second message, or one after a cancellation, does nothing.
 *   (2) What is published was stored with the result; nothing is computed again later.
 *   (3) Every step is one commit with the message of the next step, so a crash leaves one message. */
#include "base/hex.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "campaign/campaign.h"
#include "campaign/lottery.h"
#include "notify/notification.h"
#include "payment/rows.h"
#include "store/tx_log.h"

#include <stdio.h>
#include <string.h>

enum {
    DRAW_ARENA = 4 * 1024 * 1024,
    DRAW_JSON_MAX = 3 * 1024 * 1024,
    NOTIFY_ARENA = 512 * 1024,
    ENTRY_COLUMNS = 4,
};

/* --- messages --- */

static enum err draw_job_add(struct tx *tx, struct payments *pp, struct uuid campaign,
                             struct str body, int64_t now_ms)
{
    char id[UUID_TEXT + 1];
    struct queue_new m = {
        .id = env_uuid(tx_env(tx)), .kind = S("campaign.draw"), .body = body, .due_ms = now_ms
    };

    uuid_text(campaign, id);
    m.ref = str_of(id);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

enum err draw_later(struct tx *tx, struct payments *pp, struct uuid campaign, int64_t now_ms)
{
    return draw_job_add(tx, pp, campaign, S(""), now_ms);
}

static enum err notify_later(struct tx *tx, struct payments *pp, struct uuid campaign,
                             int64_t after, int64_t now_ms)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)after);
    return draw_job_add(tx, pp, campaign, str_of(text), now_ms);
}

/* --- drawing --- */

struct drawing {
    struct uuid campaign;
    unsigned char seed[DRAW_SEED];
    size_t winners;
    struct draw_entry *entries;
    size_t n;
    char digest[DRAW_HEX + 1];
};

static enum err draw_begin(struct tx *tx, struct drawing *d, int64_t now_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_draw_begin, &row, V_INT(now_ms), v_uuid(&d->campaign));

    if (e)
        return e;
    if (row.col[0].s.n != DRAW_SEED || row.col[1].i < 0)
        return ERR_INTERNAL;
    memcpy(d->seed, row.col[0].s.p, DRAW_SEED);
    d->winners = (size_t)row.col[1].i;
    return OK;
}

static enum err draw_add_entry(void *ctx, const struct row *row)
{
    struct drawing *d = ctx;
    struct draw_entry *entry = &d->entries[d->n];

    if (d->n == POSITIONS_MAX)
        return ERR_INTERNAL;
    entry->number = row->col[0].i;
    d->n++;
    return uuid_of_bytes(row->col[1].s, &entry->purchase) ? OK : ERR_INTERNAL;
}

static enum err draw_read_entries(struct tx *tx, struct drawing *d)
{
    size_t before;
    enum err e;

    do {
        int64_t after = d->n ? d->entries[d->n - 1].number : 0;
        struct val v[] = { v_uuid(&d->campaign), V_INT(after), V_INT(LIMIT_STATEMENT_ROWS) };

        before = d->n;
        e = tx_each(tx, STMT_draw_candidates, v, COUNT(v), draw_add_entry, d);
    } while (!e && d->n - before == LIMIT_STATEMENT_ROWS);
    return e;
}

static enum err draw_store_entries(struct tx *tx, const struct drawing *d)
{
    struct val v[LIMIT_STATEMENT_ROWS * ENTRY_COLUMNS];
    size_t n;
    enum err e = OK;

    for (size_t i = 0; !e && i < d->n; i += n) {
        for (n = 0; n < LIMIT_STATEMENT_ROWS && i + n < d->n; n++) {
            const struct draw_entry *entry = &d->entries[i + n];
            struct val *row = &v[n * ENTRY_COLUMNS];

            row[0] = v_uuid(&d->campaign);
            row[1] = V_INT(entry->number);
            row[2] = v_uuid(&entry->purchase);
            row[3] = entry->rank ? V_INT(entry->rank) : V_NULL;
        }
        e = tx_bulk(tx, STMT_draw_entry_add, v, n, ENTRY_COLUMNS, NULL, NULL);
    }
    return e;
}

static enum err draw_audit(struct tx *tx, const struct drawing *d, int64_t now_ms)
{
    char id[UUID_TEXT + 1], detail[160];

    uuid_text(d->campaign, id);
    snprintf(detail, sizeof(detail), "%zu entries, digest %s, at most %zu winners", d->n, d->digest,
             d->winners);
    LOG_AFTER_COMMIT(tx, LOG_INFO, "Campaign drawn", LOG_TEXT("campaignId", str_of(id)),
                     LOG_NUM("entries", (int64_t)d->n), LOG_TEXT("digest", str_of(d->digest)));
    return TX_DO(tx, STMT_campaign_audit, 1, V_INT(now_ms), V_TEXT(S("DRAW")), V_TEXT(str_of(id)),
                 V_TEXT(str_of(detail)), V_NULL);
}

static enum err draw_run(struct tx *tx, struct payments *pp, struct drawing *d, int64_t now_ms)
{
    enum err e = draw_read_entries(tx, d);

    if (e)
        return e;
    draw_pick(d->seed, d->entries, d->n, d->winners, d->digest);
    e = TX_DO(tx, STMT_draw_add, 1, v_uuid(&d->campaign), V_INT((int64_t)d->n),
              V_TEXT(str_of(d->digest)), V_INT(now_ms));
    if (!e)
        e = draw_store_entries(tx, d);
    fault_point(&pp->runtime.env->faults, "campaign.draw");
    if (!e)
        e = draw_audit(tx, d, now_ms);
    return e ? e : notify_later(tx, pp, d->campaign, 0, now_ms);
}

static enum err draw_campaign(struct tx *tx, struct payments *pp, struct uuid campaign,
                              int64_t now_ms)
{
    CLEANUP(arena_release) struct arena a = { 0 };
    struct drawing d = { .campaign = campaign };
    enum err e = draw_begin(tx, &d, now_ms);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e; /* drawn before, or cancelled: (1) */
    arena_init(&a, DRAW_ARENA);
    d.entries = arena_alloc(&a, POSITIONS_MAX, sizeof(*d.entries));
    return d.entries ? draw_run(tx, pp, &d, now_ms) : ERR_NO_MEMORY;
}

/* --- notifying --- */

struct draw_person {
    int64_t number, rank;
    struct uuid purchase, user, payment;
};

struct draw_people {
    struct draw_person all[LIMIT_TOLD];
    size_t n;
};

static enum err draw_people_add(void *ctx, const struct row *row)
{
    struct draw_people *p = ctx;
    struct draw_person *one = &p->all[p->n++];

    one->number = row->col[0].i;
    one->rank = row->col[2].type == VAL_INT ? row->col[2].i : 0;
    return uuid_of_bytes(row->col[1].s, &one->purchase) &&
                   uuid_of_bytes(row->col[3].s, &one->user) &&
                   uuid_of_bytes(row->col[4].s, &one->payment)
               ? OK
               : ERR_INTERNAL;
}

static enum err notify_person(struct tx *tx, struct payments *pp, struct arena *a,
                              struct uuid campaign, const struct draw_person *p, int64_t now_ms)
{
    struct notice n = { .type = p->rank ? NOTICE_LOTTERY_WON : NOTICE_LOTTERY_LOST,
                        .subject = p->purchase,
                        .user = &p->user,
                        .payment = &p->payment,
                        .campaign = &campaign,
                        .purchase = &p->purchase,
                        .rank = p->rank };

    return notice_add(tx, &pp->notifier, a, &n, now_ms, NULL);
}

static enum err notify_people(struct tx *tx, struct payments *pp, struct uuid campaign,
                              int64_t after, int64_t now_ms)
{
    struct val v[] = { v_uuid(&campaign), V_INT(after), V_INT(LIMIT_TOLD) };
    struct draw_people people = { .n = 0 };
    struct arena a;
    enum err e = tx_each(tx, STMT_draw_people, v, COUNT(v), draw_people_add, &people);

    arena_init(&a, NOTIFY_ARENA);
    for (size_t i = 0; !e && i < people.n; i++)
        e = notify_person(tx, pp, &a, campaign, &people.all[i], now_ms);
    arena_release(&a);
    fault_point(&pp->runtime.env->faults, "campaign.tell");
    if (e || people.n < LIMIT_TOLD)
        return e;
    return notify_later(tx, pp, campaign, people.all[people.n - 1].number, now_ms);
}

/* --- the job --- */

static enum err draw_job_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct payments *pp = ctx;
    int64_t now_ms = env_now_ms(pp->runtime.env), after;
    struct uuid campaign;

    if (!uuid_parse(m->ref, &campaign))
        return why_err(why, ERR_VALIDATION, "the message names no campaign");
    if (!m->body.n)
        return draw_campaign(tx, pp, campaign, now_ms);
    if (str_to_i64(m->body, &after))
        return notify_people(tx, pp, campaign, after, now_ms);
    return why_err(why, ERR_VALIDATION, "the message says not from where to tell");
}

struct job_kind draw_kind(struct payments *pp)
{
    return (struct job_kind){
        .name = "campaign.draw", .run = draw_job_run, .ctx = pp, .retry = retry_table[RETRY_PLANNED]
    };
}

/* --- what is published --- */

static enum err out_entry(void *ctx, const struct row *row)
{
    struct buf *b = ctx;
    struct uuid purchase;

    if (!uuid_of_bytes(row->col[1].s, &purchase))
        return ERR_INTERNAL;
    if (b->n && b->p[b->n - 1] == '}')
        buf_char(b, ',');
    buf_char(b, '{');
    out_int(b, "number", row->col[0].i);
    out_uuid(b, "purchaseId", purchase);
    out_amount(b, "rank", row->col[2].type == VAL_INT ? row->col[2].i : -1);
    buf_char(b, '}');
    return OK;
}

static enum err out_entries(struct tx *tx, struct buf *b, const char *name, enum stmt stmt,
                            struct uuid campaign)
{
    struct val id = v_uuid(&campaign);
    enum err e;

    out_name(b, name);
    buf_char(b, '[');
    e = tx_each(tx, stmt, &id, 1, out_entry, b);
    buf_char(b, ']');
    return e;
}

static void out_draw(struct buf *b, struct uuid campaign, const struct row *row)
{
    char seed[2 * DRAW_SEED + 1];

    *hex_put(seed, (const unsigned char *)row->col[1].s.p, DRAW_SEED) = '\0';
    out_uuid(b, "campaignId", campaign);
    out_text(b, "algorithm", S("ichido-draw-1"));
    out_text(b, "commitment", row->col[0].s);
    out_text(b, "seed", str_of(seed));
    out_int(b, "winnersWanted", row->col[2].i);
    out_int(b, "entryCount", row->col[3].i);
    out_text(b, "entriesDigest", row->col[4].s);
    out_time(b, "drawnAt", row->col[5].i);
}

enum err draw_json(struct tx *tx, struct arena *a, struct uuid campaign, struct str *ret_json)
{
    struct row row;
    struct buf b;
    enum err e = TX_ROW(tx, STMT_draw_get, &row, v_uuid(&campaign));

    if (e)
        return e;
    if (row.col[1].s.n != DRAW_SEED)
        return ERR_INTERNAL;
    buf_init(&b, DRAW_JSON_MAX);
    buf_char(&b, '{');
    out_draw(&b, campaign, &row);
    e = out_entries(tx, &b, "winners", STMT_draw_winners_of, campaign);
    if (!e)
        e = out_entries(tx, &b, "entries", STMT_draw_entries_of, campaign);
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e || ret_json->p ? e : ERR_NO_MEMORY;
}
