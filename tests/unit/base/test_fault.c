#include "base/fault.h"
#include "unit/cm.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void without_rules_every_place_is_fine(void **state)
{
    struct faults f;

    (void)state;
    assert_true(faults_parse(&f, S("")));
    for (int i = 0; i < 3; i++)
        assert_int_equal(fault_point(&f, "commit"), OK);
    assert_int_equal(fault_point_at(&f, "apply", S("x")), OK);
}

static void a_rule_holds_at_its_place_and_its_time(void **state)
{
    struct faults f;

    (void)state;
    assert_true(faults_parse(&f, S("a=fail, b=retry@2,c=uncertain@2-3,apply:x=full,d=io")));
    assert_int_equal(fault_point(&f, "a"), ERR_VALIDATION);
    assert_int_equal(fault_point(&f, "a"), ERR_VALIDATION);
    assert_int_equal(fault_point(&f, "b"), OK);
    assert_int_equal(fault_point(&f, "b"), ERR_UNAVAILABLE);
    assert_int_equal(fault_point(&f, "b"), OK);
    assert_int_equal(fault_point(&f, "c"), OK);
    assert_int_equal(fault_point(&f, "c"), ERR_UNCERTAIN);
    assert_int_equal(fault_point(&f, "c"), ERR_UNCERTAIN);
    assert_int_equal(fault_point(&f, "c"), OK);
    assert_int_equal(fault_point_at(&f, "apply", S("x")), ERR_STORE_FULL);
    assert_int_equal(fault_point_at(&f, "apply", S("y")), OK);
    assert_int_equal(fault_point(&f, "apply"), OK);
    assert_int_equal(fault_point(&f, "d"), ERR_INTERNAL);
}

static void a_crash_is_a_kill(void **state)
{
    struct faults f;
    int status = 0;
    pid_t child;

    (void)state;
    assert_true(faults_parse(&f, S("commit=crash@2")));
    child = fork();
    if (child == 0) {
        fault_point(&f, "commit");
        fault_point(&f, "commit");
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void what_is_no_rule_is_refused(void **state)
{
    static const char *const rows[] = {
        "a",
        "a=",
        "=fail",
        "a=explode",
        "a=fail@0",
        "a=fail@x",
        "a=fail@3-2",
        "a=fail@-1",
        "a=fail@",
        "a=fail@3-",
        "a=fail,,b=fail",
        "0123456789012345678901234567890123456789012345678901234567890123"
        "=fail",
        "a=fail,a=fail,a=fail,a=fail,a=fail,a=fail,a=fail,a=fail,"
        "a=fail,a=fail,a=fail,a=fail,a=fail,a=fail,a=fail,a=fail,"
        "a=fail"
    };
    struct faults f;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (faults_parse(&f, str_of(rows[i])))
            fail_msg("%s", rows[i]);
}

static void a_detail_too_long_for_a_rule_meets_none(void **state)
{
    struct faults f;

    (void)state;
    assert_true(faults_parse(&f, S("apply=fail")));
    assert_int_equal(
        fault_point_at(&f, "apply",
                       S("a detail that is much longer than any name of a rule may be")),
        OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_rules_every_place_is_fine),
        TEST(a_rule_holds_at_its_place_and_its_time),
        TEST(a_crash_is_a_kill),
        TEST(what_is_no_rule_is_refused),
        TEST(a_detail_too_long_for_a_rule_meets_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
