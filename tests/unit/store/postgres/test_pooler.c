/* test_postgres_pooler.c - M7: behind pgbouncer in transaction mode, where each transaction may
 * meet another session. Skipped where pgbouncer is not installed. */
#include "unit/store/postgres/rig.h"

#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char pgbouncer[] = "/usr/sbin/pgbouncer";
static pid_t pooler;

static void write_config(struct pg_rig *p, int port)
{
    const char *server = strchr(pg_server(), '@') + 1;
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/pgbouncer.ini", p->rig.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "[databases]\n* = host=127.0.0.1 port=%d user=postgres\n[pgbouncer]\n"
            "listen_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = transaction\ndefault_pool_size = 3\nmin_pool_size = 3\n"
            "server_round_robin = 1\nlogfile = %s/log\n",
            atoi(strchr(server, ':') + 1), port, p->rig.dir);
    fclose(f);
    assert_int_equal(chmod(p->rig.dir, 0777), 0); /* it leaves root behind */
    assert_int_equal(chmod(path, 0644), 0);
}

/* pgbouncer refuses to run as root. */
static void leave_root(void)
{
    const struct passwd *postgres = getpwnam("postgres");

    if (getuid() == 0 && (!postgres || setgid(postgres->pw_gid) || setuid(postgres->pw_uid)))
        _exit(126);
}

static pid_t start_pooler(struct pg_rig *p, int port)
{
    char path[128];
    pid_t pid;

    write_config(p, port);
    snprintf(path, sizeof(path), "%s/pgbouncer.ini", p->rig.dir);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        leave_root();
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
        execl(pgbouncer, pgbouncer, "-q", path, (char *)NULL);
        _exit(127);
    }
    snprintf(p->rig.url, sizeof(p->rig.url), "postgres://postgres@127.0.0.1:%d/%s", port, p->name);
    while (PQpingParams((const char *const[]){ "dbname", NULL },
                        (const char *const[]){ p->rig.url, NULL }, 1) != PQPING_OK)
        poll(NULL, 0, 5);
    return pid;
}

static void units_run_behind_a_pooler_in_transaction_mode(void **state)
{
    enum { N = 200 };
    struct pg_rig *p = PG_RIG(state);
    struct job *jobs;

    if (access(pgbouncer, X_OK)) {
        print_message("skipped: %s is not installed\n", pgbouncer);
        skip();
    }
    pooler = start_pooler(p, 20000 + (int)getpid() % 10000);
    rig_open(&p->rig, 4);
    jobs = calloc(N, sizeof(*jobs));
    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], &p->rig, i % 5 ? &kind_add : &kind_count);
        store_post(p->rig.store, &jobs[i].unit);
    }
    desk_wait(&p->rig.desk, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(jobs[i].verdict, OK);
    assert_int_equal(rig_count(&p->rig), N - N / 5);
    free(jobs);
}

static int teardown(void **state)
{
    struct pg_rig *p = *state;

    if (p)
        rig_close(&p->rig);
    if (pooler) {
        kill(pooler, SIGKILL);
        waitpid(pooler, NULL, 0);
    }
    return pg_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(units_run_behind_a_pooler_in_transaction_mode, pg_setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
