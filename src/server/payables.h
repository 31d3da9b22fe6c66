/* payables.h - what payments are for, by their context: the table that payment/payable.h asks. */
#pragma once

#include "payment/payable.h"

extern const struct payables server_payables;
