/* server_text.js - texts that the server and the providers give in English only, translated where a translation is known. */

import { lang } from './i18n.js';
import translations from '../words/server_text.js';

const patternOf = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('\\*', '([^]*)');
const TWO = /^([^]+?) \/ ([^]*[\u3040-\u30ff][^]*)$/; /* the text has both languages: 'English / 日本語' */
const CODE = /^[a-z_]+: (?=Your )/; /* the provider's error code before its message */
const LONGEST = 2000; /* our own texts are shorter; the patterns would take too long on a long text from outside */
let table = null; /* compiled at its first use */

/* The text in the reader's language, or the text itself. '*' in a translation stands for the part that the pattern's '*'
 * matched, which is translated too. */
export function translateServerText(text) {
  if (text?.length > LONGEST) return text;
  const two = TWO.exec(text || '');
  if (two) return two[lang() === 'ja' ? 2 : 1];
  if (lang() !== 'ja' || !text) return text;
  table ??= translations.map(([en, ja]) => [new RegExp(`^${patternOf(en)}$`), ja]);
  for (const [pattern, ja] of table) {
    const found = pattern.exec(text.replace(CODE, ''));
    if (!found) continue;
    let part = 1;
    return ja.replaceAll('*', () => (found[part] ? translateServerText(found[part++]) : ''));
  }
  return text;
}
