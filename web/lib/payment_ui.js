/* payment_ui.js - how lists and details show a payment: names, badges, links, columns. */

import { h, untrusted } from './dom.js';
import { agoTag, hasText, money, t, timeTag } from './i18n.js';
import { badge } from './ui.js';
import { copyableId } from './copyable.js';
import { translateServerText } from './server_text.js';

/* Why an operation was started: a client, an operator, or a rule such as 'stray:pi_1'. A refund that was given no reason has
 * this as its reason. */
export function causeName(cause) {
  const [, name, about] = /^([a-z_]+)(?::(.*))?$/s.exec(cause || '') || [];
  return name && hasText(`payments.cause_${name}`) ? [t(`payments.cause_${name}`), about].filter(Boolean).join(' ') : translateServerText(cause);
}

export const paymentHref = (id) => `#/payments/${encodeURIComponent(id)}`;
export const paymentLink = (id) => (id ? copyableId(id, paymentHref(id)) : null);
export const idEnding = (id) => (String(id).length > 14 ? `…${String(id).slice(-8)}` : String(id));

/* What the payment pays for: [text key, id], or null. */
export function payableOf(p) {
  if (p.bookingId) return ['payments.booking', p.bookingId];
  if (p.purchaseId) return ['payments.purchase', p.purchaseId];
  if (p.participantId) return ['payments.participant', p.participantId];
  return null;
}

/* The API reports a void as REFUNDED with nothing captured. It is shown as voided, because no money was returned. */
export const shownStatus = (p) => (p.status === 'REFUNDED' && !p.capturedAmount ? 'VOIDED' : p.status);

/* The state, and what the state alone does not show: a partial refund, a dispute, an operation in progress. */
export function paymentBadges(p) {
  const refunded = p.status === 'CAPTURED' && p.refundedAmount > 0;
  return h('span', { class: 'badges' },
    badge(shownStatus(p)),
    refunded && badge('part', { tone: 'calm', label: t('payments.part_refunded') }),
    p.disputed && badge('disputed'),
    p.openOperation && badge('open_operation', { tone: p.openOperation.phase === 'unknown' ? 'warn' : 'busy', label: t('payments.in_progress', { what: operationName(p.openOperation.kind) }) }));
}

export function operationName(kind) {
  const known = { create: t('payments.create'), capture: t('payments.capture'), refund: t('payments.refund'), void: t('payments.void') };
  return known[kind] || String(kind);
}

export function paymentColumns({ brief = false } = {}) {
  return [
    { label: t('field.created'), class: 'nowrap', cell: (p) => (brief ? agoTag(p.createdAt) : timeTag(p.createdAt)) },
    { label: t('field.amount'), align: 'right', cell: (p) => h('span', { class: 'strong' }, money(p.amount, p.currency)) },
    { label: t('field.state'), cell: paymentBadges },
    { label: t('payments.description'), class: 'rest', cell: (p) => h('span', { class: 'cut' }, untrusted(p.description, 120) || h('span', { class: 'faint' }, payableText(p))) },
    !brief && { label: t('field.gateway'), cell: (p) => untrusted(p.gateway, 40) },
    { label: t('field.id'), class: 'nowrap', cell: (p) => h('a', { href: paymentHref(p.id), tabindex: '-1', title: p.id }, h('code', {}, idEnding(p.id))) },
  ].filter(Boolean);
}

function payableText(p) {
  const s = payableOf(p);
  return s ? `${t(s[0])} ${idEnding(s[1])}` : '–';
}
