/* All views, in the order of the navigation. A view without `nav` is the detail of another one. web/views/README.md says
 * what a view is. */

import overview from './overview.js';
import payments from './payments.js';
import payment from './payment.js';
import transfers from './transfers.js';
import collections from './collections.js';
import collection from './collection.js';
import campaigns from './campaigns.js';
import campaign from './campaign.js';
import deadLetters from './dead_letters.js';
import deadLetter from './dead_letter.js';
import queues from './queues.js';
import events from './events.js';
import notifications from './notifications.js';
import subscribers from './subscribers.js';
import alerts from './alerts.js';
import reconciliation from './reconciliation.js';
import audit from './audit.js';
import sandbox from './sandbox.js';
import settings from './settings.js';
import operators from './operators.js';

export const groups = [
  { views: [overview] },
  { title: 'nav.money', views: [payments, payment, transfers, collections, collection, campaigns, campaign] },
  { title: 'nav.processing', views: [deadLetters, deadLetter, queues, events, notifications, subscribers] },
  { title: 'nav.system', views: [alerts, reconciliation, audit, sandbox, settings, operators] },
];

export const views = groups.flatMap((g) => g.views);
