/* transfers.h - bank transfers for operators (G4): importing a bank's statement, matching deposits
 * to payments, and recording what was sent back. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "payment/payments.h"

/* ctx is the struct payments. */

/* POST /api/v1/admin/transfers/imports?name=&dryRun=&account=&currency=&charset=&date=&amount=
 * &text=&balance=&id=&from=&limit= with a bank's CSV */
void api_transfer_import(struct request *r, void *ctx, const struct principal *p);
/* GET .../imports, /api/v1/admin/transfers?state=&reference=, .../lines?state=, .../returns?state=
 */
void api_transfer_imports(struct request *r, void *ctx, const struct principal *p);
void api_transfer_list(struct request *r, void *ctx, const struct principal *p);
void api_transfer_lines(struct request *r, void *ctx, const struct principal *p);
void api_transfer_returns(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/transfers/{paymentId}/confirm */
void api_transfer_confirm(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/transfers/lines/{id}/assign, .../set-aside */
void api_transfer_assign(struct request *r, void *ctx, const struct principal *p);
void api_transfer_set_aside(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/transfers/returns/{id}/paid, /api/v1/admin/refunds/{id}/paid */
void api_transfer_paid(struct request *r, void *ctx, const struct principal *p);
