/* thread.h - starts threads with a name that `top -H`, perf and gdb show. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

enum { THREAD_NAME = 15 }; /* the kernel's limit, in bytes */

/* Starts run(arg) on a thread of its own. All signals are blocked in it, because the first thread
 * of the program handles them. A longer name is cut. False: the system has no more threads. */
bool thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *arg), void *arg);
/* The same for one of several: "reader-2". */
bool thread_start_nth(pthread_t *ret_thread, const char *name, int nth, void *(*run)(void *arg),
                      void *arg);
