/* test_sqlite_lock.c - one server a file. */
#include "store/sqlite/lock.h"
#include "unit/store/rig.h"

#include <signal.h>
#include <sys/wait.h>

static void a_second_server_is_told_who_has_the_file(void **state)
{
    struct store_options o = { .owner = S("127.0.0.1:9999") };
    struct store *second = NULL;
    struct why why = { 0 };
    struct rig r;

    (void)state;
    rig_init(&r);
    rig_open(&r, 0);
    o.url = str_of(r.url);
    assert_int_equal(store_open(&o, &r.env, &second, &why), ERR_CONFLICT);
    assert_non_null(strstr(why.text, "is in use by the server at 127.0.0.1:8787"));
    assert_non_null(strstr(why.text, "ichido.db.lock"));
    rig_close(&r);
    assert_int_equal(store_open(&o, &r.env, &second, &why), OK);
    store_free(second);
    rig_release(&r);
}

static void a_shorter_owner_leaves_nothing_of_a_longer_one(void **state)
{
    struct sqlite_lock a, b;
    struct why why = { 0 };
    struct rig r;

    (void)state;
    rig_init(&r);
    assert_int_equal(sqlite_lock_take(&a, r.file, S("a-very-long-name:65000"), &why), OK);
    sqlite_lock_release(&a);
    assert_int_equal(sqlite_lock_take(&a, r.file, S("b:1"), &why), OK);
    assert_int_equal(sqlite_lock_take(&b, r.file, S("c:2"), &why), ERR_CONFLICT);
    assert_non_null(strstr(why.text, "the server at b:1 (its lock"));
    sqlite_lock_release(&a);
    rig_release(&r);
}

static void a_killed_owner_leaves_the_lock_free(void **state)
{
    struct sqlite_lock l;
    char ready;
    struct why why = { 0 };
    int pipes[2], status;
    struct rig r;
    pid_t pid;

    (void)state;
    rig_init(&r);
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (!pid) {
        if (sqlite_lock_take(&l, r.file, S("dead:1"), &why) || write(pipes[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(pipes[0], &ready, 1), 1);
    assert_int_equal(sqlite_lock_take(&l, r.file, S("b:1"), &why), ERR_CONFLICT);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(sqlite_lock_take(&l, r.file, S("b:1"), &why), OK);
    sqlite_lock_release(&l);
    close(pipes[0]);
    close(pipes[1]);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_second_server_is_told_who_has_the_file),
        TEST(a_shorter_owner_leaves_nothing_of_a_longer_one),
        TEST(a_killed_owner_leaves_the_lock_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
