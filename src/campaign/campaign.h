/* campaign.h - a campaign sells positions in layers; when all are sold, winners are drawn (C1, C3,
 * C6).
 *
 *   (1) In every commit: positions_sold = reserved + sold, positions_paid = sold, total_revenue = the
 *       sum of the purchases' revenue (D14).
 *   (2) Status: active -> sold_out -> drawn, or active -> cancelled, or sold_out -> cancelled while
 *       it is not drawn. Never back.
 *   (3) Nothing is reserved or sold unless the campaign is active, and the UPDATE that counts it
 *       checks that. So a cancellation finds everything that was bought before.
 *   (4) What is needed to check the draw is published: the commitment before the first sale, the seed
 *       and the entries with the result (lottery.h). */
#pragma once

#include "domain/money.h"
#include "payment/payments.h"

enum { CAMPAIGN_TITLE_MAX = 200, LAYER_NAME_MAX = 100, LAYERS_MAX = 50, POSITIONS_MAX = 10000 };

struct layer_input {
    struct str name;
    int64_t price, positions;
};

struct campaign_input { /* validated by the endpoint */
    struct uuid id, created_by;
    struct str title;
    char currency[4];
    int64_t winners;
    struct layer_input *layers;
    size_t layer_count;
};

enum campaign_put { CAMPAIGN_MADE, CAMPAIGN_UNCHANGED, CAMPAIGN_DIFFERS };

/* Makes a campaign with its layers and positions. UNCHANGED: it exists with the same input. DIFFERS:
 * it exists with another input, and nothing is changed. */
enum err campaign_put(struct tx *tx, const struct campaign_input *in, int64_t now_ms,
                      enum campaign_put *ret_put);

/* The campaign with its layers, counters, commitment; NOT_FOUND. */
enum err campaign_json(struct tx *tx, struct arena *a, struct uuid id, struct str *ret_json);
/* All campaigns, newest first, without their layers. before: the last one of the previous page; NULL:
 * the first page. */
enum err campaigns_json(struct tx *tx, struct arena *a, const struct uuid *before, int limit,
                        struct str *ret_json);

struct position_filter {
    struct uuid campaign;
    struct uuid viewer; /* the user whose positions are `mine` */
    bool sees_all;      /* service or admin: also sees the holders */
    bool has_layer;
    struct uuid layer;
    struct str status; /* empty: all */
    int64_t after;     /* number, exclusive */
    int limit;
};
/* NOT_FOUND: there is no such campaign. */
enum err positions_json(struct tx *tx, struct arena *a, const struct position_filter *f,
                        struct str *ret_json);
/* NOT_FOUND. */
enum err campaign_exists(struct tx *tx, struct uuid id);

/* Ends the sales; the job "campaign.cancel" cancels open intents and refunds sold positions, some at
 * a time (C1). Does nothing the second time. UNPROCESSABLE: the campaign is drawn. NOT_FOUND. */
enum err campaign_cancel(struct tx *tx, struct payments *pp, struct uuid id, struct uuid by,
                         int64_t now_ms);
struct job_kind campaign_cancel_kind(struct payments *pp);
/* A refund that had succeeded has failed. If the campaign is cancelled, that purchase is refunded
 * again. */
enum err campaign_give_back(struct tx *tx, struct payments *pp, struct uuid campaign,
                            struct uuid purchase, int64_t now_ms);

/* --- counters, for purchase_payable.c; they change in the commit that changes the position. If one
 * of these fails, the unit of work has to fail, too. --- */

/* One position more is reserved (by +1) or released (by -1) in its layer and campaign. UNAVAILABLE:
 * by is +1, and the campaign was cancelled meanwhile; a rerun reads its status. */
enum err campaign_count(struct tx *tx, struct uuid campaign, struct uuid layer, int by,
                        int64_t now_ms);
/* One position more is sold. If it was the last, the job of the draw is added. UNAVAILABLE: as
 * above. */
enum err campaign_sold(struct tx *tx, struct payments *pp, struct uuid campaign, int64_t now_ms);
/* Revenue, up or down. */
enum err campaign_revenue(struct tx *tx, struct uuid campaign, int64_t by, int64_t now_ms);
