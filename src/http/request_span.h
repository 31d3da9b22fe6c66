/* request_span.h - the server's span of a request (O3): from its last byte to its reply. */
#pragma once

#include "http/http.h"

/* For server_options.replied. The whole span is written at the reply; nothing is kept before. */
void request_span(const struct request *r, int status);
