/* test_sqlite_db.c - opening one file: what is said when it cannot be done, and the migrations. */
#include "store/driver.h"
#include "store/sqlite/conn.h"
#include "unit/store/rig.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static enum err open_why(struct rig *r, struct why *why)
{
    struct store_options o = { .url = str_of(r->url), .owner = S("127.0.0.1:8787") };

    why->text[0] = '\0';
    return store_open(&o, &r->env, &r->store, why);
}

static void says(const char *why, const char *part)
{
    if (!strstr(why, part))
        fail_msg("\"%s\" does not say \"%s\"", why, part);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void alter(struct rig *r, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(r->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_missing_directory_is_made_for_us_alone(void **state)
{
    struct rig r;
    struct stat st;
    char path[128];

    (void)state;
    rig_init(&r);
    snprintf(path, sizeof(path), "%s/data", r.dir);
    snprintf(r.url, sizeof(r.url), "sqlite:%s/ichido.db", path);
    rig_open(&r, 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    rig_release(&r);
}

static void a6_every_file_is_for_us_alone_whatever_the_umask(void **state)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", ".lock" };
    mode_t before = umask(0);
    struct rig r;
    struct job j;

    (void)state;
    rig_init(&r);
    rig_open(&r, 0);
    job_init(&j, &r, &kind_add);
    assert_int_equal(job_run(&r, &j), OK);
    for (size_t i = 0; i < COUNT(suffixes); i++) {
        char path[128];
        struct stat st;

        snprintf(path, sizeof(path), "%s%s", r.file, suffixes[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    umask(before);
    rig_release(&r);
}

static void an_older_file_that_all_may_read_is_narrowed(void **state)
{
    struct stat st;
    struct rig r;

    (void)state;
    rig_init(&r);
    alter(&r, "CREATE TABLE other (x)");
    assert_int_equal(chmod(r.file, 0644), 0);
    rig_open(&r, 0);
    assert_int_equal(stat(r.file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    rig_release(&r);
}

static void a_name_full_of_odd_characters_is_just_a_name(void **state)
{
    struct rig r;
    char path[128];

    (void)state;
    rig_init(&r);
    snprintf(path, sizeof(path), "%s/a b?mode=ro#%%41&日本.db", r.dir);
    snprintf(r.url, sizeof(r.url), "sqlite:%s", path);
    rig_open(&r, 0);
    assert_int_equal(access(path, F_OK), 0);
    rig_release(&r);
}

static void a_path_that_is_not_there_is_named(void **state)
{
    struct rig r;
    struct why why;

    (void)state;
    rig_init(&r);
    snprintf(r.url, sizeof(r.url), "sqlite:%s/no/such/ichido.db", r.dir);
    assert_int_equal(open_why(&r, &why), ERR_UNAVAILABLE);
    says(why.text, "/no/such: No such file or directory");
    snprintf(r.url, sizeof(r.url), "sqlite:");
    assert_int_equal(open_why(&r, &why), ERR_VALIDATION);
    says(why.text, "ICHIDO_DB");
    snprintf(r.url, sizeof(r.url), "mysql:x");
    assert_int_equal(open_why(&r, &why), ERR_VALIDATION);
    rig_release(&r);
}

static void a_file_that_is_no_database_is_left_alone(void **state)
{
    struct rig r;
    char text[32] = "";
    struct why why;
    FILE *f;

    (void)state;
    rig_init(&r);
    write_file(r.file, "These are not the bytes of a database, but they are many enough to be read "
                       "as a header, which is one hundred bytes long.");
    assert_int_equal(open_why(&r, &why), ERR_VALIDATION);
    says(why.text, "is not a database");
    f = fopen(r.file, "r");
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    assert_memory_equal(text, "These are", 9);
    rig_release(&r);
}

static void a_directory_in_its_place_is_refused(void **state)
{
    struct rig r;
    struct why why;

    (void)state;
    rig_init(&r);
    assert_int_equal(mkdir(r.file, 0700), 0);
    assert_int_equal(open_why(&r, &why), ERR_UNAVAILABLE);
    says(why.text, "unable to open database file");
    rig_release(&r);
}

/* The bug: what stood in the file's place was narrowed to 0600, were it /tmp or /dev/null. */
static void a_directory_in_its_place_keeps_its_rights(void **state)
{
    struct store_options o = { 0 };
    struct store *store;
    struct stat st;
    char url[300];
    struct why why;
    struct rig r;

    (void)state;
    rig_init(&r);
    assert_int_equal(mkdir(r.file, 0755), 0);
    snprintf(url, sizeof(url), "sqlite:%s", r.file);
    o.url = str_of(url);
    assert_int_not_equal(store_open(&o, &r.env, &store, &why), OK);
    assert_int_equal(stat(r.file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    rig_release(&r);
}

/* As a user without rights: root is refused nothing. */
static int as_nobody(struct rig *r, enum err wanted, const char *part)
{
    pid_t pid = fork();
    int status;

    if (!pid) {
        struct why why;

        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(9);
        if (open_why(r, &why) != wanted || !strstr(why.text, part)) {
            fprintf(stderr, "%s\n", why.text);
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_directory_that_we_may_not_write_is_named(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    assert_int_equal(chmod(r.dir, 0555), 0);
    assert_int_equal(as_nobody(&r, ERR_UNAVAILABLE, "ichido.db.lock: Permission denied"), 0);
    assert_int_equal(chmod(r.dir, 0700), 0);
    rig_release(&r);
}

static void a_file_that_we_may_not_write_is_named(void **state)
{
    struct rig r;

    (void)state;
    if (geteuid() != 0)
        skip(); /* needs a file of somebody else's */
    rig_init(&r);
    rig_open(&r, 0);
    rig_close(&r);
    assert_int_equal(chmod(r.dir, 0777), 0);
    assert_int_equal(chmod(r.file, 0444), 0);
    snprintf(r.url, sizeof(r.url), "sqlite:%s", r.file);
    {
        char lock[128];

        snprintf(lock, sizeof(lock), "%s.lock", r.file);
        assert_int_equal(unlink(lock), 0);
    }
    assert_int_equal(as_nobody(&r, ERR_STORE_FULL, "cannot be written"), 0);
    rig_release(&r);
}

/* --- migrations --- */

static void a_file_from_a_newer_version_is_refused(void **state)
{
    struct rig r;
    struct why why;

    (void)state;
    rig_init(&r);
    rig_open(&r, 0);
    rig_close(&r);
    alter(&r, "INSERT INTO schema_migrations VALUES (9999, 'future', 1)");
    assert_int_equal(open_why(&r, &why), ERR_CONFLICT);
    says(why.text, "newer version (its tables are number 9999");
    rig_release(&r);
}

static int64_t ask(struct sqlite_db *db, const char *sql)
{
    sqlite3_stmt *s;
    int64_t answer;

    assert_int_equal(sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    answer = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return answer;
}

static void migrations_are_applied_once_and_written_down(void **state)
{
    struct sqlite_options o = { 0 };
    struct sqlite_db *db;
    int64_t count = 0;
    struct rig r;
    struct why why;

    (void)state;
    rig_init(&r);
    o.path = r.file;
    for (const struct migration *m = sqlite_migrations; m->number; m++)
        count++;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sqlite_db_open(&o, &r.env, &db, &why), OK);
        assert_int_equal(sqlite_db_migrate(db, &why), OK);
        assert_int_equal(sqlite_db_migrate(db, &why), OK);
        assert_int_equal(ask(db, "SELECT count(*) FROM schema_migrations"), count);
        sqlite_db_close(db);
    }
    rig_release(&r);
}

static void a_migration_that_fails_leaves_nothing_behind(void **state)
{
    struct sqlite_options o = { 0 };
    struct sqlite_db *db;
    struct rig r;
    struct why why = { 0 };

    (void)state;
    rig_init(&r);
    o.path = r.file;
    alter(&r, "CREATE TABLE audit (x)"); /* a later table of the first migration is in its way */
    assert_int_equal(sqlite_db_open(&o, &r.env, &db, &why), OK);
    assert_int_equal(sqlite_db_migrate(db, &why), ERR_INTERNAL);
    says(why.text, "table audit already exists");
    assert_int_equal(ask(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'message'"), 0);
    assert_int_equal(ask(db, "SELECT count(*) FROM schema_migrations"), 0);
    sqlite_db_close(db);
    rig_release(&r);
}

/* --- settings --- */

static void a_connection_is_set_up_as_promised(void **state)
{
    static const struct {
        const char *sql;
        int64_t value;
    } rows[] = {
        { "PRAGMA synchronous", 2 },    { "PRAGMA foreign_keys", 1 },
        { "PRAGMA temp_store", 2 },     { "PRAGMA mmap_size", 0 },
        { "PRAGMA trusted_schema", 0 }, { "PRAGMA wal_autocheckpoint", 0 },
    };
    struct sqlite_options o = { 0 };
    struct sqlite_db *db;
    struct rig r;
    struct why why;

    (void)state;
    rig_init(&r);
    o.path = r.file;
    assert_int_equal(sqlite_db_open(&o, &r.env, &db, &why), OK);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (ask(db, rows[i].sql) != rows[i].value)
            fail_msg("%s", rows[i].sql);
    sqlite_db_close(db);
    rig_release(&r);
}

static void an_exclusive_connection_needs_no_shared_memory(void **state)
{
    struct sqlite_options o = { .exclusive = true };
    struct sqlite_db *db;
    struct rig r;
    char shm[128];
    struct why why;

    (void)state;
    rig_init(&r);
    o.path = r.file;
    assert_int_equal(sqlite_db_open(&o, &r.env, &db, &why), OK);
    assert_int_equal(sqlite_db_migrate(db, &why), OK);
    assert_true(sqlite_db_wal_frames(db) > 0);
    assert_int_equal(sqlite_db_checkpoint(db), OK);
    snprintf(shm, sizeof(shm), "%s-shm", r.file);
    assert_int_not_equal(access(shm, F_OK), 0);
    sqlite_db_abandon(db);
    assert_int_equal(sqlite_db_open(&o, &r.env, &db, &why), OK);
    assert_int_equal(ask(db, "SELECT count(*) FROM message"), 0);
    sqlite_db_close(db);
    rig_release(&r);
}

static void a_place_without_shared_memory_is_refused_unless_exclusive(void **state)
{
    struct sqlite_options o = { .vfs = "unix-dotfile" };
    struct sqlite_db *db;
    struct rig r;
    struct why why;

    (void)state;
    rig_init(&r);
    o.path = r.file;
    assert_int_equal(sqlite_db_open(&o, &r.env, &db, &why), ERR_VALIDATION);
    says(why.text, "use a local disk");
    o.exclusive = true;
    assert_int_equal(sqlite_db_open(&o, &r.env, &db, &why), OK);
    sqlite_db_close(db);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_missing_directory_is_made_for_us_alone),
        TEST(a6_every_file_is_for_us_alone_whatever_the_umask),
        TEST(an_older_file_that_all_may_read_is_narrowed),
        TEST(a_name_full_of_odd_characters_is_just_a_name),
        TEST(a_path_that_is_not_there_is_named),
        TEST(a_file_that_is_no_database_is_left_alone),
        TEST(a_directory_in_its_place_is_refused),
        TEST(a_directory_in_its_place_keeps_its_rights),
        TEST(a_directory_that_we_may_not_write_is_named),
        TEST(a_file_that_we_may_not_write_is_named),
        TEST(a_file_from_a_newer_version_is_refused),
        TEST(migrations_are_applied_once_and_written_down),
        TEST(a_migration_that_fails_leaves_nothing_behind),
        TEST(a_connection_is_set_up_as_promised),
        TEST(an_exclusive_connection_needs_no_shared_memory),
        TEST(a_place_without_shared_memory_is_refused_unless_exclusive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
