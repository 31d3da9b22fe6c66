/* paypay.h - the PayPay adapter (G2): web cashier codes and user authorizations of PayPay's Open
 * Payment API, in yen. The intent's id is our own merchantPaymentId (id.h).
 *
 * PayPay returns the address of a code once. So a lost reply makes the code useless, and the next try
 * makes another one under another id of the same payment. */
#pragma once

#include "gateway/port.h"

struct client;

struct paypay_options { /* texts are copied */
    struct env *env;
    struct client *client; /* borrowed */
    struct str base;       /* https://apigw.paypay.ne.jp, or the sandbox's address */
    struct str api_key, api_secret, merchant_id;
};

struct gateway *paypay_gateway_new(const struct paypay_options *o); /* NULL: no memory */
