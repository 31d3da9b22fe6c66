/* account.h - a Google service account: our identity for FCM, and the signed assertion (RFC 7523)
 * that is exchanged for an access token. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/why.h"

struct evp_pkey_st; /* OpenSSL's EVP_PKEY */

struct fcm_account {
    struct arena arena; /* owns the texts */
    struct str email, key_id, project, token_uri;
    struct evp_pkey_st *key;
    bool is_open; /* the file can be read by others than its owner */
};

/* `credentials` is the account's JSON, or the name of a file with it. False: `why` says what is
 * wrong and quotes nothing of it. */
bool fcm_account_open(struct fcm_account *a, struct str credentials, struct why *why);
void fcm_account_close(struct fcm_account *a); /* wipes it; may be called twice */

/* The body of the token request, valid for an hour from now_ms (wall clock). .p NULL: no memory.
 * The caller wipes it. */
struct str fcm_account_request(const struct fcm_account *a, struct arena *arena, int64_t now_ms);
