/* titles.c - the table of kinds. The ranks order the entries of one millisecond: a call, the
 * payment that it made, the tries, the changes that they caused, and notifications last. */
#include "timeline/entries.h"

#include <assert.h>

enum { FIRST, MADE, TRIED, CAME, REPEATED, WORKED, MOVED, AGAIN, TOLD };

static const struct timeline_kind kinds[] = {
    { LANE_CALL, "create", FIRST, "Create payment", "支払いの作成" },
    { LANE_CALL, "capture", FIRST, "Capture", "売上確定" },
    { LANE_CALL, "refund", FIRST, "Refund", "返金" },
    { LANE_CALL, "void", FIRST, "Void", "取消" },

    { LANE_OPERATOR, "create", FIRST, "Payment created by an operator",
      "担当者による支払いの作成" },
    { LANE_OPERATOR, "capture", FIRST, "Capture by an operator", "担当者による売上確定" },
    { LANE_OPERATOR, "refund", FIRST, "Refund by an operator", "担当者による返金" },
    { LANE_OPERATOR, "void", FIRST, "Void by an operator", "担当者による取消" },
    { LANE_OPERATOR, "transfer", FIRST, "Bank transfer recorded", "振込の入金を記録" },
    { LANE_OPERATOR, "refund_paid", FIRST, "Refund sent by bank transfer", "返金の振込を記録" },
    { LANE_OPERATOR, "dlq_delete", AGAIN, "Dead letter deleted", "デッドレターを削除" },
    { LANE_OPERATOR, "event_replay", AGAIN, "Event applied again", "イベントを再適用" },
    { LANE_OPERATOR, "act", FIRST, "Act of an operator", "担当者の操作" },

    { LANE_REPLAY, "replay", AGAIN, "Same key again", "同じキーで再送" },

    { LANE_GATEWAY, "authorize", TRIED, "Gateway: authorize", "決済事業者へ: 与信" },
    { LANE_GATEWAY, "capture", TRIED, "Gateway: capture", "決済事業者へ: 売上確定" },
    { LANE_GATEWAY, "void", TRIED, "Gateway: cancel", "決済事業者へ: 取消" },
    { LANE_GATEWAY, "refund", TRIED, "Gateway: refund", "決済事業者へ: 返金" },
    { LANE_GATEWAY, "fetch", TRIED, "Gateway: ask for the payment", "決済事業者へ: 支払いの照会" },
    { LANE_GATEWAY, "fetch_refund", TRIED, "Gateway: ask for the refund",
      "決済事業者へ: 返金の照会" },
    { LANE_GATEWAY, "checkout", TRIED, "Gateway: open a payment page",
      "決済事業者へ: 決済ページの作成" },
    { LANE_GATEWAY, "expire", TRIED, "Gateway: close the payment page",
      "決済事業者へ: 決済ページの終了" },
    { LANE_GATEWAY, "call", TRIED, "Gateway", "決済事業者へ" },

    { LANE_WEBHOOK, "duplicate", REPEATED, "Event again", "Webhook 再受信（重複）" },
    { LANE_WEBHOOK, "event", CAME, "Event", "Webhook 受信" },

    { LANE_QUEUE, "automatic_void", WORKED, "Cancelled by Ichido itself", "自動の取消" },
    { LANE_QUEUE, "automatic_refund", WORKED, "Refunded by Ichido itself", "自動の返金" },
    { LANE_QUEUE, "dead_letter", MOVED, "Dead letter", "デッドレター" },
    { LANE_QUEUE, "retry", AGAIN, "Redriven from the dead letters", "デッドレターから再実行" },
    { LANE_QUEUE, "try", WORKED, "Try failed", "処理に失敗" },

    { LANE_NOTIFICATION, "notification", TOLD, "Notification", "通知" },

    { LANE_STATE, "PaymentCreated", MADE, "PENDING", "支払い待ち (PENDING)" },
    { LANE_STATE, "PaymentAuthorized", MOVED, "AUTHORIZED", "与信済み (AUTHORIZED)" },
    { LANE_STATE, "PaymentCaptured", MOVED, "CAPTURED", "売上確定済み (CAPTURED)" },
    { LANE_STATE, "PaymentRefunded", MOVED, "Money went back", "返金あり" },
    { LANE_STATE, "PaymentVoided", MOVED, "REFUNDED: voided, nothing was taken",
      "取消済み (REFUNDED)" },
    { LANE_STATE, "PaymentFailed", MOVED, "FAILED", "失敗 (FAILED)" },
    { LANE_STATE, "refund_asked", MADE, "Refund asked for", "返金を依頼" },
    { LANE_STATE, "transaction_made", MADE, "Made at the gateway", "決済事業者側に取引を作成" },
    { LANE_STATE, "dispute_opened", MADE, "Dispute opened", "異議申し立てを受付" },
    { LANE_STATE, "refund", WORKED, "Refund", "返金の状態" },
    { LANE_STATE, "transaction", MOVED, "At the gateway", "決済事業者側の取引" },
    { LANE_STATE, "dispute", MOVED, "Dispute", "異議申し立て" },
    { LANE_STATE, "lapsing", MOVED, "The authorisation lapses within 24 hours",
      "与信が 24 時間以内に失効" },
    { LANE_STATE, "booking_cancelled", MOVED, "The booking was cancelled", "予約のキャンセル" },
    { LANE_STATE, "campaign_cancelled", MOVED, "The campaign was cancelled", "キャンペーンの中止" },
    { LANE_STATE, "note", MOVED, "Noted", "記録" },
};

const struct timeline_kind *timeline_kind_of(enum timeline_lane lane, struct str name)
{
    const struct timeline_kind *other = NULL;

    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (kinds[i].lane != lane)
            continue;
        other = &kinds[i];
        if (str_eq(str_of(other->name), name))
            return other;
    }
    assert(other);
    return other;
}

const char *timeline_lane_name(enum timeline_lane l)
{
    static const char *const names[] = {
        [LANE_CALL] = "call",         [LANE_REPLAY] = "replay",
        [LANE_GATEWAY] = "gateway",   [LANE_WEBHOOK] = "webhook",
        [LANE_QUEUE] = "queue",       [LANE_NOTIFICATION] = "notification",
        [LANE_OPERATOR] = "operator", [LANE_STATE] = "state",
    };

    return names[l];
}

const char *timeline_result_name(enum timeline_result r)
{
    static const char *const names[] = {
        [RESULT_OK] = "ok",
        [RESULT_FAILED] = "failed",
        [RESULT_WAITING] = "waiting",
        [RESULT_UNKNOWN] = "unknown",
        [RESULT_DUPLICATE] = "duplicate",
        [RESULT_SUPERSEDED] = "superseded",
        [RESULT_IGNORED] = "ignored",
        [RESULT_RETRIED] = "retried",
        [RESULT_DEAD] = "dead",
        [RESULT_SKIPPED] = "skipped",
    };

    return names[r];
}
