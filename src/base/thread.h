/* thread.h - starting a thread that has a name, so that `top -H`, perf and gdb can be read. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

enum { THREAD_NAME = 15 }; /* the kernel's limit, in bytes */

/* Starts run(arg) on a thread of its own. It receives no signals: those are for the program's first
 * thread. A longer name is cut. False: the system gives no thread. */
bool thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *arg), void *arg);
/* The same for one of several: "reader-2". */
bool thread_start_nth(pthread_t *ret_thread, const char *name, int nth, void *(*run)(void *arg),
                      void *arg);
