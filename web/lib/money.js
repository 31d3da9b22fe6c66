/* money.js - amounts in minor units, as texts and as they are typed. It imports nothing, so tests load it alone. */

/* Decimals by ISO 4217, as in src/domain/currency.c (a test compares them); all other currencies have 2. The browser's own
 * table is CLDR's, which differs (HUF and IDR have none) and changes with the browser's version. */
const DIGITS = { CLF: 4, UYW: 4 };
for (const code of 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ')) DIGITS[code] = 0;
for (const code of 'BHD IQD JOD KWD LYD OMR TND'.split(' ')) DIGITS[code] = 3;

const LONGEST = 13; /* digits before the point */

export const digitsOf = (currency) => DIGITS[String(currency).toUpperCase()] ?? 2;

/* 1250 USD -> '12.50'. Works on the digits, because a division would round large amounts. */
export function majorText(minor, currency) {
  const digits = digitsOf(currency);
  const text = String(Math.abs(minor)).padStart(digits + 1, '0');
  const cut = text.length - digits;
  return `${minor < 0 ? '-' : ''}${text.slice(0, cut)}${digits ? `.${text.slice(cut)}` : ''}`;
}

/* Parses a typed amount: { minor }, or { wrong: 'number' | 'commas' | 'decimals' }. A comma is accepted only between groups
 * of three digits; elsewhere it may have been meant as a decimal point. */
function parseAmount(text, currency) {
  const plain = String(text).trim().replace(/[０-９，．]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0xfee0));
  const digits = digitsOf(currency);
  if (plain.includes(',') && /^[\d,.]+$/.test(plain) && !/^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(plain)) return { wrong: 'commas' };
  const m = /^(\d+)(?:\.(\d+))?$/.exec(plain.replaceAll(',', ''));
  if (!m || m[1].length > LONGEST) return { wrong: 'number' };
  const decimals = m[2] || '';
  if (decimals.length > digits) return { wrong: 'decimals' };
  const minor = Number(m[1] + decimals.padEnd(digits, '0'));
  return Number.isSafeInteger(minor) ? { minor } : { wrong: 'number' };
}

/* '12.50' -> 1250; null if the text is not an amount of this currency. */
export const minorOf = (text, currency) => parseAmount(text, currency).minor ?? null;
/* What is wrong with the text: 'number', 'commas' or 'decimals'; null if nothing is. */
export const amountWrong = (text, currency) => parseAmount(text, currency).wrong ?? null;
