/* money.js - amounts as numbers, fields and texts. Needs nothing of the page. */

/* ISO 4217's digits, as the server counts (src/domain/currency.c; a test compares them): 2 for all
 * others. A browser's own are CLDR's, which has none for HUF or IDR, and change with its version. */
const DIGITS = { CLF: 4, UYW: 4 };
for (const code of 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ')) DIGITS[code] = 0;
for (const code of 'BHD IQD JOD KWD LYD OMR TND'.split(' ')) DIGITS[code] = 3;

const LONGEST = 13; /* digits before the point */

export const digitsOf = (currency) => DIGITS[String(currency).toUpperCase()] ?? 2;

/* 1250 USD -> '12.50'. By its digits: a division would round large ones. */
export function majorText(minor, currency) {
  const digits = digitsOf(currency);
  const text = String(Math.abs(minor)).padStart(digits + 1, '0');
  const cut = text.length - digits;
  return `${minor < 0 ? '-' : ''}${text.slice(0, cut)}${digits ? `.${text.slice(cut)}` : ''}`;
}

/* What kind of text this is: { minor }, or { wrong } with a name for what is wrong. A comma sets
 * thousands apart, in its right places; elsewhere it may have been meant as a point. */
function read(text, currency) {
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

/* '12.50' of a field -> 1250; null where it is no amount of that currency. */
export const minorOf = (text, currency) => read(text, currency).minor ?? null;
/* 'number', 'commas' or 'decimals'; null where nothing is wrong. */
export const amountWrong = (text, currency) => read(text, currency).wrong ?? null;
