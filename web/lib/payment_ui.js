/* payment_ui.js - how a payment is written, wherever one stands in a row. */

import { h, user } from './dom.js';
import { ago, has, money, t, time } from './i18n.js';
import { said } from './said.js';
import { badge } from './ui.js';

/* Why an operation was begun, 'stray:pi_1' too; of a refund it is the reason, where nobody gave another. */
export function causeName(cause) {
  const [, name, about] = /^([a-z_]+)(?::(.*))?$/s.exec(cause || '') || [];
  return name && has(`payments.cause_${name}`) ? [t(`payments.cause_${name}`), about].filter(Boolean).join(' ') : said(cause);
}

export const paymentHref = (id) => `#/payments/${encodeURIComponent(id)}`;
export const shortId = (id) => (String(id).length > 14 ? `…${String(id).slice(-8)}` : String(id));

/* What the payment is for: [words key, id]. */
export function subjectOf(p) {
  if (p.bookingId) return ['payments.booking', p.bookingId];
  if (p.purchaseId) return ['payments.purchase', p.purchaseId];
  if (p.participantId) return ['payments.participant', p.participantId];
  return null;
}

/* A void is REFUNDED in the API; nothing was taken, so nothing went back. */
export const statusOf = (p) => (p.status === 'REFUNDED' && !p.capturedAmount ? 'VOIDED' : p.status);

/* The state, and what a look at the state alone would miss. */
export function standing(p) {
  const refunded = p.status === 'CAPTURED' && p.refundedAmount > 0;
  return h('span', { class: 'standing' },
    badge(statusOf(p)),
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
    { label: t('field.created'), class: 'nowrap', cell: (p) => (brief ? ago(p.createdAt) : time(p.createdAt)) },
    { label: t('field.amount'), align: 'right', cell: (p) => h('span', { class: 'strong' }, money(p.amount, p.currency)) },
    { label: t('field.state'), cell: standing },
    { label: t('payments.description'), class: 'rest', cell: (p) => h('span', { class: 'cut' }, user(p.description, 120) || h('span', { class: 'faint' }, shortSubject(p))) },
    !brief && { label: t('field.gateway'), cell: (p) => user(p.gateway, 40) },
    { label: t('field.id'), class: 'nowrap', cell: (p) => h('a', { href: paymentHref(p.id), tabindex: '-1', title: p.id }, h('code', {}, shortId(p.id))) },
  ].filter(Boolean);
}

function shortSubject(p) {
  const s = subjectOf(p);
  return s ? `${t(s[0])} ${shortId(s[1])}` : '–';
}
