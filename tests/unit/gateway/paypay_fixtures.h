/* paypay_fixtures.h - what PayPay says, written with ' for ". */
#pragma once

#include "unit/gateway/fixtures.h"

#define HEX "0189c2f0000070008000000000000001"
#define REFUND_HEX "0189c2f0000070008000000000000002"
#define CAPTURE_ID /* of the key ichido-op-1: 24 bytes of its SHA-256 */                           \
    "c-137b6913443201f09f1630418a621fdf51116983b0f1f3d2"
#define REPLY(code, data)                                                                          \
    "{'resultInfo':{'code':'" code "','message':'words','codeId':'08100001'},'data':" data "}"
#define FAULT(code) REPLY(code, "null")
#define YEN(n) "{'amount':" #n ",'currency':'JPY'}"
#define ID_PAY(id, status, amount, more)                                                           \
    "{'paymentId':'04510001','status':'" status "','acceptedAt':1760000000,"                       \
    "'merchantPaymentId':'" id "','requestedAt':1760000000,'amount':" amount ",'metadata':{}" more \
    "}"
#define PAY(status, more) ID_PAY(HEX, status, YEN(2000), more)
#define CAPTURE(id, status, n)                                                                     \
    ",'captures':{'data':[{'acceptedAt':1760000100,'merchantCaptureId':'" id                       \
    "','amount':" YEN(n) ",'orderDescription':'x','requestedAt':1760000100,'status':'" status      \
                         "'}]}"
#define REFUND_OF(id, status, n)                                                                   \
    "{'status':'" status "','acceptedAt':1760000200,'merchantRefundId':'" id                       \
    "','paymentId':'04510001','amount':" YEN(n) ",'requestedAt':1760000200,'reason':'r'}"
#define CODE(id, amount)                                                                           \
    "{'codeId':'04-abc','url':'https://qr.paypay.ne.jp/x1','deeplink':'paypay://x',"               \
    "'expiryDate':1760000300,'merchantPaymentId':'" id "','amount':" amount                        \
    ",'codeType':'ORDER_QR','requestedAt':1760000000,'isAuthorization':true}"
