/* transfer_input.h - reads the requests about bank transfers. Unknown parameters and fields are
 * rejected. */
#pragma once

#include "http/http.h"
#include "transfer/find.h"
#include "transfer/import.h"

/* Each returns false if 400 or 415 was answered. Texts live as long as the request. */
bool transfer_read_import(struct request *r, struct transfer_import *ret_import) ANSWERS;

enum transfer_list { LIST_TRANSFERS, LIST_LINES, LIST_IMPORTS, LIST_RETURNS, TRANSFER_LISTS };
bool transfer_read_page(struct request *r, enum transfer_list list,
                        struct transfer_page *ret_page) ANSWERS;

bool transfer_read_confirm(struct request *r, struct transfer_word *ret_word) ANSWERS;
bool transfer_read_assign(struct request *r, struct line_order *ret_order) ANSWERS;
bool transfer_read_set_aside(struct request *r, struct line_order *ret_order) ANSWERS;
bool transfer_read_paid(struct request *r, struct return_word *ret_word) ANSWERS;
