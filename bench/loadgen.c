/* loadgen.c - a sender that costs little itself, because it shares two cores with the server it
 * measures.
 *
 *   loadgen PORT --secret S                                            signed events
 *   loadgen PORT --mode bookings --seed N --bearer ADMIN --user ID...  what will be paid
 *   loadgen PORT --mode create|replay --seed N --bearer TOKEN...       payments, as those users
 *   loadgen PORT --mode publish --bearer TOKEN --target PORT [--delay S] messages for a receiver
 *   loadgen PORT --mode call --bearer TOKEN --path P [--form TEXT]     one call of another's API
 *   [--connections 64] [--seconds 5] [--rate R] [--count N] [--first N]
 *
 * requests.h says what is sent. Two ways to send:
 *   closed loop (no --rate): each connection sends its next request when the last one was answered;
 *   open loop (--rate R): the k-th request is due at k/R seconds, and its latency counts from then,
 *   not from when a connection was free, so that a stall is paid by all that waited (no
 *   coordinated omission).
 * Prints one line of JSON, with the answers by status; 0 is a connection that broke off. Exits 1
 * when an answer was not the one wanted. */
#include "latency.h"
#include "requests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ANSWER_MAX = 8192, EVENTS_AT_ONCE = 256, STATUSES = 600 };

struct connection {
    int fd;
    bool busy, waits_to_write;
    char *out;
    size_t sent;
    int64_t due_ns; /* of the request under way */
    char in[ANSWER_MAX];
    size_t got;
};

struct load {
    struct plan plan;
    struct requests requests;
    int connection_count;
    double seconds, rate;
    struct connection *c;
    struct connection **idle;
    size_t idle_count;
    size_t next, answered, good;
    size_t statuses[STATUSES];
    struct latency latency;
    int64_t began_ns, end_ns, last_ns;
    int epoll;
};

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* --- connections --- */

static void open_connection(struct load *l, struct connection *c)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)l->plan.port) };
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
    int yes = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)))
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e))
        die("epoll_ctl");
    c->waits_to_write = false;
}

static void open_all(struct load *l)
{
    size_t n = (size_t)l->connection_count;
    struct rlimit files;

    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    l->epoll = epoll_create1(0);
    l->c = calloc(n, sizeof(*l->c));
    l->idle = calloc(n, sizeof(struct connection *));
    if (l->epoll < 0 || !l->c || !l->idle)
        die("start");
    for (size_t i = 0; i < n; i++) {
        l->c[i].out = requests_copy(&l->requests);
        open_connection(l, &l->c[i]);
        l->idle[l->idle_count++] = &l->c[i];
    }
}

static void finish(struct load *l, struct connection *c, int status, bool good)
{
    l->last_ns = now_ns();
    latency_note(&l->latency, (l->last_ns - c->due_ns) / 1000);
    l->statuses[status >= 0 && status < STATUSES ? status : 0]++;
    l->answered++;
    l->good += good;
    c->busy = false;
    l->idle[l->idle_count++] = c;
}

/* The server may close what is idle; a request without an answer is counted as one. */
static void hung_up(struct load *l, struct connection *c)
{
    close(c->fd);
    open_connection(l, c);
    if (c->busy)
        finish(l, c, 0, false);
}

/* --- sending and receiving --- */

static void watch_writing(struct load *l, struct connection *c, bool on)
{
    struct epoll_event e = { .events = EPOLLIN | (on ? EPOLLOUT : 0), .data.ptr = c };

    if (c->waits_to_write == on)
        return;
    c->waits_to_write = on;
    epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void go_on_sending(struct load *l, struct connection *c)
{
    while (c->sent < l->requests.size) {
        ssize_t n = send(c->fd, c->out + c->sent, l->requests.size - c->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN) {
            watch_writing(l, c, true);
            return;
        }
        if (n < 0)
            return; /* reading will say the same */
        c->sent += (size_t)n;
    }
    watch_writing(l, c, false);
}

static void send_next(struct load *l, struct connection *c, int64_t due_ns)
{
    requests_patch(&l->requests, c->out, l->next++ % l->plan.count);
    c->sent = c->got = 0;
    c->busy = true;
    c->due_ns = due_ns;
    go_on_sending(l, c);
}

/* The whole answer is there: the length of its head, or 0. */
static size_t answered_head(const struct connection *c)
{
    const char *end = memmem(c->in, c->got, "\r\n\r\n", 4);
    const char *length;
    size_t head, body = 0;

    if (!end)
        return 0;
    head = (size_t)(end - c->in) + 4;
    length = memmem(c->in, head, "Content-Length: ", 16);
    if (!length)
        length = memmem(c->in, head, "content-length: ", 16);
    if (length)
        body = strtoul(length + 16, NULL, 10);
    return c->got >= head + body ? head : 0;
}

static void take_answer(struct load *l, struct connection *c, size_t head)
{
    const struct kind *k = &kinds[l->plan.mode];
    int status = c->got > 12 ? (int)strtol(c->in + 9, NULL, 10) : 0;
    bool good = k->status ? status == k->status : status / 100 == 2;

    if (k->header && !memmem(c->in, head, k->header, strlen(k->header)))
        good = false;
    finish(l, c, status, good);
}

static void receive(struct load *l, struct connection *c)
{
    ssize_t n = read(c->fd, c->in + c->got, sizeof(c->in) - c->got);
    size_t head;

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        hung_up(l, c);
        return;
    }
    c->got += (size_t)n;
    head = c->busy ? answered_head(c) : 0;
    if (head)
        take_answer(l, c, head);
}

/* When the k-th request is due. */
static int64_t due_ns(const struct load *l, size_t k)
{
    return l->rate > 0 ? l->began_ns + (int64_t)((double)k * 1e9 / l->rate) : now_ns();
}

static bool more_to_send(const struct load *l)
{
    if (l->next == l->plan.count && !kinds[l->plan.mode].again)
        return false;
    return due_ns(l, l->next) < l->end_ns;
}

static void send_what_is_due(struct load *l)
{
    while (l->idle_count && more_to_send(l)) {
        int64_t due = due_ns(l, l->next);

        if (l->rate > 0 && due > now_ns())
            return;
        send_next(l, l->idle[--l->idle_count], due);
    }
}

static void wait_for_something(struct load *l)
{
    struct epoll_event e[EVENTS_AT_ONCE];
    int64_t wait = 1000000000;
    struct timespec ts;
    int n;

    if (l->rate > 0 && l->idle_count && more_to_send(l)) {
        wait = due_ns(l, l->next) - now_ns();
        wait = wait < 0 ? 0 : wait;
    }
    ts = (struct timespec){ wait / 1000000000, wait % 1000000000 };
    n = epoll_pwait2(l->epoll, e, EVENTS_AT_ONCE, &ts, NULL);
    for (int i = 0; i < n; i++) {
        struct connection *c = e[i].data.ptr;

        if (e[i].events & EPOLLOUT)
            go_on_sending(l, c);
        if (e[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            receive(l, c);
    }
}

static void run(struct load *l)
{
    l->began_ns = l->last_ns = now_ns();
    l->end_ns = l->began_ns + (int64_t)(l->seconds * 1e9);
    do {
        send_what_is_due(l);
        if (l->answered < l->next || more_to_send(l))
            wait_for_something(l);
    } while (more_to_send(l) || l->answered < l->next);
}

/* --- what came out --- */

static void report_statuses(const struct load *l)
{
    const char *comma = "";

    printf(",\"statuses\":{");
    for (int i = 0; i < STATUSES; i++)
        if (l->statuses[i]) {
            printf("%s\"%d\":%zu", comma, i, l->statuses[i]);
            comma = ",";
        }
    printf("}");
}

static double cpu_seconds(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void report(const struct load *l, double cpu)
{
    double seconds = (double)(l->last_ns - l->began_ns) / 1e9;
    const struct latency *t = &l->latency;

    printf("{\"mode\":\"%s\",\"connections\":%d,\"offered\":%.0f,\"seconds\":%.3f,"
           "\"cpu\":%.3f,\"answered\":%zu,\"ok\":%zu,\"failed\":%zu,\"rate\":%.0f,\"bytes\":%zu",
           kinds[l->plan.mode].name, l->connection_count, l->rate, seconds, cpu, l->answered,
           l->good, l->answered - l->good, seconds > 0 ? (double)l->good / seconds : 0,
           l->requests.size - l->requests.head);
    printf(",\"p50_us\":%lld,\"p90_us\":%lld,\"p99_us\":%lld,\"p999_us\":%lld,\"max_us\":%lld",
           (long long)latency_percentile(t, 0.5), (long long)latency_percentile(t, 0.9),
           (long long)latency_percentile(t, 0.99), (long long)latency_percentile(t, 0.999),
           (long long)t->worst_us);
    report_statuses(l);
    printf("}\n");
}

/* --- the command line --- */

static void usage(void)
{
    fprintf(stderr,
            "loadgen PORT [--mode webhook|bookings|create|replay|story|publish|call] [--secret S]"
            " [--seed N]"
            " [--bearer T]... [--user ID]... [--connections N] [--seconds S] [--rate R]"
            " [--count N] [--first N] [--target PORT] [--delay S] [--path P] [--form F]\n");
    exit(2);
}

static enum mode mode_named(const char *name)
{
    int m = 0;

    while (m < MODES && strcmp(kinds[m].name, name) != 0)
        m++;
    if (m == MODES)
        usage();
    return (enum mode)m;
}

static void add_word(struct str *list, size_t *n, const char *word)
{
    if (*n == USERS)
        usage();
    list[(*n)++] = str_of(word);
}

static void take_option(struct load *l, int c, const char *arg)
{
    struct plan *p = &l->plan;

    switch (c) {
    case 'm': p->mode = mode_named(arg); break;
    case 's': p->secret = arg; break;
    case 'S': p->seed = strtoull(arg, NULL, 10); break;
    case 'b': add_word(p->bearer, &p->bearers, arg); break;
    case 'u': add_word(p->user, &p->users, arg); break;
    case 'c': l->connection_count = (int)strtol(arg, NULL, 10); break;
    case 't': l->seconds = strtod(arg, NULL); break;
    case 'r': l->rate = strtod(arg, NULL); break;
    case 'n': p->count = strtoul(arg, NULL, 10); break;
    case 'f': p->first = strtoul(arg, NULL, 10); break;
    case 'T': p->target = (int)strtol(arg, NULL, 10); break;
    case 'd': p->delay = (int)strtol(arg, NULL, 10); break;
    case 'p': p->path = arg; break;
    case 'F': p->form = arg; break;
    default: usage();
    }
}

/* Values go into places of one size. */
static bool all_long(const struct str *words, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (words[i].n != size)
            return false;
    return n > 0;
}

static bool makes_sense(const struct load *l)
{
    const struct plan *p = &l->plan;

    if (!p->port || l->connection_count < 1 || !p->count)
        return false;
    if (p->mode == MODE_WEBHOOK || p->mode == MODE_STORY)
        return p->secret != NULL;
    if (p->mode == MODE_CALL && !p->path)
        return false;
    if (p->mode == MODE_BOOKINGS && !all_long(p->user, p->users, UUID_SIZE))
        return false;
    return all_long(p->bearer, p->bearers, p->bearer[0].n);
}

static void read_options(struct load *l, int argc, char **argv)
{
    static const struct option names[] = {
        { "mode", required_argument, 0, 'm' },
        { "secret", required_argument, 0, 's' },
        { "seed", required_argument, 0, 'S' },
        { "bearer", required_argument, 0, 'b' },
        { "user", required_argument, 0, 'u' },
        { "connections", required_argument, 0, 'c' },
        { "seconds", required_argument, 0, 't' },
        { "rate", required_argument, 0, 'r' },
        { "count", required_argument, 0, 'n' },
        { "first", required_argument, 0, 'f' },
        { "target", required_argument, 0, 'T' },
        { "delay", required_argument, 0, 'd' },
        { "path", required_argument, 0, 'p' },
        { "form", required_argument, 0, 'F' },
        { 0, 0, 0, 0 },
    };
    int c;

    l->connection_count = 64;
    l->seconds = 5;
    l->plan.count = 400000;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
        take_option(l, c, optarg);
    l->plan.port = optind < argc ? (int)strtol(argv[optind], NULL, 10) : 0;
    if (!makes_sense(l))
        usage();
}

int main(int argc, char **argv)
{
    static struct load l;
    double before;

    read_options(&l, argc, argv);
    requests_prepare(&l.requests, &l.plan);
    open_all(&l);
    before = cpu_seconds();
    run(&l);
    report(&l, cpu_seconds() - before);
    return l.good < l.answered ? 1 : 0;
}
