/* answer.h - what the result of one HTTP request means. It writes only to the call: fact,
 * error_code, error_message. */
#pragma once

#include "gateway/port.h"
#include "gateway/tries.h"

struct stripe_verdict {
    enum gateway_answer answer; /* if no further try follows */
    bool again;                 /* another try may end better */
    bool maybe;                 /* this try may have had its effect */
    bool look;                  /* it was refused; a GET shows the state of the session */
    struct str more;            /* a list: what is looked for may stand behind this id */
};

/* timed_out: the request took all the time it had. */
struct stripe_verdict stripe_judge(struct gateway_call *c, const struct call *http, bool timed_out);

bool stripe_moves_nothing(const struct call *http); /* a GET, which may be sent at any time */
