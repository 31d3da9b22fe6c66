#include "store/json_values.h"

void out_val_uuid(struct buf *b, const char *name, const struct val *v)
{
    struct uuid id;

    if (v->type == VAL_BLOB && uuid_of_bytes(v->s, &id))
        out_uuid(b, name, id);
    else
        out_json(b, name, S("null"));
}

void out_val_text(struct buf *b, const char *name, const struct val *v)
{
    out_text(b, name, v->type == VAL_TEXT ? v->s : (struct str){ 0 });
}
