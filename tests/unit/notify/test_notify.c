/* From a notification to its transports: whom it reaches, once, whatever the transports say. */
#include "base/time/civil.h"
#include "collection/reminder.h"
#include "domain/day.h"
#include "notify/notification.h"
#include "notify/notify.h"
#include "payment/rows.h"
#include "unit/queue/rig.h"

/* --- transports that do as the test says --- */

struct fake {
    struct transport transport;
    enum told told;
    int64_t retry_after_ms;
    bool hangs;
    struct parcel_out *held[64];
    size_t held_count;
    int sent; /* how often somebody was told, or may have been */
    char last[512];
};

static struct {
    struct rig *rig;
    struct payments payments;
    struct notify notify;
    struct job_kind kinds[4];
    struct fake fakes[CHANNELS];
} w;

struct coming {
    struct task task;
    struct parcel_out *parcel;
};

static void comes_back(struct task *t)
{
    struct parcel_out *p = CONTAINER_OF(t, struct coming, task)->parcel;

    p->done(p);
}

static void answer(struct fake *f, struct parcel_out *p)
{
    struct coming *c = arena_alloc(p->arena, 1, sizeof(*c));

    p->told = f->told;
    p->retry_after_ms = f->retry_after_ms;
    why_set(&p->why, f->told == TOLD_SENT ? "" : "because of the test");
    *c = (struct coming){ .task = { .run = comes_back }, .parcel = p };
    executor_post(p->executor, &c->task);
}

static void fake_send(struct transport *t, struct parcel_out *p)
{
    struct fake *f = CONTAINER_OF(t, struct fake, transport);

    f->sent++;
    snprintf(f->last, sizeof(f->last), STR_FMT "|" STR_FMT "|%s|" STR_FMT "|" STR_FMT "|" STR_FMT,
             STR_ARG(p->target), STR_ARG(p->type), p->is_japanese ? "ja" : "en", STR_ARG(p->title),
             STR_ARG(p->body), STR_ARG(p->data));
    if (!f->hangs) {
        answer(f, p);
        return;
    }
    assert_true(f->held_count < COUNT(f->held));
    f->held[f->held_count++] = p;
}

/* The runner does not see our own units: what is under way and not held has one. */
static void settle(void)
{
    for (;;) {
        int busy = 0;

        rig_settle(w.rig);
        for (int c = 0; c < CHANNELS; c++)
            busy += w.notify.turns[c].under_way - (int)w.fakes[c].held_count;
        if (!busy)
            return;
        desk_next(&w.rig->den.desk);
    }
}

static void pass(int64_t ms)
{
    rig_pass(w.rig, ms);
    settle();
}

static void let_go(struct fake *f)
{
    size_t n = f->held_count;

    f->held_count = 0;
    for (size_t i = 0; i < n; i++)
        answer(f, f->held[i]);
    settle();
}

static void begin(void **state, unsigned channels)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.notify.runtime = &w.payments.runtime;
    w.notify.reminder_holds = reminder_holds;
    for (enum channel c = 0; c < CHANNELS; c++) {
        w.kinds[1 + c] = notify_send_kind(&w.notify, c);
        w.fakes[c] = (struct fake){ .transport = { channel_name(c), fake_send, NULL },
                                    .retry_after_ms = -1 };
        if (channels & CHANNEL_BIT(c))
            w.notify.transports[c] = &w.fakes[c].transport;
    }
    w.kinds[0] = notify_kind(&w.notify);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = w.kinds, .kind_count = COUNT(w.kinds) });
    w.payments = (struct payments){ .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .runtime.queue = w.rig->queue[0],
                                    .runtime.executor = &w.rig->den.desk.executor,
                                    .notifier.runtime = &w.payments.runtime,
                                    .notifier.language = LANG_JA,
                                    .notifier.has_channel = true };
}

enum { MAIL = 1, PUSH = 2, HOOK = 4, ALL_OF_THEM = 7 };

/* --- people, and what they are told --- */

static enum err do_put(struct tx *tx, void *ctx)
{
    struct arena a;
    struct contact_put put;
    enum err e;

    arena_init(&a, 1 << 20);
    e = contact_put(tx, &a, ctx, env_now_ms(&w.rig->env[0]), &put);
    arena_release(&a);
    return e;
}

static void person(struct uuid user, const char *email, const char *channels, const char *token)
{
    struct str tokens[] = { str_of(token) };
    struct contact c = { .user = user,
                         .email = str_of(email),
                         .channels = channels_of(str_of(channels)),
                         .tokens = tokens,
                         .token_count = token ? 1 : 0 };

    assert_int_equal(rig_do(w.rig, 0, do_put, &c), OK);
}

static enum err do_forget(struct tx *tx, void *ctx)
{
    struct contact_forget f = { .user = *(struct uuid *)ctx, .job = env_uuid(&w.rig->env[0]) };

    return contact_forget(tx, w.rig->queue[0], &f, env_now_ms(&w.rig->env[0]));
}

struct participant_row {
    struct uuid id;
    const struct uuid *user;
    const char *email;
};

static enum err do_participant(struct tx *tx, void *ctx)
{
    const struct participant_row *p = ctx;
    struct val v[] = { v_uuid(&p->id),
                       v_uuid(&p->id),
                       V_TEXT(S("A")),
                       v_text(str_of(p->email)),
                       p->user ? v_uuid(p->user) : V_NULL,
                       V_INT(100),
                       V_INT(1) };

    return tx_bulk(tx, STMT_participant_put, v, 1, COUNT(v), NULL, NULL);
}

static enum err do_pay(struct tx *tx, void *ctx)
{
    return TX_DO(tx, STMT_participant_paid, 1, V_INT(100), V_INT(0), V_INT(2),
                 v_uuid((struct uuid *)ctx));
}

static struct uuid participant(const struct uuid *user, const char *email)
{
    struct participant_row p = { .id = env_uuid(&w.rig->env[0]), .user = user, .email = email };

    assert_int_equal(rig_do(w.rig, 0, do_participant, &p), OK);
    return p.id;
}

static enum err do_tell(struct tx *tx, void *ctx)
{
    struct arena a;
    enum err e;

    arena_init(&a, 1 << 20);
    e = notice_add(tx, &w.payments.notifier, &a, ctx, env_now_ms(&w.rig->env[0]), NULL);
    arena_release(&a);
    return e;
}

static void tell(struct notice n)
{
    if (uuid_eq(n.subject, (struct uuid){ { 0 } }))
        n.subject = env_uuid(&w.rig->env[0]);
    assert_int_equal(rig_do(w.rig, 0, do_tell, &n), OK);
}

static void tell_user(struct uuid user)
{
    tell((struct notice){ .type = NOTICE_PURCHASE_CONFIRMED, .user = &user });
}

static void run(void)
{
    queue_start(w.rig->queue[0]);
    settle();
}

static int64_t count(const char *rest)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", rest);
    return sql_int(w.rig, sql);
}

/* All sends, like "mail:a@b:sent;push:x:sent". Whom a send that was skipped was for is not known.
 */
static const char *sends(void)
{
    static char text[4096];

    sql_text(w.rig,
             w.rig->postgres
                 ? "SELECT coalesce(string_agg(channel || ':' || CASE WHEN status = 'skipped' THEN"
                   " '' ELSE target END || ':' || status, ';' ORDER BY channel, created_at, id),"
                   " '') FROM sends"
                 : "SELECT coalesce(group_concat(x, ';'), '') FROM (SELECT channel || ':' || CASE"
                   " WHEN status = 'skipped' THEN '' ELSE target END || ':' || status AS x"
                   " FROM sends ORDER BY channel, created_at, id)",
             text, sizeof(text));
    return text;
}

/* --- whom it reaches --- */

static void n1_it_goes_where_the_person_wants_it(void **state)
{
    static const struct {
        const char *why;
        bool has_user, has_contact;
        const char *email, *channels, *token, *participant;
        unsigned server;
        const char *want;
    } rows[] = {
        { "every channel", true, true, "a@b.jp", "mail,push,webhook", "tok", NULL, ALL_OF_THEM,
          "mail:a@b.jp:waiting;push:tok:waiting;webhook::waiting" },
        { "also what only another node has", true, true, "a@b.jp", "mail,push,webhook", "tok", NULL,
          PUSH, "mail:a@b.jp:waiting;push:tok:waiting;webhook::waiting" },
        { "only what the person wants", true, true, "a@b.jp", "mail", "tok", NULL, ALL_OF_THEM,
          "mail:a@b.jp:waiting" },
        { "push without a device", true, true, NULL, "push", NULL, NULL, ALL_OF_THEM, "" },
        { "nothing", true, true, "a@b.jp", "", "tok", NULL, ALL_OF_THEM, "" },
        { "no contact", true, false, NULL, NULL, NULL, NULL, ALL_OF_THEM, "webhook::waiting" },
        { "no contact, no webhook", true, false, NULL, NULL, NULL, NULL, MAIL | PUSH, "" },
        { "a participant's own address", false, false, NULL, NULL, NULL, "p@b.jp", ALL_OF_THEM,
          "mail:p@b.jp:waiting;webhook::waiting" },
        { "a participant without one", false, false, NULL, NULL, NULL, "", ALL_OF_THEM,
          "webhook::waiting" },
        { "a participant's user", true, true, "a@b.jp", "mail,push", "tok", "p@b.jp", ALL_OF_THEM,
          "mail:a@b.jp:waiting;push:tok:waiting" },
        { "a participant's user who wants no mail", true, true, NULL, "push", "tok", "p@b.jp",
          ALL_OF_THEM, "push:tok:waiting" },
        { "a participant's user who wants nothing", true, true, NULL, "", NULL, "p@b.jp",
          ALL_OF_THEM, "" },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig *rig = *state;
        struct uuid user, who;
        struct notice n = { .type = NOTICE_PAYMENT_FAILED };

        begin(state, rows[i].server);
        user = env_uuid(&rig->env[0]);
        if (rows[i].has_contact)
            person(user, rows[i].email, rows[i].channels, rows[i].token);
        for (int k = 0; k < CHANNELS; k++)
            w.fakes[k].hangs = true;
        if (rows[i].participant) {
            who = participant(rows[i].has_user ? &user : NULL, rows[i].participant);
            n.participant = &who;
        } else {
            n.user = &user;
        }
        tell(n);
        run();
        sql_text(rig, "UPDATE sends SET status = 'waiting'", (char[8]){ 0 }, 8);
        if (strcmp(sends(), rows[i].want) != 0)
            fail_msg("row %zu: %s: %s", i, rows[i].why, sends());
        for (int k = 0; k < CHANNELS; k++)
            let_go(&w.fakes[k]);
        rig_stop(rig, 0);
        queue_free(rig->queue[0]);
        rig->queue[0] = NULL;
        sql_text(rig, "DELETE FROM sends", (char[8]){ 0 }, 8);
        sql_text(rig, "DELETE FROM message", (char[8]){ 0 }, 8);
        sql_text(rig, "DELETE FROM devices", (char[8]){ 0 }, 8);
    }
}

static void n1_each_channel_is_given_the_words_once(void **state)
{
    struct uuid user;

    begin(state, ALL_OF_THEM);
    user = env_uuid(&w.rig->env[0]);
    person(user, "a@b.jp", "mail,push,webhook", "tok");
    tell_user(user);
    run();
    assert_string_equal(sends(), "mail:a@b.jp:sent;push:tok:sent;webhook::sent");
    for (int c = 0; c < CHANNELS; c++)
        assert_int_equal(w.fakes[c].sent, 1);
    assert_string_equal(w.fakes[CHANNEL_MAIL].last,
                        "a@b.jp|purchase_confirmed|ja|購入が完了しました|"
                        "ポジションの購入が確定しました。|{}");
    assert_int_equal(count("message"), 0);
    assert_int_equal(count("notifications WHERE recorded_at IS NOT NULL"), 1);
    for (unsigned char c = 0; c < CHANNELS; c++)
        assert_int_equal(metrics_read_at(w.rig->env[0].metrics, COUNT_NOTIFICATION, AT(c, 0)), 1);
}

static void n1_a_node_without_transports_leaves_it_to_another_for_a_day(void **state)
{
    begin(state, 0);
    for (int i = 0; i < 100; i++)
        tell_user(env_uuid(&w.rig->env[0]));
    run();
    pass(60 * 60 * 1000);
    assert_int_equal(count("message"), 100);
    assert_int_equal(count("notifications WHERE recorded_at IS NOT NULL"), 0);
    pass(INT64_C(25) * 3600 * 1000);
    assert_int_equal(count("message"), 0);
    assert_int_equal(count("dead_letters") + count("sends"), 0);
    assert_int_equal(count("notifications WHERE recorded_at IS NOT NULL"), 100);
}

static void n1_a_node_with_one_transport_leaves_the_others_to_who_has_them(void **state)
{
    struct uuid user;

    begin(state, PUSH);
    user = env_uuid(&w.rig->env[0]);
    person(user, "a@b.jp", "mail,push", "tok");
    tell_user(user);
    run();
    assert_string_equal(sends(), "mail:a@b.jp:waiting;push:tok:sent");
    w.notify.transports[CHANNEL_MAIL] = &w.fakes[CHANNEL_MAIL].transport;
    pass(60 * 1000);
    assert_string_equal(sends(), "mail:a@b.jp:sent;push:tok:sent");
    assert_int_equal(count("message"), 0);
}

static void n1_many_people_with_many_devices_are_each_told_once(void **state)
{
    begin(state, ALL_OF_THEM);
    for (int i = 0; i < 150; i++) {
        struct uuid user = env_uuid(&w.rig->env[0]);
        char token[32], mail[32];

        snprintf(token, sizeof(token), "tok%d", i);
        snprintf(mail, sizeof(mail), "u%d@b.jp", i);
        person(user, mail, "mail,push", token);
        tell_user(user);
        tell_user(user);
    }
    run();
    for (int i = 0; i < 100 && count("message"); i++)
        pass(LIMIT_SEND_TURN_MS);
    assert_int_equal(count("message"), 0);
    assert_int_equal(count("sends WHERE status = 'sent'"), 600);
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 300);
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 300);
}

/* --- what the transport says --- */

static void n1_what_the_transport_says_decides_the_rest(void **state)
{
    static const struct {
        const char *why;
        unsigned channel;
        enum told told;
        const char *want;
        int messages, devices;
    } rows[] = {
        { "a mailbox that is none", MAIL, TOLD_NEVER, "mail:a@b.jp:failed", 0, 1 },
        { "a mail nobody confirmed", MAIL, TOLD_UNKNOWN, "mail:a@b.jp:unknown", 0, 1 },
        { "a mail that is to come later", MAIL, TOLD_LATER, "mail:a@b.jp:waiting", 1, 1 },
        { "a push nobody confirmed", PUSH, TOLD_UNKNOWN, "push:tok:unknown", 0, 1 },
        { "a device that is gone", PUSH, TOLD_GONE, "push:tok:failed", 0, 0 },
        { "a machine that may have heard it", HOOK, TOLD_UNKNOWN, "webhook::waiting", 1, 1 },
        { "a machine that wants no more", HOOK, TOLD_NEVER, "webhook::failed", 0, 1 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig *rig = *state;
        struct uuid user;

        begin(state, rows[i].channel);
        user = env_uuid(&rig->env[0]);
        person(user, "a@b.jp",
               rows[i].channel == MAIL   ? "mail"
               : rows[i].channel == PUSH ? "push"
                                         : "webhook",
               "tok");
        for (int c = 0; c < CHANNELS; c++)
            w.fakes[c].told = rows[i].told;
        tell_user(user);
        run();
        if (strcmp(sends(), rows[i].want) != 0 || count("message") != rows[i].messages ||
            count("devices") != rows[i].devices)
            fail_msg("row %zu: %s: %s", i, rows[i].why, sends());
        rig_stop(rig, 0);
        queue_free(rig->queue[0]);
        rig->queue[0] = NULL;
        sql_text(rig, "DELETE FROM sends", (char[8]){ 0 }, 8);
        sql_text(rig, "DELETE FROM message", (char[8]){ 0 }, 8);
        sql_text(rig, "DELETE FROM devices", (char[8]){ 0 }, 8);
    }
}

static enum err do_revive(struct tx *tx, void *ctx)
{
    return queue_revive(w.rig->queue[0], tx, env_now_ms(&w.rig->env[0]),
                        &(struct queue_letter){ .id = *(struct uuid *)ctx }, 1);
}

static struct uuid dead_id(void)
{
    char hex[64];
    struct uuid id;

    sql_text(w.rig,
             w.rig->postgres ? "SELECT encode(id, 'hex') FROM dead_letters"
                             : "SELECT hex(id) FROM dead_letters",
             hex, sizeof(hex));
    for (size_t i = 0; i < sizeof(id.b); i++)
        assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &id.b[i]), 1);
    return id;
}

static void n1_it_is_tried_for_about_a_day_then_it_is_a_dead_letter_that_can_be_sent(void **state)
{
    static const int64_t gaps_s[] = { 5, 30, 120, 600, 1800, 3600, 7200, 14400, 21600, 36000 };
    struct uuid user, dead;

    begin(state, MAIL);
    user = env_uuid(&w.rig->env[0]);
    person(user, "a@b.jp", "mail", NULL);
    w.fakes[CHANNEL_MAIL].told = TOLD_LATER;
    tell_user(user);
    run();
    for (size_t i = 0; i < COUNT(gaps_s); i++) {
        assert_int_equal(w.fakes[CHANNEL_MAIL].sent, i + 1);
        pass(gaps_s[i] * 1000 - 1);
        assert_int_equal(w.fakes[CHANNEL_MAIL].sent, i + 1);
        pass(1);
    }
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, COUNT(gaps_s) + 1);
    assert_string_equal(sends(), "mail:a@b.jp:failed");
    assert_int_equal(count("sends WHERE why = 'because of the test' AND tries = 11"), 1);
    assert_int_equal(count("dead_letters WHERE kind = 'notify.mail'"), 1);

    w.fakes[CHANNEL_MAIL].told = TOLD_SENT;
    dead = dead_id();
    assert_int_equal(rig_do(w.rig, 0, do_revive, &dead), OK);
    settle();
    assert_string_equal(sends(), "mail:a@b.jp:sent");
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, COUNT(gaps_s) + 2);
    assert_int_equal(count("dead_letters"), 0);
}

static void n1_a_retry_after_is_waited_for_up_to_an_hour(void **state)
{
    struct uuid user;

    begin(state, PUSH);
    user = env_uuid(&w.rig->env[0]);
    person(user, NULL, "push", "tok");
    w.fakes[CHANNEL_PUSH].told = TOLD_LATER;
    w.fakes[CHANNEL_PUSH].retry_after_ms = 60 * 1000;
    tell_user(user);
    run();
    pass(60 * 1000 - 1);
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 1);
    w.fakes[CHANNEL_PUSH].retry_after_ms = INT64_C(900) * 3600 * 1000;
    pass(1);
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 2);
    pass(3600 * 1000);
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 3);
}

/* --- once --- */

static void n1_who_finds_it_half_sent_tells_no_person_twice_and_a_machine_again(void **state)
{
    struct uuid user;

    begin(state, ALL_OF_THEM);
    user = env_uuid(&w.rig->env[0]);
    person(user, "a@b.jp", "mail,push,webhook", "tok");
    for (int c = 0; c < CHANNELS; c++)
        w.fakes[c].told = TOLD_LATER;
    tell_user(user);
    run();
    sql_text(w.rig, "UPDATE sends SET status = 'sending'", (char[8]){ 0 }, 8); /* then kill -9 */
    for (int c = 0; c < CHANNELS; c++)
        w.fakes[c] = (struct fake){ .transport = w.fakes[c].transport, .retry_after_ms = -1 };
    pass(5000);
    assert_string_equal(sends(), "mail:a@b.jp:unknown;push:tok:unknown;webhook::sent");
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 0);
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 0);
    assert_int_equal(w.fakes[CHANNEL_WEBHOOK].sent, 1);
    assert_int_equal(count("message"), 0);
    assert_int_equal(
        metrics_read_at(w.rig->env[0].metrics, COUNT_NOTIFICATION, AT(CHANNEL_MAIL, 2)), 1);
}

static void n1_a_mark_nobody_confirmed_is_taken_back_since_nothing_was_sent(void **state)
{
    struct uuid user;

    begin(state, MAIL);
    user = env_uuid(&w.rig->env[0]);
    person(user, "a@b.jp", "mail", NULL);
    assert_true(faults_parse(&w.rig->env[0].faults, S("notify.marked=uncertain@1")));
    tell_user(user);
    run();
    assert_string_equal(sends(), "mail:a@b.jp:waiting");
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 0);
    pass(5000);
    assert_string_equal(sends(), "mail:a@b.jp:sent");
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 1);
}

static void n1_the_same_notification_again_makes_no_second_send(void **state)
{
    struct uuid user;

    begin(state, ALL_OF_THEM);
    user = env_uuid(&w.rig->env[0]);
    person(user, "a@b.jp", "mail,push", "tok");
    tell_user(user);
    run();
    sql_text(w.rig,
             "INSERT INTO message (id, kind, due_at, added_at, ready)"
             " SELECT id, 'notify', 0, 0, 1 FROM notifications",
             (char[8]){ 0 }, 8);
    queue_wake(w.rig->queue[0]);
    pass(LIMIT_POLL_MS);
    assert_int_equal(count("message"), 0);
    assert_string_equal(sends(), "mail:a@b.jp:sent;push:tok:sent");
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 1);
}

/* --- the last look --- */

static void wait_with(struct uuid user, const char *email, const char *channels, const char *token)
{
    person(user, email, channels, token);
    for (int c = 0; c < CHANNELS; c++)
        w.fakes[c].told = TOLD_LATER;
    tell_user(user);
    run();
    for (int c = 0; c < CHANNELS; c++)
        w.fakes[c] = (struct fake){ .transport = w.fakes[c].transport, .retry_after_ms = -1 };
}

static void n1_who_was_removed_is_not_told_and_no_address_stays(void **state)
{
    struct uuid user;

    begin(state, ALL_OF_THEM);
    user = env_uuid(&w.rig->env[0]);
    wait_with(user, "a@b.jp", "mail,push,webhook", "tok");
    assert_int_equal(rig_do(w.rig, 0, do_forget, &user), OK);
    assert_string_equal(sends(), "mail::skipped;push::skipped;webhook::skipped");
    pass(5000);
    for (int c = 0; c < CHANNELS; c++)
        assert_int_equal(w.fakes[c].sent, 0);
    assert_int_equal(count("message"), 0);
    assert_int_equal(count("contacts") + count("devices"), 0);
    assert_int_equal(count("sends WHERE target IN ('a@b.jp', 'tok')"), 0);
    assert_int_equal(rig_do(w.rig, 0, do_forget, &user), OK);
    assert_int_equal(count("audit WHERE operation = 'CONTACT_REMOVE'"), 1);
}

static void n1_who_was_forgotten_is_not_told_at_his_organisers_address_by_a_retry(void **state)
{
    struct uuid user, who, dead;

    begin(state, HOOK);
    user = env_uuid(&w.rig->env[0]);
    who = participant(&user, "p@b.jp");
    person(user, "a@b.jp", "mail", NULL);
    w.notify.transports[CHANNEL_MAIL] = &w.fakes[CHANNEL_MAIL].transport;
    w.fakes[CHANNEL_MAIL].told = TOLD_LATER;
    tell((struct notice){ .type = NOTICE_RECEIPT, .participant = &who });
    run();
    sql_text(w.rig, "UPDATE sends SET tries = 11", (char[8]){ 0 }, 8);
    pass(5000);
    assert_string_equal(sends(), "mail:a@b.jp:failed");
    assert_int_equal(rig_do(w.rig, 0, do_forget, &user), OK);
    w.fakes[CHANNEL_MAIL].told = TOLD_SENT;
    dead = dead_id();
    assert_int_equal(rig_do(w.rig, 0, do_revive, &dead), OK);
    settle();
    assert_string_equal(sends(), "mail::skipped");
    assert_int_equal(count("sends WHERE target LIKE '%@%'"), 0);
}

static void n1_what_an_organiser_had_him_told_is_forgotten_too(void **state)
{
    struct participant_row p = { .email = "p@b.jp" };
    struct uuid user;

    begin(state, MAIL);
    user = env_uuid(&w.rig->env[0]);
    p.id = env_uuid(&w.rig->env[0]);
    assert_int_equal(rig_do(w.rig, 0, do_participant, &p), OK);
    tell((struct notice){ .type = NOTICE_RECEIPT, .participant = &p.id });
    run();
    assert_string_equal(sends(), "mail:p@b.jp:sent");
    p.user = &user; /* only now it is known who that is */
    assert_int_equal(rig_do(w.rig, 0, do_participant, &p), OK);
    assert_int_equal(rig_do(w.rig, 0, do_forget, &user), OK);
    assert_int_equal(count("sends WHERE target LIKE '%@%'"), 0);
    assert_int_equal(count("sends WHERE status = 'sent'"), 1);
}

static void n1_a_row_that_lost_its_address_still_says_that_somebody_was_told(void **state)
{
    struct uuid user;

    begin(state, PUSH);
    user = env_uuid(&w.rig->env[0]);
    wait_with(user, NULL, "push", "tok");
    sql_text(w.rig,
             "INSERT INTO sends (id, notification_id, channel, target, status, tries, created_at,"
             " updated_at) SELECT notification_id, notification_id, channel, 'moved', 'sent', 1, 1,"
             " 1 FROM sends",
             (char[8]){ 0 }, 8);
    person(user, NULL, "push", "tok-told");
    pass(5000);
    assert_string_equal(sends(), "push:moved:sent;push::skipped");
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 0);
}

static void n1_a_new_address_is_told_and_the_old_one_is_not(void **state)
{
    struct uuid user;

    begin(state, ALL_OF_THEM);
    user = env_uuid(&w.rig->env[0]);
    wait_with(user, "old@b.jp", "mail,push", "tok-old");
    person(user, "new@b.jp", "mail,push", "tok-new");
    pass(5000);
    assert_string_equal(sends(),
                        "mail::skipped;mail:new@b.jp:sent;push::skipped;push:tok-new:sent");
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 1);
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 1);
    assert_int_equal(count("sends WHERE target IN ('old@b.jp', 'tok-old')"), 0);
}

static void n1_a_device_that_changed_hands_is_not_told_of_its_old_user(void **state)
{
    struct uuid user, other;

    begin(state, PUSH);
    user = env_uuid(&w.rig->env[0]);
    other = env_uuid(&w.rig->env[0]);
    wait_with(user, NULL, "push", "tok");
    person(other, NULL, "push", "tok");
    assert_int_equal(count("devices"), 1);
    pass(5000);
    assert_string_equal(sends(), "push::skipped");
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 0);
    tell_user(other);
    settle();
    assert_int_equal(w.fakes[CHANNEL_PUSH].sent, 1);
}

/* Due on this day, which is the reminder's. */
static enum err do_collection(struct tx *tx, void *ctx)
{
    const struct uuid *id = ctx;
    struct val now = V_INT(env_now_ms(&w.rig->env[0]));
    struct row row;
    enum err e = TX_ROW(tx, STMT_collection_add, &row, v_uuid(id), v_uuid(id), V_TEXT(S("trip")),
                        V_NULL, V_TEXT(S("JPY")), now, V_TEXT(S("UTC")), V_NULL, V_NULL, now);

    return e ? e
             : TX_ROW(tx, STMT_collection_planned, &row, V_INT(1), V_TEXT(S("0@10:00")), V_NULL,
                      v_uuid(id), V_INT(0), V_NULL);
}

static void s2_who_has_paid_is_not_reminded_but_gets_his_receipt(void **state)
{
    struct notice n = { .type = NOTICE_REMINDER, .money = { 100, "JPY" }, .due = { 2026, 1, 2 } };
    char name[DAY_TEXT + 3];
    struct uuid who;

    begin(state, MAIL);
    who = participant(NULL, "p@b.jp");
    assert_int_equal(rig_do(w.rig, 0, do_collection, &who), OK);
    day_text(env_now_ms(&w.rig->env[0]) / (DAY_S * 1000), name);
    snprintf(name + DAY_TEXT, 3, ":0");
    n.attempt = str_of(name);
    n.participant = &who;
    w.fakes[CHANNEL_MAIL].told = TOLD_LATER;
    tell(n);
    tell((struct notice){ .type = NOTICE_RECEIPT, .participant = &who });
    run();
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 2);
    w.fakes[CHANNEL_MAIL].told = TOLD_SENT;
    assert_int_equal(rig_do(w.rig, 0, do_pay, &who), OK);
    pass(5000);
    assert_int_equal(count("sends s JOIN notifications n ON n.id = s.notification_id"
                           " WHERE n.type = 'reminder' AND s.status = 'skipped'"),
                     1);
    assert_int_equal(count("sends WHERE status = 'sent'"), 1);
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 3);
}

/* --- a transport that hangs --- */

static void n1_a_transport_that_hangs_holds_up_its_own_channel_only(void **state)
{
    struct uuid user;

    begin(state, MAIL | HOOK);
    user = env_uuid(&w.rig->env[0]);
    person(user, "a@b.jp", "mail,webhook", NULL);
    w.fakes[CHANNEL_MAIL].hangs = true;
    for (int i = 0; i < 100; i++)
        tell_user(user);
    run();
    for (int i = 0; i < 30; i++)
        pass(LIMIT_SEND_TURN_MS);
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, LIMIT_SENDS);
    assert_int_equal(w.fakes[CHANNEL_WEBHOOK].sent, 100);
    assert_int_equal(count("sends WHERE channel = 'mail' AND status = 'waiting'"),
                     100 - LIMIT_SENDS);
    assert_int_equal(count("sends WHERE channel = 'mail' AND status = 'waiting' AND tries > 0"), 0);
    w.fakes[CHANNEL_MAIL].hangs = false;
    let_go(&w.fakes[CHANNEL_MAIL]);
    for (int i = 0; i < 30; i++)
        pass(LIMIT_SEND_TURN_MS);
    assert_int_equal(w.fakes[CHANNEL_MAIL].sent, 100);
    assert_int_equal(count("sends WHERE status = 'sent'"), 200);
    assert_int_equal(count("message"), 0);
}

static void n1_a_channel_that_is_not_set_up_is_waited_for_for_a_day(void **state)
{
    struct uuid user;

    begin(state, MAIL);
    user = env_uuid(&w.rig->env[0]);
    wait_with(user, "a@b.jp", "mail", NULL);
    w.notify.transports[CHANNEL_MAIL] = NULL;
    pass(5000);
    assert_int_equal(count("message"), 1);
    pass(INT64_C(25) * 3600 * 1000);
    assert_int_equal(count("message"), 0);
    assert_int_equal(count("dead_letters"), 0);
    assert_int_equal(count("sends WHERE why LIKE '%not set up%'"), 1);
    assert_string_equal(sends(), "mail::skipped");
}

static void n1_called_back_from_the_dead_letters_it_waits_a_day_for_its_channel(void **state)
{
    struct uuid user, dead;

    begin(state, HOOK);
    user = env_uuid(&w.rig->env[0]);
    wait_with(user, NULL, "webhook", NULL);
    sql_text(w.rig, "UPDATE sends SET status = 'sending', tries = 11", (char[8]){ 0 }, 8);
    pass(INT64_C(48) * 3600 * 1000);
    assert_string_equal(sends(), "webhook::failed");
    dead = dead_id();
    w.notify.transports[CHANNEL_WEBHOOK] = NULL;
    assert_int_equal(rig_do(w.rig, 0, do_revive, &dead), OK);
    settle();
    pass(INT64_C(3) * 3600 * 1000);
    assert_string_equal(sends(), "webhook::waiting");
    w.notify.transports[CHANNEL_WEBHOOK] = &w.fakes[CHANNEL_WEBHOOK].transport;
    pass(3600 * 1000);
    assert_string_equal(sends(), "webhook::sent");
}

static void n1_a_machine_that_kills_us_each_time_is_given_up_and_can_be_tried_again(void **state)
{
    struct uuid user, dead;

    begin(state, HOOK);
    user = env_uuid(&w.rig->env[0]);
    wait_with(user, NULL, "webhook", NULL);
    sql_text(w.rig, "UPDATE sends SET status = 'sending', tries = 11", (char[8]){ 0 }, 8);
    pass(5000);
    assert_string_equal(sends(), "webhook::failed");
    assert_int_equal(w.fakes[CHANNEL_WEBHOOK].sent, 0);
    dead = dead_id();
    assert_int_equal(rig_do(w.rig, 0, do_revive, &dead), OK);
    settle();
    assert_string_equal(sends(), "webhook::sent");
    assert_int_equal(w.fakes[CHANNEL_WEBHOOK].sent, 1);
    assert_int_equal(sql_int(w.rig, "SELECT tries FROM sends"), 1);
}

#define ALL(ON)                                                                                    \
    ON(n1_it_goes_where_the_person_wants_it), ON(n1_each_channel_is_given_the_words_once),         \
        ON(n1_a_node_without_transports_leaves_it_to_another_for_a_day),                           \
        ON(n1_a_node_with_one_transport_leaves_the_others_to_who_has_them),                        \
        ON(n1_called_back_from_the_dead_letters_it_waits_a_day_for_its_channel),                   \
        ON(n1_who_was_forgotten_is_not_told_at_his_organisers_address_by_a_retry),                 \
        ON(n1_what_an_organiser_had_him_told_is_forgotten_too),                                    \
        ON(n1_a_row_that_lost_its_address_still_says_that_somebody_was_told),                      \
        ON(n1_many_people_with_many_devices_are_each_told_once),                                   \
        ON(n1_what_the_transport_says_decides_the_rest),                                           \
        ON(n1_it_is_tried_for_about_a_day_then_it_is_a_dead_letter_that_can_be_sent),              \
        ON(n1_a_retry_after_is_waited_for_up_to_an_hour),                                          \
        ON(n1_who_finds_it_half_sent_tells_no_person_twice_and_a_machine_again),                   \
        ON(n1_a_mark_nobody_confirmed_is_taken_back_since_nothing_was_sent),                       \
        ON(n1_the_same_notification_again_makes_no_second_send),                                   \
        ON(n1_who_was_removed_is_not_told_and_no_address_stays),                                   \
        ON(n1_a_new_address_is_told_and_the_old_one_is_not),                                       \
        ON(n1_a_device_that_changed_hands_is_not_told_of_its_old_user),                            \
        ON(s2_who_has_paid_is_not_reminded_but_gets_his_receipt),                                  \
        ON(n1_a_transport_that_hangs_holds_up_its_own_channel_only),                               \
        ON(n1_a_channel_that_is_not_set_up_is_waited_for_for_a_day),                               \
        ON(n1_a_machine_that_kills_us_each_time_is_given_up_and_can_be_tried_again)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
