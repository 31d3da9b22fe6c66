/* reconciliations.h - the daily comparisons with the provider's ledger, for operators (E11). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "reconcile/reconcile.h"

struct api_reconciliations {
    struct store *store;
    struct reconcile *reconcile;
};

/* GET /api/v1/admin/reconciliations?limit=&cursor= */
void api_reconciliation_list(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/reconciliations/{day}: JSON, or CSV with Accept: text/csv or {day}.csv */
void api_reconciliation_get(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/reconciliations/{day}: 202, the comparison was queued */
void api_reconciliation_run(struct request *r, void *ctx, const struct principal *p);
