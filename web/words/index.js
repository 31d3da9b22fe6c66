/* All texts of the page, one file an area. A key is '<area>.<name>' and exists in both languages; tools/words checks that. */

import common from './common.js';
import login from './login.js';
import overview from './overview.js';
import payments from './payments.js';
import timeline from './timeline.js';
import alerts from './alerts.js';
import audit from './audit.js';
import campaigns from './campaigns.js';
import collections from './collections.js';
import dlq from './dlq.js';
import events from './events.js';
import notifications from './notifications.js';
import operators from './operators.js';
import queues from './queues.js';
import reconciliation from './reconciliation.js';
import sandbox from './sandbox.js';
import settings from './settings.js';
import status from './status.js';
import subscribers from './subscribers.js';
import transfers from './transfers.js';

export default [common, login, overview, payments, timeline, alerts, audit, campaigns, collections, dlq, events, notifications, operators, queues, reconciliation, sandbox, settings, status, subscribers, transfers];
