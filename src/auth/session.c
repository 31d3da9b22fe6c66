/* session.c - tokens, cookies and rows of sessions, and the check of a request.
 *
 *   cookie --> SHA-256 --> the row, read in a unit of work --> csrf and origin --> then()
 *
 * A session is a row and nothing else: it survives a restart, and ends on all nodes at once. */
#include "auth/session.h"

#include "auth/base64url.h"
#include "base/limits.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

enum { TOKEN_BYTES = 32 };

_Static_assert(BASE64URL_SIZE(TOKEN_BYTES) == SESSION_TOKEN, "the token's text");

static struct str bytes_of(const unsigned char *p, size_t n)
{
    return (struct str){ (const char *)p, n };
}

/* --- values derived from a token --- */

static bool session_hash(struct str token, const unsigned char *admin,
                         unsigned char ret[SESSION_HASH])
{
    unsigned char in[SESSION_TOKEN + SESSION_HASH];
    size_t n = token.n;
    bool ok;

    memcpy(in, token.p, token.n);
    if (admin) {
        memcpy(in + n, admin, SESSION_HASH);
        n += SESSION_HASH;
    }
    ok = EVP_Digest(in, n, ret, NULL, EVP_sha256(), NULL) == 1;
    OPENSSL_cleanse(in, sizeof(in));
    return ok;
}

static bool session_csrf(struct str token, char ret[SESSION_CSRF + 1])
{
    unsigned char mac[SESSION_HASH];
    unsigned n = 0;

    if (!HMAC(EVP_sha256(), token.p, (int)token.n, (const unsigned char *)"csrf", 4, mac, &n))
        return false;
    *base64url_put(ret, bytes_of(mac, n)) = '\0';
    return true;
}

/* --- beginning and ending --- */

static int64_t session_end_ms(int64_t created_ms, int64_t seen_ms)
{
    int64_t idle = seen_ms + LIMIT_SESSION_IDLE_MS, last = created_ms + LIMIT_SESSION_MS;

    return idle < last ? idle : last;
}

static bool is_admin_token(struct uuid user)
{
    return uuid_eq(user, (struct uuid){ 0 });
}

bool session_new(const struct sessions *s, struct uuid user, char ret_token[SESSION_TOKEN + 1],
                 struct session *ret)
{
    int64_t now_ms = env_now_ms(s->env);
    unsigned char bytes[TOKEN_BYTES];
    struct str token = { ret_token, SESSION_TOKEN };

    rng_bytes(&s->env->rng, bytes, sizeof(bytes));
    *base64url_put(ret_token, bytes_of(bytes, sizeof(bytes))) = '\0';
    OPENSSL_cleanse(bytes, sizeof(bytes));
    *ret = (struct session){ .user = user, .created_ms = now_ms, .seen_ms = now_ms };
    ret->expires_ms = session_end_ms(now_ms, now_ms);
    return session_hash(token, is_admin_token(user) ? s->admin : NULL, ret->hash) &&
           session_csrf(token, ret->csrf);
}

enum err session_add(struct tx *tx, const struct session *s)
{
    struct val user = V_BLOB(uuid_bytes(&s->user));
    enum err e =
        TX_DO(tx, STMT_sessions_prune, -1, V_INT(s->created_ms), V_INT(LIMIT_SESSIONS_PRUNED));

    if (e)
        return e;
    e = TX_DO(tx, STMT_sessions_trim, -1, user, V_INT(LIMIT_SESSIONS - 1));
    if (e)
        return e;
    return TX_DO(tx, STMT_session_add, 1, V_BLOB(bytes_of(s->hash, SESSION_HASH)), user,
                 V_TEXT(s->name), V_TEXT(s->viewer ? S("viewer") : S("operator")),
                 V_INT(s->created_ms), V_INT(s->expires_ms));
}

enum err session_leave(struct tx *tx, const struct session *s)
{
    struct row row;

    return TX_ROW(tx, STMT_session_end, &row, V_BLOB(bytes_of(s->hash, SESSION_HASH)));
}

bool session_before(const struct sessions *s, const struct request *r, struct session_before *ret)
{
    struct str token = s->store ? session_token(r) : (struct str){ 0 };

    *ret = (struct session_before){ .any = token.n > 0 };
    return !token.n ||
           (session_hash(token, NULL, ret->person) && session_hash(token, s->admin, ret->admin));
}

enum err session_replace(struct tx *tx, const struct session_before *b, int64_t now_ms,
                         struct session *ret)
{
    struct row row;
    enum err e;

    if (!b->any)
        return ERR_NOT_FOUND;
    e = TX_ROW(tx, STMT_session_replace, &row, V_BLOB(bytes_of(b->person, SESSION_HASH)),
               V_BLOB(bytes_of(b->admin, SESSION_HASH)), V_INT(now_ms));
    if (e)
        return e;
    *ret = (struct session){ .name = row.col[1].s };
    return uuid_of_bytes(row.col[0].s, &ret->user) ? OK : ERR_INTERNAL;
}

/* --- the origin of a request --- */

/* "https://pay.example.jp/x" -> "https://pay.example.jp" */
static struct str url_origin(struct str url)
{
    struct str rest = url, scheme = str_cut(&rest, ':');

    if (rest.n < 2 || rest.p[0] != '/' || rest.p[1] != '/')
        return (struct str){ 0 };
    rest = (struct str){ rest.p + 2, rest.n - 2 };
    return (struct str){ url.p, scheme.n + 3 + str_cut(&rest, '/').n };
}

static bool origin_is_ours(const struct sessions *s, const struct request *r, struct str origin)
{
    struct str host = request_header(r, S("Host"), NULL), rest = origin;
    struct str ours = url_origin(s->public_url), scheme = str_cut(&rest, ':');

    if (ours.n && str_eq_nocase(ours, origin))
        return true;
    return host.n && (str_eq(scheme, S("http")) || str_eq(scheme, S("https"))) &&
           rest.n == host.n + 2 && str_starts(rest, S("//")) &&
           str_eq_nocase((struct str){ rest.p + 2, host.n }, host);
}

bool session_same_site(const struct sessions *s, const struct request *r)
{
    size_t sites, origins;
    struct str site = request_header(r, S("Sec-Fetch-Site"), &sites);
    struct str origin = request_header(r, S("Origin"), &origins);

    if (sites && !str_eq(site, S("same-origin")) && !str_eq(site, S("none")))
        return false;
    return !origins || origin_is_ours(s, r, origin);
}

/* --- the cookie --- */

static bool is_token(struct str text)
{
    if (text.n != SESSION_TOKEN)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_'))
            return false;
    }
    return true;
}

struct str session_token(const struct request *r)
{
    struct str found = { 0 };
    int count = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        struct str rest = r->headers[i].value;

        if (!str_eq_nocase(r->headers[i].name, S("Cookie")))
            continue;
        while (rest.n) {
            struct str value = str_trim(str_cut(&rest, ';'));

            if (!str_eq(str_cut(&value, '='), S(SESSION_COOKIE)))
                continue;
            found = value;
            count++;
        }
    }
    return count == 1 && is_token(found) ? found : (struct str){ 0 };
}

/* --- a check --- */

struct session_check { /* one request's, in its arena */
    struct unit unit;
    const struct sessions *sessions;
    struct request *r;
    session_then then;
    void *ctx;
    unsigned char person[SESSION_HASH], admin[SESSION_HASH];
    struct session session;
    int64_t now_ms;
};

static bool session_of_row(struct session_check *v, const struct row *row)
{
    struct session *s = &v->session;
    bool by_admin;

    if (row->col[0].s.n != SESSION_HASH || !uuid_of_bytes(row->col[1].s, &s->user))
        return false;
    memcpy(s->hash, row->col[0].s.p, SESSION_HASH);
    by_admin = v->sessions->admin && CRYPTO_memcmp(s->hash, v->admin, SESSION_HASH) == 0;
    s->name = arena_str(&v->r->arena, row->col[3].s);
    s->viewer = !str_eq(row->col[4].s, S("operator"));
    s->created_ms = row->col[5].i;
    s->seen_ms = row->col[6].i;
    s->expires_ms = row->col[7].i;
    return is_admin_token(s->user) ? by_admin : !by_admin && row->col[2].type != VAL_NULL;
}

static enum err read_session(struct tx *tx, struct unit *u)
{
    struct session_check *v = CONTAINER_OF(u, struct session_check, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_session_read, &row, V_BLOB(bytes_of(v->person, SESSION_HASH)),
                        V_BLOB(bytes_of(v->admin, SESSION_HASH)), V_INT(v->now_ms));

    if (e == ERR_NOT_FOUND || (!e && !session_of_row(v, &row)))
        return ERR_UNAUTHORIZED;
    return e ? e : v->session.name.p ? OK : ERR_NO_MEMORY;
}

static enum err session_write_seen(struct tx *tx, struct unit *u)
{
    struct session_check *v = CONTAINER_OF(u, struct session_check, unit);

    return TX_DO(tx, STMT_session_seen, -1, V_INT(v->now_ms), V_INT(v->session.expires_ms),
                 V_BLOB(bytes_of(v->session.hash, SESSION_HASH)));
}

static bool method_is_safe(const struct request *r)
{
    return str_eq(r->method, S("GET")) || str_eq(r->method, S("HEAD"));
}

static bool request_has_csrf(const struct session_check *v)
{
    struct str given = request_header(v->r, S("X-CSRF-Token"), NULL);

    return given.n == SESSION_CSRF && CRYPTO_memcmp(given.p, v->session.csrf, SESSION_CSRF) == 0;
}

/* The page marks the requests that it repeats by itself, without a person. A request that changes
 * something is never one of them. */
static bool request_is_poll(const struct request *r)
{
    return method_is_safe(r) && str_eq(request_header(r, S("X-Ichido-Poll"), NULL), S("1"));
}

/* The request is answered whether or not the time of use could be written. */
static void session_seen_done(struct unit *u)
{
    struct session_check *v = CONTAINER_OF(u, struct session_check, unit);

    v->then(v->r, v->ctx, OK, &v->session);
}

static void session_admit(struct session_check *v)
{
    static const struct unit_kind kind = { "session.seen", UNIT_FRONT, session_write_seen, NULL };
    struct session *s = &v->session;

    if (v->now_ms - s->seen_ms < LIMIT_SESSION_SEEN_MS || request_is_poll(v->r)) {
        v->then(v->r, v->ctx, OK, s);
        return;
    }
    s->seen_ms = v->now_ms;
    s->expires_ms = session_end_ms(s->created_ms, v->now_ms);
    v->unit = (struct unit){ .kind = &kind, .executor = v->r->executor, .done = session_seen_done };
    store_post(v->sessions->store, &v->unit);
}

static void session_row_read(struct unit *u)
{
    struct session_check *v = CONTAINER_OF(u, struct session_check, unit);

    if (u->err)
        v->then(v->r, v->ctx, u->err, NULL);
    else if (!method_is_safe(v->r) &&
             !(session_same_site(v->sessions, v->r) && request_has_csrf(v)))
        v->then(v->r, v->ctx, ERR_CSRF, NULL);
    else
        session_admit(v);
}

void session_check(const struct sessions *s, struct request *r, session_then then, void *ctx)
{
    static const struct unit_kind kind = { "session.read", UNIT_READ, read_session, NULL };
    struct str token = s->store ? session_token(r) : (struct str){ 0 };
    struct session_check *v;

    if (!token.n) {
        then(r, ctx, ERR_UNAUTHORIZED, NULL);
        return;
    }
    v = arena_alloc(&r->arena, 1, sizeof(*v));
    if (!v || !session_hash(token, NULL, v->person) || !session_hash(token, s->admin, v->admin) ||
        !session_csrf(token, v->session.csrf)) {
        then(r, ctx, ERR_NO_MEMORY, NULL);
        return;
    }
    v->sessions = s;
    v->r = r;
    v->then = then;
    v->ctx = ctx;
    v->now_ms = env_now_ms(s->env);
    v->unit = (struct unit){
        .kind = &kind, .executor = r->executor, .done = session_row_read, .arena = &r->arena
    };
    store_post(s->store, &v->unit);
}
