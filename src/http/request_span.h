/* request_span.h - the server's span of a request (O3): from its last byte to its reply. */
#pragma once

#include "http/http.h"

/* For server_options.replied: nothing is kept while the request is answered, all of it is known at
 * the end. */
void request_span(const struct request *r, int status);
