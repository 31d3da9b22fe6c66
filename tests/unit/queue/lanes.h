/* lanes.h - PostgreSQL: who waits for a lane, and what does he hold meanwhile? Whoever locks
 * several takes them in one order (M9), so he holds none that come behind it. */
#pragma once

#include "unit/queue/rig.h"

static inline PGconn *lane_hold(struct rig *r, int64_t lane) /* as another node would */
{
    PGconn *c = PQconnectdb(r->url);
    char sql[64];

    snprintf(sql, sizeof(sql), "SELECT pg_advisory_lock(%lld)", (long long)lane);
    PQclear(PQexec(c, sql));
    return c;
}

/* Until somebody waits for it: how many lanes he has. Then it is his. */
static inline int64_t lane_leave(struct rig *r, PGconn *c)
{
    int64_t held = -1;

    for (int i = 0; i < 2000 && held < 0; i++) {
        while (!desk_is_empty(&r->den.desk))
            desk_next(&r->den.desk);
        den_fire(&r->den);
        held =
            sql_int(r, "SELECT (SELECT count(*) FROM pg_locks h WHERE h.pid = w.pid AND h.granted"
                       " AND h.locktype = 'advisory' AND h.objsubid = 1) FROM pg_locks w"
                       " WHERE w.locktype = 'advisory' AND w.objsubid = 1 AND NOT w.granted"
                       " AND w.database = (SELECT oid FROM pg_database WHERE datname ="
                       " current_database())");
    }
    PQfinish(c);
    return held;
}
