#include "base/thread.h"

#include <signal.h>
#include <stdio.h>

bool thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *arg), void *arg)
{
    char cut[THREAD_NAME + 1];
    sigset_t all, before;
    bool started;

    snprintf(cut, sizeof(cut), "%s", name);
    sigfillset(&all); /* a thread inherits the mask of its maker */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = !pthread_create(ret_thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_setname_np(*ret_thread, cut);
    return started;
}

bool thread_start_nth(pthread_t *ret_thread, const char *name, int nth, void *(*run)(void *arg),
                      void *arg)
{
    char text[THREAD_NAME + 1];

    snprintf(text, sizeof(text), "%s-%d", name, nth);
    return thread_start(ret_thread, text, run, arg);
}
