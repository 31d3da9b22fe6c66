/* account.c - a Google service account: read from the setting or its file, checked, and the
 * assertion that it signs (RFC 7523). The key is wiped wherever a copy of it was. */
#include "notify/fcm/account.h"

#include "auth/base64url.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/settings/address.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 1024, SIGNATURE_MAX = LIMIT_RSA_BITS_MAX / 8, LIFE_S = 3600 };

#define SCOPE "https://www.googleapis.com/auth/firebase.messaging"
#define GRANT "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="

static void account_wipe(struct buf *b)
{
    if (b->p)
        OPENSSL_cleanse(b->p, b->size);
    buf_release(b);
}

/* --- the file --- */

static const char *account_read_all(int fd, struct buf *ret_text)
{
    if (!buf_reserve(ret_text, LIMIT_SETTING + 1)) /* growing would leave an unwiped copy */
        return "it needs more memory than there is";
    while (ret_text->n <= LIMIT_SETTING) {
        ssize_t n = read(fd, ret_text->p + ret_text->n, LIMIT_SETTING + 1 - ret_text->n);

        if (n == 0)
            return NULL;
        if (n < 0 && errno != EINTR)
            return strerrordesc_np(errno);
        if (n > 0)
            ret_text->n += (size_t)n;
    }
    return "it is too long for a service account";
}

static bool account_read_file(struct fcm_account *a, struct str name, struct buf *ret_text,
                              struct why *why)
{
    char *path = arena_cstr(&a->arena, name);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    const char *reason;
    struct stat st;

    if (fd < 0)
        return why_false(why, "the file cannot be read: %s",
                         strerrordesc_np(path ? errno : ENOMEM));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        reason = "it is not a file";
    else
        reason = account_read_all(fd, ret_text);
    a->is_open = !reason && (st.st_mode & (S_IRGRP | S_IROTH));
    close(fd);
    if (reason)
        why_set(why, "the file cannot be read: %s", reason);
    return !reason;
}

/* --- the JSON --- */

static int account_no_passphrase(char *buf, int size, int writing, void *ctx)
{
    (void)buf, (void)size, (void)writing, (void)ctx;
    return -1; /* otherwise OpenSSL asks on the terminal */
}

/* Returns NULL, or what is wrong with the key. */
static const char *account_read_key(struct fcm_account *a, struct str pem)
{
    BIO *bio;

    if (!str_starts(pem, S("-----BEGIN PRIVATE KEY-----")))
        return "is not a PKCS#8 key in PEM (-----BEGIN PRIVATE KEY-----)";
    bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    a->key = bio ? PEM_read_bio_PrivateKey(bio, NULL, account_no_passphrase, NULL) : NULL;
    BIO_free(bio);
    ERR_clear_error(); /* TLS on this thread reads the same error queue */
    if (!a->key)
        return "is a key that cannot be read";
    if (EVP_PKEY_get_base_id(a->key) != EVP_PKEY_RSA)
        return "is not an RSA key";
    if (EVP_PKEY_get_bits(a->key) < LIMIT_RSA_BITS_MIN ||
        EVP_PKEY_get_bits(a->key) > LIMIT_RSA_BITS_MAX)
        return "is an RSA key of a size that is not taken";
    return NULL;
}

static bool account_is_project(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:", s.p[i]))
            return false;
    return s.n > 0;
}

/* The assertion is worth a token for an hour: it goes by TLS or to the loopback address only. */
static bool account_is_token_uri(struct str s)
{
    struct str rest = s, host;

    if (!address_is_url(s))
        return false;
    if (str_starts(s, S("https://")))
        return true;
    rest.p += strlen("http://");
    rest.n -= strlen("http://");
    host = str_cut(&rest, '/');
    return address_is_loopback(host);
}

static struct str account_text(const cJSON *tree, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree, name);

    return str_of(cJSON_IsString(item) ? item->valuestring : NULL);
}

static const char *account_wrong_type(const cJSON *tree)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(tree, "type");

    if (!cJSON_IsObject(tree))
        return "it is not a JSON object";
    return !type || str_eq(account_text(tree, "type"), S("service_account"))
               ? NULL
               : "its type is not service_account";
}

/* Returns the name of the wrong field, or NULL; *ret_what says what is wrong. */
static const char *account_wrong_field(struct fcm_account *a, const cJSON *tree,
                                       const char **ret_what)
{
    struct str email = account_text(tree, "client_email"), uri = account_text(tree, "token_uri");
    struct str project = account_text(tree, "project_id"), key = account_text(tree, "private_key");

    *ret_what = "is missing or cannot be one";
    if (!address_is_mail(email) || email.n > TEXT_MAX)
        return "client_email";
    if (!account_is_project(project) || project.n > TEXT_MAX)
        return "project_id";
    if (!account_is_token_uri(uri) || uri.n > TEXT_MAX) {
        *ret_what = "is missing, or no https:// address";
        return "token_uri";
    }
    if (key.n)
        *ret_what = account_read_key(a, key);
    return *ret_what ? "private_key" : NULL;
}

static bool account_keep_texts(struct fcm_account *a, const cJSON *tree)
{
    struct str key_id = account_text(tree, "private_key_id");

    a->email = arena_str(&a->arena, account_text(tree, "client_email"));
    a->project = arena_str(&a->arena, account_text(tree, "project_id"));
    a->token_uri = arena_str(&a->arena, account_text(tree, "token_uri"));
    a->key_id = arena_str(&a->arena, key_id.n <= LIMIT_TOKEN_KID ? key_id : S(""));
    return a->email.p && a->project.p && a->token_uri.p && a->key_id.p;
}

/* Wipes cJSON's copy of the key. */
static void account_wipe_tree(cJSON *tree)
{
    cJSON *key = cJSON_GetObjectItemCaseSensitive(tree, "private_key");

    if (cJSON_IsString(key))
        OPENSSL_cleanse(key->valuestring, strlen(key->valuestring));
    cJSON_Delete(tree);
}

static bool account_read_json(struct fcm_account *a, struct str text, struct why *why)
{
    const char *field = NULL, *what = NULL;
    struct json_fault fault;
    cJSON *tree = NULL;

    if (json_parse(text, &tree, &fault))
        return why_false(why, "it is not JSON: %s, at byte %zu", fault.why, fault.offset);
    what = account_wrong_type(tree);
    if (!what)
        field = account_wrong_field(a, tree, &what);
    if (!what && !account_keep_texts(a, tree))
        what = "it needs more memory than there is";
    account_wipe_tree(tree);
    if (what)
        why_set(why, "%s%s%s", field ? field : "", field ? " " : "", what);
    return !what;
}

bool fcm_account_open(struct fcm_account *a, struct str credentials, struct why *why)
{
    struct buf file;
    bool fine;

    *a = (struct fcm_account){ 0 };
    arena_init(&a->arena, 8 * TEXT_MAX + LIMIT_SETTING);
    buf_init(&file, LIMIT_SETTING + 1);
    if (str_starts(credentials, S("{")))
        fine = account_read_json(a, credentials, why);
    else
        fine = account_read_file(a, credentials, &file, why) &&
               account_read_json(a, str_trim(buf_str(&file)), why);
    account_wipe(&file);
    if (!fine)
        fcm_account_close(a);
    return fine;
}

void fcm_account_close(struct fcm_account *a)
{
    EVP_PKEY_free(a->key); /* also wipes it */
    arena_release(&a->arena);
    *a = (struct fcm_account){ 0 };
}

/* --- the assertion --- */

static void account_add_header(struct buf *b, const struct fcm_account *a)
{
    buf_add(b, S("{\"alg\":\"RS256\",\"typ\":\"JWT\""));
    if (a->key_id.n) {
        buf_add(b, S(",\"kid\":"));
        buf_json(b, a->key_id);
    }
    buf_char(b, '}');
}

static void account_add_claims(struct buf *b, const struct fcm_account *a, int64_t now_s)
{
    int64_t end_s = now_s + LIFE_S;

    buf_add(b, S("{\"iss\":"));
    buf_json(b, a->email);
    buf_add(b, S(",\"scope\":\"" SCOPE "\",\"aud\":"));
    buf_json(b, a->token_uri);
    buf_fmt(b, ",\"iat\":%lld,\"exp\":%lld}", (long long)now_s, (long long)end_s);
}

static bool account_add_signature(struct buf *b, EVP_PKEY *key, struct str text)
{
    unsigned char signature[SIGNATURE_MAX];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t n = sizeof(signature);
    bool fine = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(ctx, signature, &n, (const unsigned char *)text.p, text.n) == 1;

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    if (!fine)
        return false;
    buf_char(b, '.');
    base64url_add(b, (struct str){ (const char *)signature, n });
    OPENSSL_cleanse(signature, sizeof(signature));
    return true;
}

struct str fcm_account_request(const struct fcm_account *a, struct arena *arena, int64_t now_ms)
{
    size_t prefix = strlen(GRANT);
    struct str request = { 0 };
    struct buf part, text;

    buf_init(&part, LIMIT_TOKEN);
    buf_init(&text, LIMIT_TOKEN);
    buf_add(&text, S(GRANT));
    account_add_header(&part, a);
    base64url_add(&text, buf_str(&part));
    buf_clear(&part);
    account_add_claims(&part, a, now_ms / 1000);
    buf_char(&text, '.');
    base64url_add(&text, buf_str(&part));
    if (!part.failed && !text.failed &&
        account_add_signature(&text, a->key, (struct str){ text.p + prefix, text.n - prefix }) &&
        !text.failed)
        request = arena_str(arena, buf_str(&text));
    buf_release(&part);
    account_wipe(&text);
    return request;
}
