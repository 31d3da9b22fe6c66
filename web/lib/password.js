/* password.js - a new password, typed twice; and one's own. */

import { get, post, setCsrf } from './api.js';
import { t } from './i18n.js';
import { confirmDialog, field, FieldError, toast } from './ui.js';
import { tellFields } from './parts.js';

const PASSWORD_MIN = 12; /* bytes, as the server wants them */
const secretField = (label, help, name, autocomplete = 'new-password') => field({ label, help, name, type: 'password', autocomplete });

/* Typed twice, for nobody sees what was typed: [field, field again, get() -> the password]. name: the server's for it. */
export function newPassword(name, label = t('login.password')) {
  const first = secretField(label, t('operators.password.help'), name);
  const again = secretField(t('operators.password.again'), null, 'again');
  return [first, again, () => {
    if (new TextEncoder().encode(first.input.value).length < PASSWORD_MIN) throw new FieldError(first, t('operators.password.help'));
    if (first.input.value !== again.input.value) throw new FieldError(again, t('operators.password.differ'));
    return first.input.value;
  }];
}

export async function askOwnPassword() {
  const current = secretField(t('password.current'), null, 'current', 'current-password');
  const [first, again, typed] = newPassword('new', t('password.new'));
  const done = await confirmDialog({
    title: t('password.title'), body: [current, first, again], confirm: t('password.submit'),
    action: () => tellFields([current, first, again], async () => {
      if (!current.input.value) throw new FieldError(current, t('ui.required'));
      await post('session/password', { current: current.input.value, new: typed() });
    }),
  });
  if (!done) return;
  toast(t('password.done'), 'good');
  const session = await get('session').catch(() => null); /* it may be a new one, or none: then the login comes */
  if (session) setCsrf(session.csrf);
}
