/* password.js - the two fields of a new password, and the dialog that changes one's own password. */

import { get, post, setCsrf } from './api.js';
import { t } from './i18n.js';
import { toast } from './feedback.js';
import { field, FieldError, withFieldErrors } from './form.js';
import { confirmDialog } from './dialog.js';

const PASSWORD_MIN = 12; /* bytes, as the server counts them */
const secretField = (label, help, name, autocomplete = 'new-password') => field({ label, help, name, type: 'password', autocomplete });

/* Returns [field, second field, read()]. read() returns the password, or throws a FieldError if it is too short or the two
 * differ. name: the JSON field that the server expects. */
export function newPasswordFields(name, label = t('login.password')) {
  const first = secretField(label, t('operators.password.help'), name);
  const again = secretField(t('operators.password.again'), null, 'again');
  return [first, again, () => {
    if (new TextEncoder().encode(first.input.value).length < PASSWORD_MIN) throw new FieldError(first, t('operators.password.help'));
    if (first.input.value !== again.input.value) throw new FieldError(again, t('operators.password.differ'));
    return first.input.value;
  }];
}

export async function changeOwnPassword() {
  const current = secretField(t('password.current'), null, 'current', 'current-password');
  const [first, again, readPassword] = newPasswordFields('new', t('password.new'));
  const done = await confirmDialog({
    title: t('password.title'), body: [current, first, again], confirm: t('password.submit'),
    action: () => withFieldErrors([current, first, again], async () => {
      if (!current.input.value) throw new FieldError(current, t('ui.required'));
      await post('session/password', { current: current.input.value, new: readPassword() });
    }),
  });
  if (!done) return;
  toast(t('password.done'), 'good');
  const session = await get('session').catch(() => null); /* the server may have renewed the session; if it ended, the login is shown */
  if (session) setCsrf(session.csrf);
}
