/* said.js - English words of the server and the providers, in the reader's language where they are known. */

import { lang } from './i18n.js';
import known from '../words/said.js';

const plain = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('\\*', '([^]*)');
const TWO = /^([^]+?) \/ ([^]*[\u3040-\u30ff][^]*)$/; /* said in both languages at once */
const CODE = /^[a-z_]+: (?=Your )/; /* the provider's own name of it, before its words */
const LONGEST = 2000; /* of what we say: the patterns try each place of a text, so a long one of somebody else's is let be */
let table = null; /* made when it is first needed */

export function said(text) {
  if (text?.length > LONGEST) return text;
  const two = TWO.exec(text || '');
  if (two) return two[lang() === 'ja' ? 2 : 1];
  if (lang() !== 'ja' || !text) return text;
  table ??= known.map(([en, ja]) => [new RegExp(`^${plain(en)}$`), ja]);
  for (const [pattern, ja] of table) {
    const found = pattern.exec(text.replace(CODE, ''));
    if (!found) continue;
    let part = 1;
    return ja.replaceAll('*', () => (found[part] ? said(found[part++]) : ''));
  }
  return text;
}
