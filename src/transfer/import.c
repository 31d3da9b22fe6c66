/* import.c - imports a bank's CSV in steps; import.h has the rules.
 *
 * On PostgreSQL a step adds its lines in the order of their identities, then locks the payments
 * they are for in the order of their ids, then applies the lines in the file's order. Two imports
 * at once therefore wait for each other, but never deadlock. */
#include "transfer/import.h"

#include "base/hex.h"
#include "base/json/write.h"
#include "domain/bank_value.h"
#include "domain/day.h"
#include "store/values.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST = 32, PAYER_ROOM = 256, JSON_MAX = 256 * 1024, DETAIL_ROOM = 320 };

void transfer_import_begin(struct transfer_import *im)
{
    arena_init(&im->arena, LIMIT_BANK_ARENA);
    arena_init(&im->work, LIMIT_BANK_ARENA);
    json_problems_init(&im->problems);
    im->problems.language = im->language;
    im->new_id = env_uuid(im->payments->runtime.env);
}

void transfer_import_end(struct transfer_import *im)
{
    json_problems_release(&im->problems);
    arena_release(&im->arena);
    arena_release(&im->work);
}

/* --- reading --- */

static bool import_hash_file(struct transfer_import *im)
{
    unsigned char digest[DIGEST];
    unsigned int n = 0;

    if (!EVP_Digest(im->csv.p, im->csv.n, digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        return false;
    *hex_put(im->hash, digest, DIGEST) = '\0';
    return true;
}

static void import_charset_problem(struct transfer_import *im, int line)
{
    char field[32];

    snprintf(field, sizeof(field), "line %d", line);
    json_problem_in(&im->problems, field,
                    im->charset == CHARSET_UTF8        ? "is not UTF-8"
                    : im->charset == CHARSET_SHIFT_JIS ? "is not Shift_JIS"
                                                       : "is neither UTF-8 nor Shift_JIS",
                    "UTF-8 または Shift_JIS として読めません");
}

static enum err import_decode(struct transfer_import *im, struct str *ret_text)
{
    int line = 0;
    enum err e;

    if (memchr(im->csv.p, '\0', im->csv.n)) {
        json_problem_in(&im->problems, "file",
                        "has NUL bytes: it is not a CSV in UTF-8 or Shift_JIS",
                        "NUL バイトがあります。UTF-8 または Shift_JIS の CSV ではありません");
        return ERR_VALIDATION;
    }
    e = charset_decode(&im->arena, im->charset, im->csv, ret_text, &line);
    if (e == ERR_VALIDATION)
        import_charset_problem(im, line);
    return e;
}

enum err transfer_import_read(struct tx *tx, struct transfer_import *im)
{
    struct str text;
    struct row row;
    enum err e;

    arena_release(&im->arena);
    json_problems_release(&im->problems);
    json_problems_init(&im->problems);
    im->problems.language = im->language;
    im->has_id = false;
    if (!import_hash_file(im))
        return ERR_INTERNAL;
    e = import_decode(im, &text);
    if (!e)
        e = bank_file_read(&im->arena, text, &im->how, &im->problems, &im->file);
    if (e == ERR_VALIDATION && im->problems.count)
        return OK;
    if (e)
        return e;
    e = TX_ROW(tx, STMT_import_of_hash, &row, V_TEXT(str_of(im->hash)));
    if (e && e != ERR_NOT_FOUND)
        return e;
    if (!e)
        im->has_id = uuid_of_bytes(row.col[0].s, &im->id);
    im->at = im->from < im->file.count ? im->from : im->file.count;
    im->end =
        im->limit && im->file.count - im->at > im->limit ? im->at + im->limit : im->file.count;
    im->would =
        im->dry_run ? arena_alloc(&im->arena, im->file.count + 1, sizeof(*im->would)) : NULL;
    return !im->dry_run || im->would ? OK : ERR_NO_MEMORY;
}

/* --- one step --- */

struct import_line { /* one line of a step */
    const struct bank_line *line;
    struct uuid id;
    enum bank_match match;
    struct uuid payment;
    bool is_new;
};

static enum err import_insert(struct tx *tx, struct transfer_import *im)
{
    char first[DAY_TEXT + 1], last[DAY_TEXT + 1];
    const struct bank_file *f = &im->file;
    struct row row;
    enum err e;

    day_text(f->first_day, first);
    day_text(f->last_day, last);
    e = TX_ROW(tx, STMT_import_add, &row, v_uuid(&im->new_id), V_TEXT(str_of(im->hash)),
               V_TEXT(im->name), V_TEXT(im->how.account), V_TEXT(str_of(im->how.currency)),
               v_uuid(&im->user), V_INT((int64_t)f->count), V_INT((int64_t)f->ignored),
               f->count ? V_TEXT(str_of(first)) : V_NULL, f->count ? V_TEXT(str_of(last)) : V_NULL,
               V_INT(env_now_ms(tx_env(tx))));
    return e == ERR_NOT_FOUND ? OK : e; /* the same file was or is being imported */
}

static enum err import_insert_or_find(struct tx *tx, struct transfer_import *im)
{
    struct row row;
    enum err e = import_insert(tx, im);

    if (!e)
        e = TX_ROW(tx, STMT_import_of_hash, &row, V_TEXT(str_of(im->hash)));
    if (e)
        return e;
    return uuid_of_bytes(row.col[0].s, &im->step.import_id) ? OK : ERR_INTERNAL;
}

static enum err import_line_match(struct tx *tx, const struct transfer_import *im,
                                  struct import_line *t)
{
    struct line_view v = { .text = t->line->text,
                           .amount = t->line->amount,
                           .currency = im->how.currency };

    return line_match(tx, &v, &t->match, &t->payment);
}

static enum err import_line_insert(struct tx *tx, const struct transfer_import *im,
                                   struct import_line *t)
{
    const struct bank_line *l = t->line;
    char day[DAY_TEXT + 1], room[PAYER_ROOM];
    struct str identity = { (const char *)l->identity, BANK_IDENTITY };
    struct row row;
    enum err e;

    day_text(l->days, day);
    e = TX_ROW(tx, STMT_line_add, &row, v_uuid(&t->id), V_BLOB(identity),
               v_uuid(&im->step.import_id), V_INT(l->line), V_TEXT(str_of(day)), V_INT(l->amount),
               V_TEXT(str_of(im->how.currency)), V_TEXT(l->text),
               l->has_balance ? V_INT(l->balance) : V_NULL, v_text(l->id),
               v_text(bank_payer(l->text, room, sizeof(room))),
               V_TEXT(str_of(bank_match_name(t->match))), V_INT(env_now_ms(tx_env(tx))));
    t->is_new = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

static int import_line_by_identity(const void *x, const void *y)
{
    const struct import_line *a = *(const struct import_line *const *)x,
                             *b = *(const struct import_line *const *)y;

    return memcmp(a->line->identity, b->line->identity, BANK_IDENTITY);
}

static enum err import_add_lines(struct tx *tx, struct transfer_import *im, struct import_line *all,
                                 size_t n)
{
    struct import_line *sorted[LIMIT_BANK_STEP];
    enum err e = OK;

    for (size_t i = 0; i < n; i++)
        sorted[i] = &all[i];
    qsort(sorted, n, sizeof(struct import_line *), import_line_by_identity);
    for (size_t i = 0; !e && i < n; i++) {
        e = import_line_match(tx, im, sorted[i]);
        if (!e)
            e = import_line_insert(tx, im, sorted[i]);
    }
    return e;
}

static bool import_match_moves(enum bank_match m)
{
    return m == BANK_TAKE || m == BANK_EXPLAIN;
}

static enum err import_lock_payments(struct tx *tx, const struct import_line *all, size_t n)
{
    struct uuid ids[LIMIT_BANK_STEP];
    struct val v[LIMIT_BANK_STEP];
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (all[i].is_new && import_match_moves(all[i].match))
            ids[count++] = all[i].payment;
    qsort(ids, count, sizeof(ids[0]), uuid_order);
    for (size_t i = 0; i < count; i++)
        v[i] = v_uuid(&ids[i]);
    return count ? tx_bulk(tx, STMT_payments_lock, v, count, 1, NULL, NULL) : OK;
}

static struct import_left import_line_left(const struct import_line *t)
{
    return (struct import_left){ .line = t->line->line,
                                 .days = t->line->days,
                                 .amount = t->line->amount,
                                 .text = t->line->text,
                                 .reason = t->match };
}

static void import_leave_line(struct transfer_import *im, const struct import_line *t)
{
    im->step.lefts[im->step.left_count++] = import_line_left(t);
    im->step.sums.left++;
}

/* True: the line cannot be distinguished from an equal deposit of the same day. */
static bool import_line_is_plain(const struct import_line *t)
{
    return !t->line->has_balance && !t->line->id.n;
}

/* Counts a known line. If this file itself added it, it is certainly the same deposit. */
static void import_count_known(struct transfer_import *im, const struct import_line *t,
                               const struct uuid *this_import, struct uuid brought_by)
{
    im->step.sums.known++;
    if (!import_line_is_plain(t) || (this_import && uuid_eq(*this_import, brought_by)))
        return;
    im->step.alikes[im->step.alike_count++] = import_line_left(t);
    im->step.sums.alike++;
}

/* NOT_FOUND: the line is new. */
static enum err import_find_known(struct tx *tx, const struct import_line *t,
                                  struct uuid *ret_import)
{
    struct str identity = { (const char *)t->line->identity, BANK_IDENTITY };
    struct row row;
    enum err e = TX_ROW(tx, STMT_line_known, &row, V_BLOB(identity));

    if (e)
        return e;
    return uuid_of_bytes(row.col[0].s, ret_import) ? OK : ERR_INTERNAL;
}

static enum err import_pass_known(struct tx *tx, struct transfer_import *im,
                                  const struct import_line *t)
{
    struct uuid import = im->step.import_id;
    enum err e = import_line_is_plain(t) ? import_find_known(tx, t, &import) : OK;

    if (!e)
        import_count_known(im, t, &im->step.import_id, import);
    return e == ERR_NOT_FOUND ? ERR_INTERNAL : e;
}

/* The match may have changed meanwhile, for example by an earlier line of this file. */
static enum err import_leave_open(struct tx *tx, struct transfer_import *im,
                                  const struct transfer_act *a, struct import_line *t)
{
    import_leave_line(im, t);
    return line_decide(tx, a, t->id, LINE_OPEN, LINE_OPEN, str_of(bank_match_name(t->match)), NULL,
                       (struct str){ 0 });
}

static enum err import_take_money(struct tx *tx, struct transfer_act *a,
                                  const struct transfer_import *im, const struct import_line *t,
                                  struct str *ret_reason)
{
    char detail[DETAIL_ROOM], day[DAY_TEXT + 1];
    enum transfer_state state = TRANSFER_RECEIVED;
    struct str name = im->name;
    enum err e;

    name.n = name.n < 200 ? name.n : 200;
    while (name.n && name.n < im->name.n && ((unsigned char)im->name.p[name.n] & 0xc0) == 0x80)
        name.n--;
    day_text(t->line->days, day);
    snprintf(detail, sizeof(detail), "matched by its reference, %s: line %d of " STR_FMT, day,
             t->line->line, STR_ARG(name));
    *ret_reason = str_of(bank_match_name(t->match));
    if (t->match == BANK_EXPLAIN)
        return transfer_explain(tx, a, t->payment, t->id, str_of(detail));
    e = transfer_take(tx, a, t->payment, str_of(day), &t->id, str_of(detail), &state);
    if (state == TRANSFER_RETURNING)
        *ret_reason = S("too_late");
    return e;
}

static enum err import_take_line(struct tx *tx, struct transfer_import *im, struct transfer_act *a,
                                 struct import_line *t)
{
    struct str reason;
    enum err e;

    if (!import_match_moves(t->match)) {
        import_leave_line(im, t);
        return OK;
    }
    e = import_line_match(tx, im, t); /* again, under the payment's lock */
    if (e)
        return e;
    if (!import_match_moves(t->match))
        return import_leave_open(tx, im, a, t);
    e = import_take_money(tx, a, im, t, &reason);
    if (a->why_en) { /* rejected, nothing was written; UNCERTAIN: the payment is being cancelled */
        t->match = e == ERR_UNCERTAIN ? BANK_PAYMENT_ENDED : BANK_ALREADY_PAID;
        return import_leave_open(tx, im, a, t);
    }
    im->step.sums.matched += !e;
    return e ? e
             : line_decide(tx, a, t->id, LINE_OPEN, LINE_MATCHED, reason, &t->payment,
                           (struct str){ 0 });
}

static enum err import_take_lines(struct tx *tx, struct transfer_import *im,
                                  struct import_line *all, size_t n)
{
    enum err e = import_lock_payments(tx, all, n);

    for (size_t i = 0; !e && i < n; i++) {
        struct transfer_act a = { .payments = im->payments, .arena = &im->work, .user = im->user };

        if (all[i].is_new)
            e = import_take_line(tx, im, &a, &all[i]);
        else
            e = import_pass_known(tx, im, &all[i]);
        im->step.sums.added += all[i].is_new;
    }
    return e;
}

static enum err import_audit(struct tx *tx, const struct transfer_import *im)
{
    char id[UUID_TEXT + 1];

    uuid_text(im->step.import_id, id);
    return TX_DO(tx, STMT_audit_bank, 1, V_INT(env_now_ms(tx_env(tx))),
                 V_TEXT(S("TRANSFER_IMPORT")), V_TEXT(str_of(id)), V_TEXT(im->name),
                 v_uuid(&im->user), V_INT((int64_t)im->file.count));
}

static enum err import_count_step(struct tx *tx, const struct transfer_import *im, bool last)
{
    struct uuid id = im->step.import_id;
    enum err e = last ? import_audit(tx, im) : OK;

    return e ? e
             : TX_DO(tx, STMT_import_count, 1, V_INT(im->step.sums.added),
                     V_INT(im->step.sums.matched), last ? V_INT(env_now_ms(tx_env(tx))) : V_NULL,
                     v_uuid(&id));
}

/* --- dry run --- */

static enum err import_try_line(struct tx *tx, struct transfer_import *im, struct import_line *t)
{
    struct uuid import;
    enum err e = import_find_known(tx, t, &import);

    if (!e)
        import_count_known(im, t, im->has_id ? &im->id : NULL, import);
    if (e != ERR_NOT_FOUND)
        return e;
    im->step.sums.added++;
    e = import_line_match(tx, im, t);
    if (!e && import_match_moves(t->match)) {
        im->step.sums.matched++;
        im->step.paid[im->step.paid_count++] = t->payment;
    } else if (!e) {
        import_leave_line(im, t);
    }
    return e;
}

static enum err import_try_lines(struct tx *tx, struct transfer_import *im, struct import_line *all,
                                 size_t n)
{
    enum err e = OK;

    for (size_t i = 0; !e && i < n; i++)
        e = import_try_line(tx, im, &all[i]);
    return e;
}

/* --- steps --- */

bool transfer_import_next(struct transfer_import *im)
{
    size_t left = im->end - im->at;
    bool only_noted = !im->file.count && !im->has_id && !im->dry_run; /* a file without deposits */

    if (im->problems.count || (!left && !only_noted))
        return false;
    im->step.count = left < LIMIT_BANK_STEP ? left : LIMIT_BANK_STEP;
    for (size_t i = 0; i < im->step.count; i++)
        im->step.ids[i] = env_uuid(im->payments->runtime.env);
    return true;
}

enum err transfer_import_step(struct tx *tx, struct transfer_import *im)
{
    struct import_line all[LIMIT_BANK_STEP];
    size_t n = im->step.count;
    enum err e;

    arena_release(&im->work);
    im->step.sums = (struct import_sums){ .worked = (int64_t)n };
    im->step.left_count = im->step.alike_count = im->step.paid_count = 0;
    for (size_t i = 0; i < n; i++)
        all[i] = (struct import_line){ .line = &im->file.lines[im->at + i], .id = im->step.ids[i] };
    if (im->dry_run)
        return import_try_lines(tx, im, all, n);
    e = import_insert_or_find(tx, im);
    if (e)
        return e;
    e = import_add_lines(tx, im, all, n);
    if (e)
        return e;
    e = import_take_lines(tx, im, all, n);
    if (e)
        return e;
    e = fault_point(&tx_env(tx)->faults, "transfer.step");
    return e ? e : import_count_step(tx, im, im->at + n == im->file.count);
}

void transfer_import_took(struct transfer_import *im)
{
    const struct import_sums *s = &im->step.sums;

    im->sums.worked += s->worked;
    im->sums.added += s->added;
    im->sums.known += s->known;
    im->sums.matched += s->matched;
    im->sums.left += s->left;
    im->sums.alike += s->alike;
    for (size_t i = 0; i < im->step.left_count && im->left_count < LIMIT_BANK_LEFT; i++)
        im->lefts[im->left_count++] = im->step.lefts[i];
    for (size_t i = 0; i < im->step.alike_count && im->alike_count < LIMIT_BANK_LEFT; i++)
        im->alikes[im->alike_count++] = im->step.alikes[i];
    for (size_t i = 0; i < im->step.paid_count; i++)
        im->would[im->would_count++] = im->step.paid[i];
    im->at += im->step.count;
    if (im->dry_run)
        return;
    im->id = im->step.import_id;
    im->has_id = true;
}

/* --- the result --- */

/* Of two lines of one file for the same payment, the second would find it paid. */
static void import_count_doubles(struct transfer_import *im)
{
    if (!im->would_count)
        return;
    qsort(im->would, im->would_count, sizeof(*im->would), uuid_order);
    for (size_t i = 1; i < im->would_count; i++)
        if (uuid_eq(im->would[i], im->would[i - 1])) {
            im->sums.matched--;
            im->sums.left++;
        }
    im->would_count = 0;
}

static void import_out_day(struct buf *b, const char *name, bool there, int64_t days)
{
    char text[DAY_TEXT + 1];

    day_text(days, text);
    out_text(b, name, there ? str_of(text) : (struct str){ 0 });
}

static void import_out_lines(struct buf *b, const char *name, const struct import_left *all,
                             size_t count, bool with_reason)
{
    out_json(b, name, S("["));
    for (size_t i = 0; i < count; i++) {
        const struct import_left *l = &all[i];

        buf_add(b, i ? S(",{") : S("{"));
        out_int(b, "line", l->line);
        import_out_day(b, "date", true, l->days);
        out_int(b, "amount", l->amount);
        out_name(b, "text");
        buf_json(b, l->text);
        if (with_reason)
            out_text(b, "reason", str_of(bank_match_name(l->reason)));
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

struct str transfer_import_json(struct transfer_import *im, struct arena *a)
{
    const struct bank_file *f = &im->file;
    struct buf b;

    import_count_doubles(im);
    buf_init(&b, JSON_MAX);
    buf_char(&b, '{');
    if (im->has_id)
        out_uuid(&b, "importId", im->id);
    else
        out_json(&b, "importId", S("null"));
    out_text(&b, "name", im->name);
    out_bool(&b, "dryRun", im->dry_run);
    out_int(&b, "deposits", (int64_t)f->count);
    out_int(&b, "ignored", (int64_t)f->ignored);
    import_out_day(&b, "firstDate", f->count, f->first_day);
    import_out_day(&b, "lastDate", f->count, f->last_day);
    out_int(&b, "worked", im->sums.worked);
    out_int(&b, "new", im->sums.added);
    out_int(&b, "known", im->sums.known);
    out_int(&b, "matched", im->sums.matched);
    out_int(&b, "open", im->sums.left);
    import_out_lines(&b, "left", im->lefts, im->left_count, true);
    out_int(&b, "alike", im->sums.alike);
    import_out_lines(&b, "alikeLines", im->alikes, im->alike_count, false);
    if (im->at < f->count)
        out_int(&b, "next", (int64_t)im->at);
    else
        out_json(&b, "next", S("null"));
    buf_char(&b, '}');
    return out_done(&b, a);
}
