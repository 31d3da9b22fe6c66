/* main.c - ichido-sim: runs seeds, each of them twice, and says which places they reached.
 *
 *   ichido-sim --seeds 300 --first 1      many; exit code 1 on the first violation
 *   ichido-sim --seed 17 --trace          one, with every line of its trace */
#include "base/time/clock.h"
#include "sim/sim.h"
#include "store/sqlite/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ENOUGH_SEEDS = 300, /* so many must reach every mark */
    PROCESSES = 64,
};

struct options {
    uint64_t first, seeds;
    bool trace;
};

static bool parse_number(const char *text, uint64_t *ret_number)
{
    char *end = NULL;

    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    *ret_number = strtoull(text, &end, 10);
    return *end == '\0';
}

static bool parse(int argc, char **argv, struct options *o)
{
    *o = (struct options){ .first = 1, .seeds = 300 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            o->trace = true;
        else if (strcmp(argv[i], "--seeds") == 0 && parse_number(argv[i + 1], &o->seeds))
            i++;
        else if (strcmp(argv[i], "--first") == 0 && parse_number(argv[i + 1], &o->first))
            i++;
        else if (strcmp(argv[i], "--seed") == 0 && parse_number(argv[i + 1], &o->first)) {
            o->seeds = 1;
            i++;
        } else
            return false;
    }
    return true;
}

static bool run_twice(uint64_t seed, bool trace, struct marks *marks, struct sim_result *total)
{
    struct marks ignored = { .n = { 0 } };
    struct sim_result one = sim_run(seed, trace, marks), two = one;

    if (one.fine)
        two = sim_run(seed, false, &ignored);
    total->steps += one.steps + (one.fine ? two.steps : 0);
    total->commits += one.commits + (one.fine ? two.commits : 0);
    if (one.fine && (one.hash != two.hash || one.steps != two.steps)) {
        fprintf(stderr, "seed %llu: two runs of it differ\n", (unsigned long long)seed);
        return false;
    }
    return one.fine && two.fine;
}

static int print_marks(const struct marks *m, uint64_t seeds)
{
    int missing = 0;

    for (int i = 0; i < MARKS; i++) {
        printf("%9lld  %s%s\n", (long long)m->n[i], mark_words((enum mark)i),
               m->n[i] ? "" : "   <- never");
        missing += m->n[i] == 0;
    }
    if (missing && seeds >= ENOUGH_SEEDS)
        fprintf(stderr, "ichido-sim: %d places were never reached\n", missing);
    return seeds >= ENOUGH_SEEDS ? missing : 0;
}

/* What one process of several ran. */
struct share {
    struct marks marks;
    struct sim_result total;
    bool fine;
};

/* Every n-th seed, from the k-th on. Stops at the first violation. */
static bool run_share(const struct options *o, uint64_t k, uint64_t n, struct share *ret)
{
    sqlite_setup();
    for (uint64_t seed = o->first + k; seed < o->first + o->seeds; seed += n)
        if (!run_twice(seed, o->trace, &ret->marks, &ret->total)) {
            fprintf(stderr, "ichido-sim --seed %llu\n", (unsigned long long)seed);
            return false;
        }
    return true;
}

/* One process a core: a seed knows nothing of the others. Their counts come back in shared memory,
 * and what a process that died did not say is a failure. */
static bool run_shares(const struct options *o, struct share *all)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = cores < 1 ? 1 : cores > PROCESSES ? PROCESSES : (uint64_t)cores;
    struct share *shares =
        mmap(NULL, n * sizeof(*shares), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shares == MAP_FAILED)
        return false;
    fflush(NULL);
    for (uint64_t k = 0; k < n; k++)
        if (fork() == 0) {
            shares[k].fine = run_share(o, k, n, &shares[k]);
            fflush(NULL);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    all->fine = true;
    for (uint64_t k = 0; k < n; k++) {
        all->fine = all->fine && shares[k].fine;
        all->total.steps += shares[k].total.steps;
        all->total.commits += shares[k].total.commits;
        for (int i = 0; i < MARKS; i++)
            all->marks.n[i] += shares[k].marks.n[i];
    }
    munmap(shares, n * sizeof(*shares));
    return all->fine;
}

int main(int argc, char **argv)
{
    struct options o;
    struct share all = { .fine = false };
    struct clock clock;
    double seconds;
    int64_t began;
    bool fine;

    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: ichido-sim [--seeds N] [--first K] | --seed S [--trace]\n");
        return 2;
    }
    clock_init(&clock);
    began = clock_mono_us(&clock);
    fine = o.seeds == 1 ? run_share(&o, 0, 1, &all) : run_shares(&o, &all);
    if (!fine)
        return 1;
    seconds = (double)(clock_mono_us(&clock) - began) / 1e6;
    printf("%llu seeds, each twice: %lld steps, %lld commits, %.1f s, %.0f steps/s\n",
           (unsigned long long)o.seeds, (long long)all.total.steps, (long long)all.total.commits,
           seconds, (double)all.total.steps / seconds);
    return print_marks(&all.marks, o.seeds) ? 1 : 0;
}
