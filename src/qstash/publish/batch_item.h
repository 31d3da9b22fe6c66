/* batch_item.h - the items of a batch: [{"destination":"...","headers":{"name":"value"},
 * "body":"...","queue":"..."}]. The text is checked as a whole before any item is used. */
#pragma once

#include "base/json/json.h"
#include "qstash/publish/input.h"

struct batch_item {
    enum json_type type; /* of the item; the rest is set for an object */
    struct json_value destination, headers, body, queue;
};

/* VALIDATION: text is not a JSON array, or has more than LIMIT_QSTASH_ITEMS; *ret_fault says where
 * and why. The values borrow text, the list is in the arena. */
enum err batch_items_read(struct arena *a, struct str text, struct batch_item **ret_items,
                          size_t *ret_count, struct json_fault *ret_fault);

/* As input_read(); common has what the item does not say. */
enum err batch_item_input(struct arena *a, const struct batch_item *item,
                          const struct input_source *common, struct input *ret_input);
