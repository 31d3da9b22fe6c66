/* settings.h - GET /api/v1/admin/settings: every setting, where it comes from, and no secret (O8,
 * A4). */
#pragma once

#include "auth/auth.h"
#include "base/settings/settings.h"
#include "http/http.h"

enum { SETTINGS_MADE = 3 };

struct api_settings {
    const struct settings *settings;
    const char *made[SETTINGS_MADE]; /* names of settings that the program generated; NULL: none */
};

/* ctx: struct api_settings */
void api_settings_list(struct request *r, void *ctx, const struct principal *p);
