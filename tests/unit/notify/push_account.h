/* push_account.h - a service account of the test's own. */
#pragma once

#include "unit/cm.h"

#include <cjson/cJSON.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <string.h>

struct account_text {
    EVP_PKEY *key;
    char json[8192];
};

static inline void account_write(EVP_PKEY *key, char pem[4096])
{
    BIO *bio = BIO_new(BIO_s_mem());
    int n;

    PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    n = BIO_read(bio, pem, 4095);
    assert_true(n > 0);
    pem[n] = '\0';
    BIO_free(bio);
}

/* The key is gone afterwards; only its text stays. */
__attribute__((unused)) static inline const char *account_pem(EVP_PKEY *key, char pem[4096])
{
    account_write(key, pem);
    EVP_PKEY_free(key);
    return pem;
}

static inline void account_make(struct account_text *a, const char *token_uri)
{
    cJSON *tree = cJSON_CreateObject();
    char pem[4096], *text;

    a->key = EVP_RSA_gen(2048);
    account_write(a->key, pem);
    cJSON_AddStringToObject(tree, "type", "service_account");
    cJSON_AddStringToObject(tree, "project_id", "shop-1");
    cJSON_AddStringToObject(tree, "private_key_id", "key-1");
    cJSON_AddStringToObject(tree, "private_key", pem);
    cJSON_AddStringToObject(tree, "client_email", "ichido@shop-1.iam.gserviceaccount.com");
    cJSON_AddStringToObject(tree, "token_uri", token_uri);
    text = cJSON_Print(tree);
    snprintf(a->json, sizeof(a->json), "%s", text);
    cJSON_free(text);
    cJSON_Delete(tree);
}
