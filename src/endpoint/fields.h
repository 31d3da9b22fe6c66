/* fields.h - reads the JSON object in a request's body and reports everything that is wrong with it
 * in one answer (P5). It builds a tree: the routes that must be cheap, like POST /payments, have a
 * reader of their own (api/payment_input.h). */
#pragma once

#include "base/json/json.h"
#include "booking/booking.h"
#include "http/http.h"

/* The body as an object. False: 415 or 400 was answered. */
bool fields_body(struct request *r, cJSON **ret_object) ANSWERS;

/* Initializes an empty list in the request's language. */
void fields_problems(struct request *r, struct json_problems *p);
/* True: the list is not empty, and 400 was answered with all of it. Releases the list either
 * way. */
bool fields_refused(struct request *r, struct json_problems *p) ANSWERS;
/* The same, but an error e of the reading itself is answered in place of the list. */
bool fields_failed(struct request *r, struct json_problems *p, enum err e) ANSWERS;
/* Answers 400 with this one problem. */
void fields_refuse(struct request *r, const char *field, const char *en, const char *ja);

#define FIELDS_UNKNOWN_WORDS "is not a field of this request", "このリクエストにない項目です"
bool fields_knows(const char *const *names, size_t n, const char *name);
/* Reports every member that is not among the names: it may be a misspelt field that matters. */
void fields_only(const cJSON *object, const char *const *names, size_t n, struct json_problems *p);
bool fields_uuid(const cJSON *object, const char *field, bool required, struct uuid *ret_id,
                 struct json_problems *p);
bool fields_currency(const cJSON *object, bool required, char ret_code[4], struct json_problems *p);

/* A copy that lives as long as the request; the text itself ends with the tree. Sets *no_memory on
 * failure and never clears it. */
struct str fields_keep(struct request *r, struct str text, bool *no_memory);

/* The first parameter of the path. False: 400 was answered. */
bool fields_path_id(struct request *r, struct uuid *ret_id) ANSWERS;

/* Reads userId, amount, currency, status and version. required: the first three must be given. */
void fields_booking(const cJSON *object, bool required, struct booking_change *c,
                    struct json_problems *p);
