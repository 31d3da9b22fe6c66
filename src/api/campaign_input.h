/* campaign_input.h - reads the body of PUT /campaigns/{id}: what a campaign consists of. */
#pragma once

#include "campaign/campaign.h"
#include "http/http.h"

/* Reads and checks the body; texts go to the request's arena. False: the answer was sent, and it
 * names every bad field (P5). */
bool campaign_input_read(struct request *r, struct campaign_input *ret_input) ANSWERS;
