/* fact.h - a fact as compact JSON, for a queue message, and back. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "domain/payment.h"

struct str fact_write(struct arena *a, const struct fact *f); /* NULL .p: no memory */
/* VALIDATION: not what fact_write() wrote. Texts point into `text` or the arena. */
enum err fact_read(struct arena *a, struct str text, struct fact *ret_fact);
