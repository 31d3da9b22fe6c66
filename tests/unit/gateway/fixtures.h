/* fixtures.h - what Stripe sends, written with ' for " so that it can be read. */
#pragma once

#include "base/str.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

#define PAYMENT "0189c2f0-0000-7000-8000-000000000001"
#define OTHER_PAYMENT "0189c2f0-0000-7000-8000-0000000000ee"
#define REFUND "0189c2f0-0000-7000-8000-000000000002"

/* Cut short: what a table row needs. */
#define INTENT(status, more)                                                                       \
    "{'id':'pi_1','object':'payment_intent','amount':2000,'amount_received':0,'currency':'jpy',"   \
    "'client_secret':'pi_1_secret_x','latest_charge':null,'last_payment_error':null,"              \
    "'next_action':null,'metadata':{'payment_id':'" PAYMENT "'},'status':'" status "'" more "}"
#define INTENT_PAID                                                                                \
    "{'id':'pi_1','object':'payment_intent','amount':2000,'amount_received':1500,"                 \
    "'currency':'jpy','metadata':{'payment_id':'" PAYMENT "'},'latest_charge':'ch_1',"             \
    "'status':'succeeded'}"
#define INTENT_DECLINED_1                                                                          \
    "{'id':'pi_1','object':'payment_intent','amount':2000,'amount_received':0,'currency':'jpy',"   \
    "'latest_charge':'ch_1','last_payment_error':{'type':'card_error','code':'card_declined',"     \
    "'decline_code':'insufficient_funds','message':'残高が不足しています。'},"          \
    "'metadata':{'payment_id':'" PAYMENT "'},'status':'requires_payment_method'}"
#define REFUND_OBJECT(status)                                                                      \
    "{'id':'re_1','object':'refund','amount':700,'charge':'ch_1','currency':'jpy',"                \
    "'metadata':{'refund_id':'" REFUND "','payment_id':'" PAYMENT "'},'payment_intent':'pi_1',"    \
    "'status':'" status "'}"
#define SESSION(status, more)                                                                      \
    "{'id':'cs_1','object':'checkout.session','client_reference_id':'" PAYMENT "',"                \
    "'status':'" status "','payment_status':'unpaid','url':null,'expires_at':1760086400" more "}"
#define ERROR(type, code, more)                                                                    \
    "{'error':{'type':'" type "','code':'" code "','message':'words'" more "}}"

/* Whole ones, with the keys of API version 2026-10-28.endive. */
#define CARD_DETAILS                                                                               \
    "{'card':{'amount_authorized':2000,'authorization_code':'123456','brand':'visa',"              \
    "'capture_before':1760604800,'checks':{'address_line1_check':null,"                            \
    "'address_postal_code_check':null,'cvc_check':'pass'},'country':'JP','exp_month':12,"          \
    "'exp_year':2030,'extended_authorization':{'status':'disabled'},'fingerprint':'f1',"           \
    "'funding':'credit','incremental_authorization':{'status':'unavailable'},"                     \
    "'installments':null,'last4':'4242','mandate':null,'multicapture':{'status':'unavailable'},"   \
    "'network':'visa','network_token':{'used':false},'network_transaction_id':'42',"               \
    "'overcapture':{'maximum_amount_capturable':2000,'status':'unavailable'},"                     \
    "'regulated_status':'unregulated','three_d_secure':null,'wallet':null},'type':'card'}"

#define WHOLE_CHARGE(captured, amount_captured, balance)                                           \
    "{'id':'ch_3RWG','object':'charge','amount':2000,'amount_captured':" amount_captured ","       \
    "'amount_refunded':0,'application':null,'application_fee':null,"                               \
    "'application_fee_amount':null,'balance_transaction':" balance                                 \
    ",'billing_details':{'address':{'city':null,'country':null,'line1':null,'line2':null,"         \
    "'postal_code':null,'state':null},'email':null,'name':'山田 \\u592a郎','phone':null,"       \
    "'tax_id':null},'calculated_statement_descriptor':'ICHIDO','captured':" captured               \
    ",'created':1760000000,'currency':'jpy','customer':null,'description':'予約 #1234',"         \
    "'disputed':false,'failure_balance_transaction':null,'failure_code':null,"                     \
    "'failure_message':null,'fraud_details':{},'livemode':false,'metadata':{'payment_id':"         \
    "'" PAYMENT "'},'on_behalf_of':null,'outcome':{'advice_code':null,"                            \
    "'network_advice_code':null,'network_decline_code':null,'network_status':"                     \
    "'approved_by_network','reason':null,'risk_level':'normal','risk_score':12,"                   \
    "'seller_message':'Payment complete.','type':'authorized'},'paid':true,"                       \
    "'payment_intent':'pi_3RWG','payment_method':'pm_1','payment_method_details':" CARD_DETAILS    \
    ",'radar_options':{},'receipt_email':null,'receipt_number':null,"                              \
    "'receipt_url':'https://pay.stripe.com/receipts/x?s=ap\\u0026y','refunded':false,"             \
    "'review':null,'shipping':null,'source':null,'source_transfer':null,"                          \
    "'statement_descriptor':null,'statement_descriptor_suffix':null,'status':'succeeded',"         \
    "'transfer_data':null,'transfer_group':null}"

#define WHOLE_INTENT(status, received, latest, error, action)                                      \
    "{'id':'pi_3RWG','object':'payment_intent','allowed_payment_method_types':['card'],"           \
    "'amount':2000,'amount_capturable':0,'amount_details':{'tip':{}},"                             \
    "'amount_received':" received ",'application':null,'application_fee_amount':null,"             \
    "'automatic_payment_methods':null,'canceled_at':null,'cancellation_reason':'expired',"         \
    "'capture_method':'manual','client_secret':'pi_3RWG_secret_0123456789abcdefghijklmno',"        \
    "'confirmation_method':'automatic','created':1760000000,'currency':'jpy','customer':null,"     \
    "'customer_account':null,'description':'予約 #1234','excluded_payment_method_types':null,"   \
    "'last_payment_error':" error ",'latest_charge':" latest                                       \
    ",'livemode':false,'managed_payments':{'enabled':false},'metadata':{'booking_id':'b-1',"       \
    "'context':'booking','payment_id':'" PAYMENT "','user_id':'u-1'},"                             \
    "'next_action':" action                                                                        \
    ",'on_behalf_of':null,'payment_method':'pm_1','payment_method_configuration_details':null,"    \
    "'payment_method_options':{'card':{'installments':null,'mandate_options':null,"                \
    "'network':null,'request_three_d_secure':'automatic'}},'payment_method_types':['card'],"       \
    "'payment_record':null,'processing':null,'receipt_email':null,'review':null,"                  \
    "'setup_future_usage':null,'shipping':null,'source':null,'statement_descriptor':null,"         \
    "'statement_descriptor_suffix':null,'status':'" status "','transfer_data':null,"               \
    "'transfer_group':null}"

#define WHOLE_REFUND(status, more)                                                                 \
    "{'id':'re_3RWG','object':'refund','amount':700,'balance_transaction':'txn_2',"                \
    "'charge':'ch_3RWG','created':1760000100,'currency':'jpy','customer':null,"                    \
    "'customer_account':null,'destination_details':{'card':{'reference_status':'pending',"         \
    "'reference_type':'acquirer_reference_number','type':'refund'},'type':'card'},"                \
    "'metadata':{'payment_id':'" PAYMENT "','refund_id':'" REFUND "'},'payment_intent':'pi_3RWG'," \
    "'payment_method':'pm_1','reason':'requested_by_customer','receipt_number':null,"              \
    "'source_transfer_reversal':null,'status':'" status "','transfer_reversal':null" more "}"

#define WHOLE_SESSION(status, payment_status, intent, reference, metadata)                         \
    "{'id':'cs_test_a1','object':'checkout.session','adaptive_pricing':{'enabled':false},"         \
    "'after_expiration':null,'allow_promotion_codes':null,'amount_subtotal':3000,"                 \
    "'amount_total':3000,'automatic_tax':{'enabled':false,'liability':null,'status':null},"        \
    "'billing_address_collection':null,'cancel_url':'https://s.example/no',"                       \
    "'client_reference_id':" reference ",'client_secret':null,'collected_information':null,"       \
    "'consent':null,'created':1760000000,'currency':'jpy','currency_conversion':null,"             \
    "'custom_fields':[],'custom_text':{'after_submit':null,'submit':null},'customer':null,"        \
    "'customer_creation':'if_required','customer_details':{'address':null,'email':"                \
    "'a@example.com','name':'山田','phone':null,'tax_exempt':'none','tax_ids':[]},"              \
    "'customer_email':'a@example.com','discounts':[],'expires_at':1760086400,'invoice':null,"      \
    "'livemode':false,'locale':null,'metadata':" metadata ",'mode':'payment',"                     \
    "'payment_intent':" intent ",'payment_link':null,'payment_method_collection':'if_required',"   \
    "'payment_method_options':{'card':{'request_three_d_secure':'automatic'}},"                    \
    "'payment_method_types':['card'],'payment_status':'" payment_status "','permissions':null,"    \
    "'setup_intent':null,'shipping_cost':null,'status':'" status "','submit_type':null,"           \
    "'subscription':null,'success_url':'https://s.example/ok','total_details':"                    \
    "{'amount_discount':0,'amount_shipping':0,'amount_tax':0},'ui_mode':'hosted',"                 \
    "'url':'https://checkout.stripe.com/c/pay/cs_test_a1#fid\\u002fx','wallet_options':null}"

#define WHOLE_DISPUTE(status, intent, charge)                                                      \
    "{'id':'dp_3RWG','object':'dispute','amount':2000,'balance_transaction':'txn_3',"              \
    "'balance_transactions':[{'id':'txn_3','amount':-2000,'fee':1500,'net':-3500}],"               \
    "'charge':" charge ",'created':1760000200,'currency':'jpy',"                                   \
    "'enhanced_eligibility_types':[],'evidence':{'customer_name':null,'receipt':null},"            \
    "'evidence_details':{'due_by':1760900000,'enhanced_eligibility':{},'has_evidence':false,"      \
    "'past_due':false,'submission_count':0},'intended_submission_method':null,"                    \
    "'is_charge_refundable':false,'livemode':false,'metadata':{},'payment_intent':" intent         \
    ",'payment_method_details':{'card':{'brand':'visa','case_type':'chargeback',"                  \
    "'network_reason_code':'83'},'type':'card'},'reason':'fraudulent','status':'" status "'}"

#define EVENT(type, object)                                                                        \
    "{\n  'id': 'evt_3RWG',\n  'object': 'event',\n  'api_version': '2026-10-28.endive',\n"        \
    "  'created': 1760000001,\n  'data': {\n    'object': " object "\n  },\n"                      \
    "  'livemode': false,\n  'pending_webhooks': 1,\n  'request': {\n    'id': 'req_1',\n"         \
    "    'idempotency_key': 'k-1'\n  },\n  'type': '" type "'\n}"

/* The same with ". The caller frees it. */
UNUSED static char *json_of(const char *single)
{
    char *text = strdup(single);

    assert_non_null(text);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    return text;
}

UNUSED static void expect_str(const char *what, struct str s, const char *wanted)
{
    if (!str_eq(s, str_of(wanted)))
        fail_msg("%s is \"" STR_FMT "\", not \"%s\"", what, STR_ARG(s), wanted);
}
