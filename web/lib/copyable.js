/* copyable.js - ids and JSON with a button that copies them. */

import { h, truncate, untrusted } from './dom.js';
import { toast } from './feedback.js';
import { t } from './i18n.js';
import { tokensOf } from './json_text.js';
import { icon } from './ui.js';

const SHORT_ID = 13; /* the first 8 characters of a UUIDv7 are equal for about a minute */
const JSON_MAX = 100000;

async function copyText(text, near) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { /* The clipboard API needs https or localhost; elsewhere the older command still works. */
    const field = h('textarea', { class: 'off-screen', 'aria-hidden': 'true', value: text });
    near.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  toast(t('ui.copied'));
}

/* An id with a copy button. short: how many characters are shown; href: makes it a link. */
export function copyable(text, { short = 0, href } = {}) {
  if (text === null || text === undefined || text === '') return h('span', { class: 'faint' }, '–');
  const shown = h('code', { title: truncate(String(text), 200) }, untrusted(text, short || 200));
  const box = h('span', { class: 'copyable' }, href ? h('a', { href }, shown) : shown,
    h('button', { type: 'button', class: 'copy', title: t('ui.copy'), 'aria-label': `${t('ui.copy')}: ${truncate(String(text), 60)}`,
      onclick: (e) => { e.stopPropagation(); copyText(String(text), box); } }, icon('copy')));
  return box;
}

/* The beginning of a UUID; the copy button copies all of it. */
export const copyableId = (id, href) => (id ? copyable(id, { short: SHORT_ID, href }) : null);

function colouredJson(text) {
  const parts = [];
  let at = 0;
  for (const { kind, from, to } of tokensOf(text)) {
    parts.push(text.slice(at, from), h('span', { class: `json-${kind}` }, text.slice(from, to)));
    at = to;
  }
  parts.push(text.slice(at));
  return parts;
}

/* A value as JSON, or a text that may be JSON. What is too long is cut off; the copy button copies all of it. */
export function jsonView(value, { label } = {}) {
  let data = value;
  if (typeof value === 'string') {
    try {
      data = JSON.parse(value);
    } catch {
      data = undefined; /* The text is not JSON: it is shown as it is. */
    }
  }
  const all = data === undefined ? String(value) : JSON.stringify(data, null, 2);
  const shown = truncate(all, JSON_MAX);
  const box = h('div', { class: 'json' },
    h('pre', { tabindex: '0', 'aria-label': label || 'JSON', dir: 'ltr' }, data === undefined ? shown : colouredJson(shown)),
    h('button', { type: 'button', class: 'copy', title: t('ui.copy'), 'aria-label': t('ui.copy'), onclick: () => copyText(all, box) }, icon('copy')),
    all.length > JSON_MAX && h('p', { class: 'faint small' }, t('ui.cut', { n: all.length })));
  return box;
}
