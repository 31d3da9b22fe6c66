#include "server/payables.h"

#include "booking/booking.h"
#include "campaign/purchase.h"
#include "collection/collection.h"

const struct payables server_payables = { .of = {
                                              [CONTEXT_BOOKING] = &booking_subject,
                                              [CONTEXT_PURCHASE] = &purchase_subject,
                                              [CONTEXT_PARTICIPANT] = &participant_subject,
                                          } };
