/* front.h - GET /: what stands here, for whoever opens the address in a browser. */
#pragma once

#include "http/http.h"

void api_front(struct request *r, void *ctx); /* no ctx */
