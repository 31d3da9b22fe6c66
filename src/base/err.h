/* err.h - the list of all errors: name, HTTP status, code on the wire, and text in English and
 * Japanese. A function that returns an err does not log it; the endpoint that answers logs it. */
#pragma once

#include <stdbool.h>

/*  X(name, status, code, English, Japanese) */
#define ERR_LIST(X)                                                                                \
    X(OK, 200, "OK", "Fine.", "正常です。")                                                        \
    /* what a caller did */                                                                        \
    X(ERR_VALIDATION, 400, "VALIDATION_ERROR", "The request is not valid.",                        \
      "リクエストの内容が正しくありません。")                                                      \
    X(ERR_SIGNATURE, 400, "SIGNATURE_INVALID", "The signature could not be verified.",             \
      "署名を検証できませんでした。")                                                              \
    X(ERR_UNAUTHORIZED, 401, "UNAUTHORIZED", "Credentials are missing or not valid.",              \
      "認証情報がないか、正しくありません。")                                                      \
    X(ERR_FORBIDDEN, 403, "FORBIDDEN", "You may not do this.", "この操作は許可されていません。")   \
    X(ERR_CREDENTIALS, 401, "INVALID_CREDENTIALS", "The name, password or token is wrong.",        \
      "ユーザー名、パスワード、またはトークンが正しくありません。")                                \
    X(ERR_CSRF, 403, "CSRF", "This did not come from our own page; load it again.",                \
      "管理画面からの操作として確認できません。再読み込みしてください。")                          \
    X(ERR_NOT_FOUND, 404, "NOT_FOUND", "There is no such thing here.", "見つかりませんでした。")   \
    X(ERR_METHOD, 405, "METHOD_NOT_ALLOWED", "This path does not take that method.",               \
      "このパスではそのメソッドは使えません。")                                                    \
    X(ERR_REQUEST_TIMEOUT, 408, "REQUEST_TIMEOUT", "The request took too long to arrive.",         \
      "リクエストの受信に時間がかかりすぎました。")                                                \
    X(ERR_KEY_REUSED, 409, "IDEMPOTENCY_CONFLICT", "This key was used for another request.",       \
      "このキーは別のリクエストで使われています。")                                                \
    X(ERR_TOO_LARGE, 413, "PAYLOAD_TOO_LARGE", "The body is larger than the limit.",               \
      "本文が上限を超えています。")                                                                \
    X(ERR_URI_TOO_LONG, 414, "URI_TOO_LONG", "The request line is longer than the limit.",         \
      "リクエスト行が上限を超えています。")                                                        \
    X(ERR_MEDIA_TYPE, 415, "UNSUPPORTED_MEDIA_TYPE", "This content type is not taken here.",       \
      "この Content-Type は受け付けられません。")                                                  \
    X(ERR_EXPECTATION, 417, "EXPECTATION_FAILED", "Only 100-continue can be expected.",            \
      "Expect には 100-continue だけが使えます。")                                                 \
    X(ERR_UNPROCESSABLE, 422, "UNPROCESSABLE", "The current state does not allow this.",           \
      "現在の状態ではこの操作はできません。")                                                      \
    X(ERR_PAYMENT_EXISTS, 422, "PAYMENT_EXISTS", "This was paid for, or is being paid for.",       \
      "すでに支払い済みか、支払い処理中です。")                                                    \
    X(ERR_RATE_LIMITED, 429, "TOO_MANY_REQUESTS", "Too many requests; slow down.",                 \
      "リクエストが多すぎます。間隔を空けてください。")                                            \
    X(ERR_HEADERS_TOO_LARGE, 431, "HEADERS_TOO_LARGE", "The headers are larger than the limit.",   \
      "ヘッダーが上限を超えています。")                                                            \
    /* what a QStash sends to a worker and must not send again (Q3) */                             \
    X(ERR_NON_RETRYABLE, 489, "NON_RETRYABLE", "Sending this again cannot help.",                  \
      "再送しても処理できません。")                                                                \
    X(ERR_NOT_IMPLEMENTED, 501, "NOT_IMPLEMENTED", "The server does not know this.",               \
      "サーバーが対応していない要求です。")                                                        \
    X(ERR_HTTP_VERSION, 505, "HTTP_VERSION_NOT_SUPPORTED", "Only HTTP/1.0 and 1.1 are spoken.",    \
      "HTTP/1.0 と 1.1 だけに対応しています。")                                                    \
    /* what stands in the database */                                                              \
    X(ERR_CONFLICT, 409, "CONFLICT", "It exists already.", "すでに存在します。")                   \
    X(ERR_STALE, 409, "STALE", "Somebody else moved it first.", "先に別の処理が更新しました。")    \
    X(ERR_CONSTRAINT, 500, "CONSTRAINT", "The database refused the change.",                       \
      "データベースが変更を拒否しました。")                                                        \
    X(ERR_SUM_TOO_LARGE, 500, "SUM_TOO_LARGE", "A sum of amounts does not fit into 64 bits.",      \
      "金額の合計が 64 ビットに収まりません。")                                                    \
    /* what happened to us */                                                                      \
    X(ERR_NO_MEMORY, 503, "NO_MEMORY", "The request needs more memory than it may have.",          \
      "メモリが不足しています。")                                                                  \
    X(ERR_OVERLOADED, 503, "OVERLOADED", "The server is full; try again shortly.",                 \
      "混雑しています。少し待ってから再送してください。")                                          \
    X(ERR_BACKLOG, 503, "BACKLOG_FULL", "Too much work is waiting; try again later.",              \
      "処理待ちが上限に達しています。後で再送してください。")                                      \
    X(ERR_SHUTTING_DOWN, 503, "SHUTTING_DOWN", "The server is stopping; try again.",               \
      "サーバーを停止しています。再送してください。")                                              \
    X(ERR_UNAVAILABLE, 503, "STORE_UNAVAILABLE", "The database cannot be reached; try again.",     \
      "データベースに接続できません。後で再送してください。")                                      \
    X(ERR_STORE_FULL, 503, "STORE_FULL", "The disk is full or read-only; nothing was stored.",     \
      "ディスクに書き込めません。保存されていません。")                                            \
    X(ERR_TIMEOUT, 503, "STORE_TIMEOUT", "The database took too long; try again.",                 \
      "データベースの応答が遅れています。再送してください。")                                      \
    /* A lost COMMIT or a lost reply: neither done nor not done. Ask, never guess. */              \
    X(ERR_UNCERTAIN, 503, "OUTCOME_UNKNOWN", "Whether it happened is not known yet.",              \
      "結果がまだ確認できていません。")                                                            \
    X(ERR_GATEWAY, 502, "GATEWAY_ERROR", "The payment provider failed.",                           \
      "決済サービスでエラーが発生しました。")                                                      \
    X(ERR_GATEWAY_TIMEOUT, 504, "GATEWAY_TIMEOUT", "The payment provider did not answer in time.", \
      "決済サービスが時間内に応答しませんでした。")                                                \
    X(ERR_INTERNAL, 500, "INTERNAL", "A fault of ours; it was logged.",                            \
      "サーバー内部でエラーが発生しました。")

#define ERR_NAME(name, status, code, en, ja) name,
enum err { ERR_LIST(ERR_NAME) ERR_COUNT };
#undef ERR_NAME

enum language { LANG_EN, LANG_JA };

int err_status(enum err e);
const char *err_code(enum err e);
const char *err_words(enum err e, enum language language);

/* True where the same action may succeed later without any change: the database is gone, overload,
 * a timeout. All other errors are terminal: a retry does not help (Q2). */
bool err_is_retryable(enum err e);
