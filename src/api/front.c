#include "api/front.h"

void api_front(struct request *r, void *ctx)
{
    (void)ctx;
    reply_send(
        r, 200, S("text/plain; charset=utf-8"),
        S("Ichido - payments that happen once.\n\n"
          "POST /payments                 pay for a booking (Idempotency-Key); also GET,\n"
          "                               /payments/{id}, and capture, refund, void below it\n"
          "     /api/v1/...               bookings, campaigns, purchases, collections\n"
          "     /api/v1/admin/...         for operators\n"
          "GET  /admin                    the operator's page, for a browser\n"
          "POST /api/v1/webhooks/stripe   the provider's door\n"
          "     /v2/...                   the queue, as QStash's SDK speaks to it\n"
          "GET  /healthz                  the process lives\n"
          "GET  /readyz                   the store takes writes, no work is overdue\n"
          "GET  /metrics                  numbers for Prometheus\n\n"
          "api/openapi.yaml and docs/ say the rest.\n"));
}
