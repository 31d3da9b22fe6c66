/* token.h - the access token that FCM wants with every push: one for the whole server, asked
 * for once however many pushes need it, and again before it ends. Any thread. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "base/limits.h"
#include "notify/fcm/account.h"

struct client;
struct fcm_tokens;

/* Who needs a token. Its memory is his, until `got` was called. */
struct fcm_want {
    struct executor *executor;
    void (*got)(struct fcm_want *w); /* on the executor, once, never from within fcm_token_ask() */

    /* out */
    enum fcm_token_end {
        FCM_TOKEN_HERE,
        FCM_TOKEN_LATER, /* not now; retry_after_ms, -1: nobody knows */
        FCM_TOKEN_NEVER, /* the account is refused: somebody has to look at it */
    } end;
    int64_t retry_after_ms;
    uint64_t generation; /* for fcm_token_drop() */
    size_t n;
    char text[LIMIT_FCM_TOKEN];

    struct task task;
    struct fcm_want *next;
};

/* Both are borrowed. NULL: no memory. */
struct fcm_tokens *fcm_tokens_new(struct env *env, struct client *client,
                                  const struct fcm_account *account);
/* Waits for the ask that is under way, if any. Its client may be gone. NULL is fine. */
void fcm_tokens_free(struct fcm_tokens *t);

void fcm_token_ask(struct fcm_tokens *t, struct fcm_want *w);
void fcm_want_wipe(struct fcm_want *w); /* when the token has been used */
/* FCM does not take the token of that generation: the next who asks gets another. */
void fcm_token_drop(struct fcm_tokens *t, uint64_t generation);
