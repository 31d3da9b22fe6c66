/* fields.h - reading a JSON object that came with a request, and saying all that is wrong with it
 * at once (P5). For the routes where a tree is cheap enough. */
#pragma once

#include "base/json/json.h"
#include "booking/booking.h"
#include "http/http.h"

/* The body as an object. False: 415 or 400 was answered. */
bool fields_body(struct request *r, cJSON **ret_object) ANSWERS;

void fields_problems(struct request *r, struct json_problems *p); /* empty, in its language */
/* True: there are problems, 400 was answered with all of them. Releases the list either way. */
bool fields_refused(struct request *r, struct json_problems *p) ANSWERS;
/* The same after a reading that may itself have failed, which is answered instead. */
bool fields_failed(struct request *r, struct json_problems *p, enum err e) ANSWERS;
/* Answers 400 with this one problem. */
void fields_refuse(struct request *r, const char *field, const char *en, const char *ja);

/* Every member that is not among the names is a problem: it may be a misspelt one that matters. */
void fields_only(const cJSON *object, const char *const *names, size_t n, struct json_problems *p);
bool fields_uuid(const cJSON *object, const char *field, bool required, struct uuid *ret_id,
                 struct json_problems *p);
bool fields_currency(const cJSON *object, bool required, char ret_code[4], struct json_problems *p);

/* Texts live as long as the tree; this copy as long as the request. Sets *no_memory, or leaves it.
 */
struct str fields_keep(struct request *r, struct str text, bool *no_memory);

/* The first parameter of the path. False: 400 was answered. */
bool fields_path_id(struct request *r, struct uuid *ret_id) ANSWERS;

/* userId, amount, currency, status, version. required: the first three must be there. */
void fields_booking(const cJSON *object, bool required, struct booking_change *c,
                    struct json_problems *p);
