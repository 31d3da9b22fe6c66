/* token.h - the access token that FCM requires with every push: one for the whole server, requested
 * once however many pushes need it, and renewed before it expires. Any thread. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "base/limits.h"
#include "notify/fcm/account.h"

struct client;
struct fcm_tokens;

/* A push that needs a token. The caller owns it; it must live until `got` is called. */
struct fcm_want {
    struct executor *executor;
    void (*got)(struct fcm_want *w); /* on the executor, once, never from within fcm_token_ask() */

    /* out */
    enum fcm_token_end {
        FCM_TOKEN_HERE,
        FCM_TOKEN_LATER, /* not now; retry_after_ms, -1: unknown */
        FCM_TOKEN_NEVER, /* the account is refused: an operator has to correct it */
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
/* Waits for the request that is under way, if any; the client may be freed already. NULL is
 * allowed. */
void fcm_tokens_free(struct fcm_tokens *t);

void fcm_token_ask(struct fcm_tokens *t, struct fcm_want *w);
void fcm_want_wipe(struct fcm_want *w); /* once the token was used */
/* FCM rejected the token of that generation: the next fcm_token_ask() gets another. */
void fcm_token_drop(struct fcm_tokens *t, uint64_t generation);
