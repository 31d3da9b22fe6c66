/* wire.c - writes bytes to the socket: at once if the kernel takes them, else by a queued write. */
#include "http/conn.h"

#include <stdlib.h>
#include <string.h>

struct waiting_write {
    uv_write_t write;
    struct conn *conn;
    size_t n;
    char bytes[];
};

static void on_written(uv_write_t *write, int status)
{
    struct waiting_write *w = CONTAINER_OF(write, struct waiting_write, write);
    struct conn *c = w->conn;

    c->queued -= w->n;
    free(w);
    if (c->closing)
        return;
    if (status < 0)
        conn_close(c);
    else if (!c->queued)
        conn_write_done(c);
}

static bool wait_for_peer(struct conn *c, struct str bytes)
{
    struct waiting_write *w = malloc(sizeof(*w) + bytes.n);
    uv_buf_t buf;

    if (!w) {
        conn_close(c);
        return false;
    }
    w->conn = c;
    w->n = bytes.n;
    memcpy(w->bytes, bytes.p, bytes.n);
    buf = uv_buf_init(w->bytes, (unsigned)bytes.n);
    c->queued += bytes.n;
    if (uv_write(&w->write, (uv_stream_t *)&c->tcp, &buf, 1, on_written) == 0)
        return true;
    c->queued -= bytes.n;
    free(w);
    conn_close(c);
    return false;
}

bool wire_send(struct conn *c, struct str bytes)
{
    uv_buf_t buf = uv_buf_init((char *)bytes.p, (unsigned)bytes.n); // NOLINT: libuv takes no const
    int n;

    if (c->closing)
        return false;
    if (!bytes.n)
        return true;
    n = c->queued ? UV_EAGAIN : uv_try_write((uv_stream_t *)&c->tcp, &buf, 1);
    if (n < 0 && n != UV_EAGAIN) {
        conn_close(c);
        return false;
    }
    if (n < 0)
        n = 0;
    bytes.p += n;
    bytes.n -= (size_t)n;
    return !bytes.n || wait_for_peer(c, bytes);
}

bool wire_write(struct conn *c, struct buf *bytes)
{
    bool sent = wire_send(c, buf_str(bytes));

    if (bytes->size > LIMIT_PENDING)
        buf_release(bytes);
    buf_clear(bytes);
    return sent;
}
