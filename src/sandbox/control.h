/* control.h - what the files behind /_sandbox share. Only they include this. */
#pragma once

#include "base/buf.h"
#include "sandbox/parts.h"

/* Answers with the text, or with NO_MEMORY where it did not fit; releases it. */
void control_reply(struct request *r, int status, struct str type, struct buf *text);
/* The raw value in the query; empty where it is not there. */
struct str control_query(const struct request *r, struct str name);

void control_books(struct request *r, void *sandbox);        /* books.c */
void control_ask_customer(struct request *r, void *sandbox); /* authenticate.c */
void control_authenticate(struct request *r, void *sandbox);
