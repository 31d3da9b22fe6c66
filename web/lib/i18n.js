/* i18n.js - words, numbers, money and times in the reader's language. Words stand in web/words/. */

import { h } from './dom.js';
import { amountWrong, digitsOf, majorText } from './money.js';
import areas from '../words/index.js';

const words = { en: {}, ja: {} };
for (const area of areas) {
  Object.assign(words.en, area.en);
  Object.assign(words.ja, area.ja);
}

let current = stored('ichido.lang') || (navigator.language.startsWith('ja') ? 'ja' : 'en');
let skewMs = 0; /* the server's clock before ours; a test clock may be days ahead */

/* Settings of this browser. Where storage is forbidden they last as long as the page. */
export function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
export function store(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    /* not kept */
  }
}

/* Whether anything is kept at all: some browsers forbid reading, some writing. */
export function keeps() {
  store('ichido.probe', '1');
  const kept = stored('ichido.probe') !== null;
  store('ichido.probe', null);
  return kept;
}

export const lang = () => current;

export function setLang(code) {
  current = code === 'ja' ? 'ja' : 'en';
  store('ichido.lang', current);
  document.documentElement.lang = current;
  window.dispatchEvent(new CustomEvent('language'));
}

export const has = (key) => key in words[current];

/* t('dlq.count', { n: 3 }): {n} is put in (numbers as n() writes them), {n:letter|letters} chooses. */
export function t(key, vars = {}) {
  const text = words[current][key] ?? words.en[key] ?? key;
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (all, name, one, many) => {
    const v = vars[name];
    if (many !== undefined) return v === 1 ? one : many;
    if (v === undefined || v === null) return '';
    return typeof v === 'number' ? n(v) : String(v);
  });
}

/* One of two texts that the server gives in both languages: either(alert, 'summary'). */
export const either = (row, name) => (current === 'ja' && row[`${name}Ja`]) || row[name] || '';

const locale = () => (current === 'ja' ? 'ja-JP' : 'en-GB');
const kept = new Map();

function intl(Kind, options) {
  const name = `${Kind.name} ${current} ${JSON.stringify(options)}`;
  if (!kept.has(name)) kept.set(name, new Kind(locale(), options));
  return kept.get(name);
}

export function n(number, digits = 1) {
  if (number === null || number === undefined || Number.isNaN(Number(number))) return '–';
  return intl(Intl.NumberFormat, { maximumFractionDigits: digits }).format(number);
}

/* The digits behind the point come from the currency: 1000 JPY is a thousand yen, 1000 USD ten
 * dollars. The sign is the language's own for that currency and no other's: never narrowSymbol, and
 * the two francs that differ by a blank (FCFA, F CFA) by their codes. */
export function money(minor, currency, currencyDisplay = /^X[AO]F$/i.test(currency) ? 'code' : 'symbol') {
  if (minor === null || minor === undefined) return '–';
  const digits = digitsOf(currency);
  try {
    return intl(Intl.NumberFormat, { style: 'currency', currency, currencyDisplay, minimumFractionDigits: digits, maximumFractionDigits: digits }).format(majorText(minor, currency));
  } catch {
    return `${n(minor)} ${currency}`; /* no currency that anybody knows */
  }
}

/* 'USD 12.50', for what is about to be sent. */
export const moneyCode = (minor, currency) => money(minor, currency, 'code');

/* What is wrong with an amount in a field, in words; null: nothing. */
export function amountTrouble(text, currency) {
  const wrong = amountWrong(text, currency);
  const digits = digitsOf(currency);
  if (wrong === 'commas') return t('amount.commas');
  if (wrong === 'decimals') return digits ? t('amount.decimals', { currency, n: digits }) : t('amount.no_decimals', { currency });
  return wrong && t('amount.number');
}

/* What time it is at the server: from a session or an asOf. */
export function serverTime(iso) {
  const ms = Date.parse(iso);
  if (!Number.isNaN(ms)) skewMs = ms - Date.now();
}
export const now = () => Date.now() + skewMs;

function stamp(iso, text) {
  return h('time', { datetime: iso, title: utc(iso) }, text);
}

export const utc = (iso) => String(iso).replace('T', ' ').replace('Z', ' UTC');

/* A <time> in the reader's zone; its title is the full UTC. seconds: false leaves them out. */
export function time(iso, { seconds = true } = {}) {
  return iso ? stamp(iso, timeText(iso, { seconds })) : h('span', { class: 'faint' }, '–');
}

export function timeText(iso, { seconds = true, ms = false } = {}) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  const sameYear = at.getFullYear() === new Date(now()).getFullYear();
  return intl(Intl.DateTimeFormat, {
    year: sameYear ? undefined : 'numeric',
    month: current === 'ja' ? 'numeric' : 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: seconds ? '2-digit' : undefined,
    fractionalSecondDigits: ms ? 3 : undefined,
    hourCycle: 'h23',
  }).format(at);
}

export function clockText(iso, { ms = false } = {}) {
  return intl(Intl.DateTimeFormat, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: ms ? 3 : undefined,
    hourCycle: 'h23',
  }).format(new Date(iso));
}

const STEPS = [
  ['day', 86400000],
  ['hour', 3600000],
  ['minute', 60000],
  ['second', 1000],
];

/* A <time> that says how long ago (or how far ahead). */
export function ago(iso) {
  return iso ? stamp(iso, agoText(iso)) : h('span', { class: 'faint' }, '–');
}

export function agoText(iso) {
  const ms = Date.parse(iso) - now();
  if (Number.isNaN(ms)) return String(iso);
  const [unit, size] = STEPS.find(([, step]) => Math.abs(ms) >= step) || STEPS[3];
  if (unit === 'day' && Math.abs(ms) > 30 * size) return timeText(iso, { seconds: false });
  return intl(Intl.RelativeTimeFormat, { numeric: 'auto' }).format(Math.trunc(ms / size), unit);
}

/* 850 ms, 12.4 s, 3 min 20 s, 2 h 5 min, 4 d 3 h */
export function duration(ms) {
  if (ms === null || ms === undefined) return '–';
  const sign = ms < 0 ? '−' : '';
  const v = Math.abs(ms);
  if (v < 1000) return `${sign}${n(v, v < 10 ? 1 : 0)} ms`;
  if (v < 60000) return `${sign}${t('unit.s', { v: n(v / 1000, 1) })}`;
  const two = (big, small, size, smallSize) =>
    [t(big, { v: n(Math.floor(v / size), 0) }), Math.floor((v % size) / smallSize)]
      .map((x, i) => (i === 0 ? x : x ? t(small, { v: n(x, 0) }) : ''))
      .filter(Boolean)
      .join(' ');
  if (v < 3600000) return sign + two('unit.min', 'unit.s', 60000, 1000);
  if (v < 86400000) return sign + two('unit.h', 'unit.min', 3600000, 60000);
  return sign + two('unit.d', 'unit.h', 86400000, 3600000);
}

document.documentElement.lang = current;
