/* router.h - finds the row of a struct route[] for a method and a path. The first match wins, so
 * "/payments/search" comes before "/payments/{id}". A name matches one whole segment that is not
 * empty. Segments are decoded before they are compared, unless the row is raw. */
#pragma once

#include "base/arena.h"
#include "http/http.h"

/* False: the table has a path without '/' at its start, too many names (a raw path has none), or a
 * row without handler. */
bool routes_are_sane(const struct route *routes, size_t count);

/* True: only raw rows match this path, so it is neither decoded nor checked. */
bool route_is_raw(const struct route *routes, size_t count, struct str raw_path);

/* NOT_FOUND: no row has this path. METHOD: some have, for the methods in *ret_allow ("GET, HEAD,
 * OPTIONS"). NO_MEMORY: the arena is full. HEAD falls to GET. */
enum err route_find(struct arena *a, const struct route *routes, size_t count, struct str method,
                    struct str raw_path, const struct route **ret_route,
                    struct str params[ROUTE_PARAMS], struct str *ret_allow);
