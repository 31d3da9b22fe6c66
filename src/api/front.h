/* front.h - GET /: says what this server is, for a person who opens its address in a browser. */
#pragma once

#include "http/http.h"

void api_front(struct request *r, void *ctx); /* no ctx */
