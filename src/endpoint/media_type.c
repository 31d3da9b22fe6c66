#include "endpoint/media_type.h"

static bool is_utf8_charset(struct str parameter)
{
    struct str name = str_trim(str_cut(&parameter, '='));
    struct str value = str_trim(parameter);

    if (!str_eq_nocase(name, S("charset")))
        return true; /* JSON defines no parameters, so others are ignored */
    if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
        value = (struct str){ value.p + 1, value.n - 2 };
    return str_eq_nocase(value, S("utf-8"));
}

bool media_type_is_json(struct str content_type)
{
    if (!str_eq_nocase(str_trim(str_cut(&content_type, ';')), S("application/json")))
        return false;
    while (content_type.n)
        if (!is_utf8_charset(str_trim(str_cut(&content_type, ';'))))
            return false;
    return true;
}
