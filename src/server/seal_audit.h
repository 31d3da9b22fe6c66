/* seal_audit.h - seals the last rows of the audit log before a process ends. */
#pragma once

#include "server/node.h"

/* Seals the rows of the audit log (O6) that this process wrote. Where no server runs no other
 * process does that, and a row without a seal can be removed unnoticed. The work is bounded; the
 * next server seals the rows that are left. */
void node_seal_audit(struct node *n);
