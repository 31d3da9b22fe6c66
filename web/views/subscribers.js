/* Who is told what happens to payments: servers that get a signed webhook. */

import { clear, h, user } from '../lib/dom.js';
import { del, get, isLost, post } from '../lib/api.js';
import { t, time } from '../lib/i18n.js';
import { badge, button, confirmDialog, copyable, field, FieldError, openDialog, pageHead, pager, table, toast } from '../lib/ui.js';
import { operates, tellFields } from '../lib/parts.js';

const TYPES = ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured', 'PaymentFailed', 'PaymentRefunded'];

/* The secret is in this one answer and never again. */
function showSecret(s) {
  const d = openDialog({
    title: t('subscribers.secret.title'),
    body: [h('p', {}, h('code', { class: 'wrap' }, user(s.url, 300))), h('p', { class: 'note warn' }, t('subscribers.secret.once')), h('p', { class: 'wrap' }, copyable(s.secret))],
    foot: button({ label: t('subscribers.secret.stored'), kind: 'primary', onclick() {
      d.busy(false);
      d.close();
    } }),
    keep: true,
  });
  d.busy(true); /* neither Escape nor a click beside it loses the secret */
  return d.closed;
}

/* There is no key that makes two of them one, so a lost answer is not tried again here: one looks. */
const orLost = (err) => {
  if (!isLost(err)) throw err;
  return { lost: true };
};

async function askAdd(changed, news) {
  const url = field({ label: t('subscribers.url'), name: 'url', type: 'url', autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', maxlength: 2000 });
  const boxes = TYPES.map((type) => field({ label: type, name: type, type: 'checkbox', value: true }));
  const chosen = () => TYPES.filter((_, i) => boxes[i].input.checked);
  const done = await confirmDialog({
    title: t('subscribers.add'), body: [url, h('fieldset', { class: 'choices' }, h('legend', {}, t('field.events')), boxes)], confirm: t('ui.add'),
    action: () => tellFields([url], () => {
      const types = chosen();
      if (!url.input.value.trim()) throw new FieldError(url, t('subscribers.url.required'));
      if (!types.length) throw new FieldError(boxes[0], t('subscribers.types.required'));
      return post('subscribers', { url: url.input.value.trim(), ...(types.length < TYPES.length && { types }) }).catch(orLost);
    }),
  });
  if (!done) return;
  changed();
  clear(news);
  if (!done.result.lost) return void showSecret(done.result);
  const text = t('subscribers.lost', { url: url.input.value.trim() });
  if (news.isConnected) clear(news, h('p', { class: 'note bad', role: 'alert' }, text));
  else toast(text, 'bad');
}

async function askRemove(s, changed) {
  const done = await confirmDialog({ title: t('subscribers.remove.title'), body: [h('p', {}, h('code', { class: 'wrap' }, user(s.url, 300))), h('p', {}, t('subscribers.remove.body'))], confirm: t('subscribers.remove'), danger: true,
    action: () => del(`subscribers/${encodeURIComponent(s.id)}`) });
  if (!done) return;
  toast(t('subscribers.removed'), 'good');
  changed();
}

function typesCell(s) {
  return s.types.includes('*') || !s.types.length ? t('subscribers.types.all') : h('span', { class: 'wrap' }, user(s.types.join(', '), 200));
}

export default {
  path: '/subscribers',
  title: 'subscribers.title',
  nav: true,
  role: 'viewer',
  async mount(root, { session, signal }) {
    const may = operates(session);
    const news = h('div', { class: 'news' });
    const columns = [
      { label: t('subscribers.url'), class: 'grow', cell: (s) => h('code', { class: 'wrap' }, user(s.url, 200)) },
      { label: t('field.events'), cell: typesCell },
      { label: t('field.state'), cell: (s) => badge(s.disabledAt ? 'disabled' : 'active', { tone: s.disabledAt ? 'bad' : 'good', label: t(s.disabledAt ? 'subscribers.disabled' : 'subscribers.active') }) },
      { label: t('field.added'), cell: (s) => time(s.createdAt, { seconds: false }) },
      ...(may ? [{ label: '', class: 'act-cell', cell: (s) => button({ label: `${t('subscribers.remove')}…`, small: true, onclick: () => askRemove(s, () => list.reload(true)) }) }] : []),
    ];
    const list = pager(() => get('subscribers', null, { signal }), (rows) => table({ columns, rows, caption: t('subscribers.title'), empty: { title: t('subscribers.none'), hint: t('subscribers.none.hint') } }), { signal });
    root.append(pageHead(t('subscribers.title'), { lead: t('subscribers.lead'), actions: may && button({ label: `${t('subscribers.add')}…`, kind: 'primary', onclick: () => askAdd(() => list.reload(true), news) }) }), news, list.el);
  },
};
