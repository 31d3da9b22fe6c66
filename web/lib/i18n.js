/* i18n.js - texts, numbers, money and times in the reader's language. The texts are in web/words/. */

import { h } from './dom.js';
import { amountWrong, digitsOf, majorText } from './money.js';
import areas from '../words/index.js';

const texts = { en: {}, ja: {} };
for (const area of areas) {
  Object.assign(texts.en, area.en);
  Object.assign(texts.ja, area.ja);
}

let current = readSetting('ichido.lang') || (navigator.language.startsWith('ja') ? 'ja' : 'en');
let skewMs = 0; /* server time minus browser time; a test clock may be days ahead */

/* Settings kept in this browser's localStorage. Where it is forbidden, settings are lost with the page. */
export function readSetting(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
export function saveSetting(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    /* not saved */
  }
}

/* Some browsers forbid reading localStorage, some writing, so both are tried. */
export function canSaveSettings() {
  saveSetting('ichido.probe', '1');
  const kept = readSetting('ichido.probe') !== null;
  saveSetting('ichido.probe', null);
  return kept;
}

export const lang = () => current;

export function setLang(code) {
  current = code === 'ja' ? 'ja' : 'en';
  saveSetting('ichido.lang', current);
  document.documentElement.lang = current;
  window.dispatchEvent(new CustomEvent('language'));
}

export const hasText = (key) => key in texts[current];

/* t('dlq.n', { n: 3 }) replaces {n} (a number by formatNumber()); {n:letter|letters} is the first word for 1, else the second. */
export function t(key, vars = {}) {
  const text = texts[current][key] ?? texts.en[key] ?? key;
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (all, name, one, many) => {
    const v = vars[name];
    if (many !== undefined) return v === 1 ? one : many;
    if (v === undefined || v === null) return '';
    return typeof v === 'number' ? formatNumber(v) : String(v);
  });
}

/* textFor('status', state): the text <area>.<name>, or `fallback` (the name itself) if there is none. */
export const textFor = (area, name, fallback = name) => (hasText(`${area}.${name}`) ? t(`${area}.${name}`) : fallback);

/* The server gives some texts in both languages: bilingual(alert, 'summary') is `summary` or `summaryJa`. */
export const bilingual = (row, name) => (current === 'ja' && row[`${name}Ja`]) || row[name] || '';

const locale = () => (current === 'ja' ? 'ja-JP' : 'en-GB');
const formatters = new Map(); /* creating one is slow */

function intl(Kind, options) {
  const name = `${Kind.name} ${current} ${JSON.stringify(options)}`;
  if (!formatters.has(name)) formatters.set(name, new Kind(locale(), options));
  return formatters.get(name);
}

export function formatNumber(number, digits = 1) {
  if (number === null || number === undefined || Number.isNaN(Number(number))) return '–';
  return intl(Intl.NumberFormat, { maximumFractionDigits: digits }).format(number);
}

/* An amount in minor units with its currency's decimals: 1000 JPY is a thousand yen, 1000 USD ten dollars. No two currencies
 * may look alike, so narrowSymbol is not used, and the two CFA francs, whose symbols differ by a space only, are shown by
 * their codes. */
export function money(minor, currency, currencyDisplay = /^X[AO]F$/i.test(currency) ? 'code' : 'symbol') {
  if (minor === null || minor === undefined) return '–';
  const digits = digitsOf(currency);
  try {
    return intl(Intl.NumberFormat, { style: 'currency', currency, currencyDisplay, minimumFractionDigits: digits, maximumFractionDigits: digits }).format(majorText(minor, currency));
  } catch {
    return `${formatNumber(minor)} ${currency}`; /* not a currency code */
  }
}

/* 'USD 12.50': the currency's code, for an amount that is about to be sent. */
export const moneyCode = (minor, currency) => money(minor, currency, 'code');

/* The error text for a typed amount, or null. */
export function amountTrouble(text, currency) {
  const wrong = amountWrong(text, currency);
  const digits = digitsOf(currency);
  if (wrong === 'commas') return t('amount.commas');
  if (wrong === 'decimals') return digits ? t('amount.decimals', { currency, n: digits }) : t('amount.no_decimals', { currency });
  return wrong && t('amount.number');
}

/* Learns the server's time from an answer, so that a wrong browser clock does not matter. */
export function setServerTime(iso) {
  const ms = Date.parse(iso);
  if (!Number.isNaN(ms)) skewMs = ms - Date.now();
}
export const now = () => Date.now() + skewMs;

function timeElement(iso, text) {
  return h('time', { datetime: iso, title: utc(iso) }, text);
}

export const utc = (iso) => String(iso).replace('T', ' ').replace('Z', ' UTC');

/* A <time> in the reader's time zone, with the full UTC time as its title. */
export function timeTag(iso, { seconds = true } = {}) {
  return iso ? timeElement(iso, timeText(iso, { seconds })) : h('span', { class: 'faint' }, '–');
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

const UNITS = [
  ['day', 86400000],
  ['hour', 3600000],
  ['minute', 60000],
  ['second', 1000],
];

/* A <time> as '3 minutes ago' or 'in 2 hours'. */
export function agoTag(iso) {
  return iso ? timeElement(iso, agoText(iso)) : h('span', { class: 'faint' }, '–');
}

export function agoText(iso) {
  const ms = Date.parse(iso) - now();
  if (Number.isNaN(ms)) return String(iso);
  const [unit, size] = UNITS.find(([, unitMs]) => Math.abs(ms) >= unitMs) || UNITS[3];
  if (unit === 'day' && Math.abs(ms) > 30 * size) return timeText(iso, { seconds: false });
  return intl(Intl.RelativeTimeFormat, { numeric: 'auto' }).format(Math.trunc(ms / size), unit);
}

/* 850 ms, 12.4 s, 3 min 20 s, 2 h 5 min, 4 d 3 h */
export function duration(ms) {
  if (ms === null || ms === undefined) return '–';
  const sign = ms < 0 ? '−' : '';
  const v = Math.abs(ms);
  if (v < 1000) return `${sign}${formatNumber(v, v < 10 ? 1 : 0)} ms`;
  if (v < 60000) return `${sign}${t('unit.s', { v: formatNumber(v / 1000, 1) })}`;
  const two = (big, small, size, smallSize) =>
    [t(big, { v: formatNumber(Math.floor(v / size), 0) }), Math.floor((v % size) / smallSize)]
      .map((x, i) => (i === 0 ? x : x ? t(small, { v: formatNumber(x, 0) }) : ''))
      .filter(Boolean)
      .join(' ');
  if (v < 3600000) return sign + two('unit.min', 'unit.s', 60000, 1000);
  if (v < 86400000) return sign + two('unit.h', 'unit.min', 3600000, 60000);
  return sign + two('unit.d', 'unit.h', 86400000, 3600000);
}

document.documentElement.lang = current;
