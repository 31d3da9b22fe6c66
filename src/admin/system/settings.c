#include "admin/system/settings.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"

#include <string.h>

enum { ANSWER_MAX = 2 * LIMIT_SETTINGS };

static bool setting_is_made(const struct api_settings *api, const char *name)
{
    for (size_t i = 0; i < SETTINGS_MADE; i++)
        if (api->made[i] && strcmp(api->made[i], name) == 0)
            return true;
    return false;
}

static const char *setting_source(const struct api_settings *api, const struct setting_view *v)
{
    static const char *const words[] = { [SETTING_DEFAULT] = "default",
                                         [SETTING_ENVIRONMENT] = "environment",
                                         [SETTING_CONFIG] = "file",
                                         [SETTING_CONTENTS] = "file" };

    return setting_is_made(api, v->name) ? "made" : words[v->source];
}

static void settings_add_all(struct buf *b, const struct api_settings *api)
{
    struct setting_view v;
    struct buf text;

    buf_init(&text, LIMIT_SETTING + 64);
    for (size_t i = 0; settings_view(api->settings, i, &text, &v); i++) {
        buf_add(b, i ? S(",{") : S("{"));
        out_text(b, "name", str_of(v.name));
        out_text(b, "value", v.value);
        out_text(b, "source", str_of(setting_source(api, &v)));
        out_bool(b, "secret", v.secret);
        out_bool(b, "set", v.set);
        buf_char(b, '}');
        b->failed |= text.failed;
    }
    buf_release(&text);
}

void api_settings_list(struct request *r, void *ctx, const struct principal *p)
{
    struct buf b;

    (void)p;
    if (!query_read(r, NULL, 0, NULL))
        return;
    buf_init(&b, ANSWER_MAX);
    buf_add(&b, S("{\"data\":["));
    settings_add_all(&b, ctx);
    buf_add(&b, S("]}"));
    if (b.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 200, S("application/json"), buf_str(&b));
    buf_release(&b);
}
