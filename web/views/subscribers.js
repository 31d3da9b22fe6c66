/* Subscribers: servers that receive payment events as signed webhooks. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { del, get, isOutcomeUnknown, post } from '../lib/api.js';
import { t, timeTag } from '../lib/i18n.js';
import { badge, button, pageHead, wrapped } from '../lib/ui.js';
import { toast } from '../lib/feedback.js';
import { copyable } from '../lib/copyable.js';
import { actionColumn, pager, table } from '../lib/table.js';
import { EXACT, field, FieldError, withFieldErrors } from '../lib/form.js';
import { confirmDialog, openDialog } from '../lib/dialog.js';
import { canOperate } from '../lib/session.js';

const TYPES = ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured', 'PaymentFailed', 'PaymentRefunded'];

/* The server returns the secret in this answer only, so nothing but the button closes the dialog. */
function showSecret(s) {
  const d = openDialog({
    title: t('subscribers.secret.title'),
    body: [h('p', {}, h('code', { class: 'wrap' }, untrusted(s.url, 300))), h('p', { class: 'note warn' }, t('subscribers.secret.once')), h('p', { class: 'wrap' }, copyable(s.secret))],
    foot: button({ label: t('subscribers.secret.stored'), kind: 'primary', onclick() {
      d.setBusy(false);
      d.close();
    } }),
    keep: true,
  });
  d.setBusy(true);
  return d.closed;
}

/* This request has no Idempotency-Key, so a lost answer is not retried: the reader is asked to check the list. */
const reportLost = (err) => {
  if (!isOutcomeUnknown(err)) throw err;
  return { lost: true };
};

async function addSubscriber(changed, notice) {
  const url = field({ label: t('subscribers.url'), name: 'url', type: 'url', autocomplete: 'off', ...EXACT, maxlength: 2000 });
  const boxes = TYPES.map((type) => field({ label: type, name: type, type: 'checkbox', value: true }));
  const chosen = () => TYPES.filter((_, i) => boxes[i].input.checked);
  const done = await confirmDialog({
    title: t('subscribers.add'), body: [url, h('fieldset', { class: 'choices' }, h('legend', {}, t('field.events')), boxes)], confirm: t('ui.add'),
    action: () => withFieldErrors([url], () => {
      const types = chosen();
      if (!url.input.value.trim()) throw new FieldError(url, t('subscribers.url.required'));
      if (!types.length) throw new FieldError(boxes[0], t('subscribers.types.required'));
      return post('subscribers', { url: url.input.value.trim(), ...(types.length < TYPES.length && { types }) }).catch(reportLost);
    }),
  });
  if (!done) return;
  changed();
  replaceContent(notice);
  if (!done.result.lost) return void showSecret(done.result);
  const text = t('subscribers.lost', { url: url.input.value.trim() });
  if (notice.isConnected) replaceContent(notice, h('p', { class: 'note bad', role: 'alert' }, text));
  else toast(text, 'bad');
}

async function removeSubscriber(s, changed) {
  const done = await confirmDialog({ title: t('subscribers.remove.title'), body: [h('p', {}, h('code', { class: 'wrap' }, untrusted(s.url, 300))), h('p', {}, t('subscribers.remove.body'))], confirm: t('subscribers.remove'), danger: true,
    action: () => del(`subscribers/${encodeURIComponent(s.id)}`) });
  if (!done) return;
  toast(t('subscribers.removed'), 'good');
  changed();
}

function typesCell(s) {
  return s.types.includes('*') || !s.types.length ? t('subscribers.types.all') : wrapped(s.types.join(', '), 200);
}

export default {
  path: '/subscribers',
  title: 'subscribers.title',
  nav: true,
  role: 'viewer',
  async mount(root, { session, signal }) {
    const notice = h('div', { class: 'result' });
    const columns = [
      { label: t('subscribers.url'), class: 'grow', cell: (s) => h('code', { class: 'wrap' }, untrusted(s.url, 200)) },
      { label: t('field.events'), cell: typesCell },
      { label: t('field.state'), cell: (s) => badge(s.disabledAt ? 'disabled' : 'active', { tone: s.disabledAt ? 'bad' : 'good', label: t(s.disabledAt ? 'subscribers.disabled' : 'subscribers.active') }) },
      { label: t('field.added'), cell: (s) => timeTag(s.createdAt, { seconds: false }) },
      ...actionColumn(session, (s) => button({ label: `${t('subscribers.remove')}…`, small: true, onclick: () => removeSubscriber(s, () => list.reload(true)) })),
    ];
    const list = pager(() => get('subscribers', null, { signal }), (rows) => table({ columns, rows, caption: t('subscribers.title'), empty: { title: t('subscribers.none'), hint: t('subscribers.none.hint') } }), { signal });
    root.append(pageHead(t('subscribers.title'), { lead: t('subscribers.lead'), actions: canOperate(session) && button({ label: `${t('subscribers.add')}…`, kind: 'primary', onclick: () => addSubscriber(() => list.reload(true), notice) }) }), notice, list.el);
  },
};
