/* session.js - what a view has to know of the signed-in person and of others who acted. */

import { t } from './i18n.js';

/* A viewer sees no button that changes something. The server checks the role in any case. */
export const canOperate = (session) => session.user.role === 'operator';

/* The server reports the admin token by a fixed English name. */
export const personName = (name) => (name === 'admin token' ? t('login.token') : name);
