/* audit.h - the audit log for operators (O6): pages, verification of its seals, export. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

/* ctx is the struct store. */
/* GET /api/v1/admin/audit?operation=&paymentId=&userId=&subject=&result=&from=&to=&limit=&cursor=
 */
void api_audit_list(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/audit/verify?expect=&cursor= */
void api_audit_verify(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/audit/export?format=&cursor= ; X-Next-Cursor unless this is the last
 * part */
void api_audit_export(struct request *r, void *ctx, const struct principal *p);
