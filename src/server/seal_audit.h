/* seal_audit.h - the last rows of the audit log, before a process ends. */
#pragma once

#include "server/node.h"

/* Seals what is in the audit (O6), for who wrote there and ends: where no server runs nobody else
 * does, and a row without a seal can be taken away unseen. Bounded; what is left of it, or fails,
 * is the next server's. */
void node_seal_audit(struct node *n);
