/* campaign_input.h - what a campaign is made of, as a request says it. */
#pragma once

#include "campaign/campaign.h"
#include "http/http.h"

/* Reads and checks the body; texts go to the request's arena. False: the answer was sent, with
 * every bad field named (P5). */
bool campaign_input_read(struct request *r, struct campaign_input *ret_input) ANSWERS;
