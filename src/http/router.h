/* router.h - finds the row of a struct route[] for a method and a path. The first row that fits
 * wins, so "/payments/search" stands before "/payments/{id}". A name takes one whole segment that
 * is not empty; segments are compared and given decoded, unless the row is raw. */
#pragma once

#include "base/arena.h"
#include "http/http.h"

/* False: a path without '/' at its start, too many names (a raw one has none) or no handler: a
 * fault of the table. */
bool routes_are_sane(const struct route *routes, size_t count);

/* This path is for raw rows alone, of whatever method: nobody is to decode or judge it. */
bool route_is_raw(const struct route *routes, size_t count, struct str raw_path);

/* NOT_FOUND: no row has this path. METHOD: some have, for the methods in *ret_allow ("GET, HEAD,
 * OPTIONS"). NO_MEMORY: the arena is full. HEAD falls to GET. */
enum err route_find(struct arena *a, const struct route *routes, size_t count, struct str method,
                    struct str raw_path, const struct route **ret_route,
                    struct str params[ROUTE_PARAMS], struct str *ret_allow);
