#include "api/front.h"

void api_front(struct request *r, void *ctx)
{
    (void)ctx;
    reply_send(r, 200, S("text/plain; charset=utf-8"),
               S("Ichido - payments that happen once.\n\n"
                 "POST /api/v1/webhooks/stripe   the provider's door\n"
                 "GET  /healthz                  the process lives\n"
                 "GET  /readyz                   the store takes writes, no work is overdue\n"
                 "GET  /metrics                  numbers for Prometheus\n"));
}
