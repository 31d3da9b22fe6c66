/* jsontext.js - JSON as a text that a person edits. Numbers and strings stay byte for byte: parsing
 * and writing again would round an amount of 20 digits. */

const PAIRS = { '{': '}', '[': ']' };
const DEEPEST = 60; /* levels that are indented: a million brackets must not become a terabyte of blanks */

function stringEnd(text, from) {
  let i = from + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return Math.min(i + 1, text.length);
}

const PLAIN = new Set('{}[],: \n');
const MOST_TOKENS = 2000; /* that get a colour; the rest stays plain */

/* What JSON.stringify wrote, to be coloured: [{ kind: 'key'|'string'|'other', from, to }]. It may be cut anywhere. Each
 * character is looked at once: a pattern that tries an unclosed string anew from each of its quotes takes seconds. */
export function tokensOf(text) {
  const found = [];
  for (let i = 0; i < text.length && found.length < MOST_TOKENS;) {
    if (PLAIN.has(text[i])) {
      i++;
      continue;
    }
    const from = i;
    const quoted = text[i] === '"';
    if (quoted) i = stringEnd(text, i);
    else while (i < text.length && text[i] !== '"' && !PLAIN.has(text[i])) i++;
    found.push({ kind: !quoted ? 'other' : text[i] === ':' ? 'key' : 'string', from, to: i });
  }
  return found;
}

/* The same tokens, two blanks for each level. For valid JSON only: see problemOf. */
export function indent(text) {
  let out = '';
  let depth = 0;
  const newline = () => `\n${'  '.repeat(Math.min(depth, DEEPEST))}`;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      const end = stringEnd(text, i);
      out += text.slice(i, end);
      i = end - 1;
    } else if (PAIRS[c]) {
      const next = /\S/.exec(text.slice(i + 1, i + 4096));
      if (next && next[0] === PAIRS[c]) {
        out += c + PAIRS[c];
        i += next.index + 1;
      } else {
        depth++;
        out += c + newline();
      }
    } else if (c === '}' || c === ']') {
      depth--;
      out += newline() + c;
    } else if (c === ',') out += `,${newline()}`;
    else if (c === ':') out += ': ';
    else if (!/\s/.test(c)) out += c;
  }
  return out;
}

/* null where it is JSON; else { message, line, column }, the place where the browser names it. */
export function problemOf(text) {
  try {
    JSON.parse(text);
    return null;
  } catch (err) {
    const at = /position (\d+)/.exec(err.message);
    const upTo = at ? text.slice(0, Number(at[1])).split('\n') : null;
    return { message: err.message, line: upTo ? upTo.length : null, column: upTo ? upTo[upTo.length - 1].length + 1 : null };
  }
}

/* A text for the editor: indented where it is JSON, as it is where not. */
export const readable = (text) => (problemOf(text) ? text : indent(text));

/* A textarea makes one kind of line end of all. The lines of a difference (diff.js), put together
 * with those the original had: a line that stayed or was rewritten keeps its own, a new one has the
 * most usual. */
export function withEnds(original, lines) {
  const ends = original.match(/\r\n|\r|\n/g) || [];
  const count = (end) => ends.filter((e) => e === end).length;
  const usual = ['\n', '\r\n', '\r'].reduce((best, end) => (count(end) > count(best) ? end : best));
  const out = [];
  let at = 0; /* in the original */
  let free = []; /* of the lines just taken away */
  for (const { kind, text } of lines) {
    if (kind === 'same') free = [];
    if (kind !== 'add') free.push(ends[at++]);
    if (kind !== 'del') out.push([text, free.shift() || usual]);
  }
  return out.map(([text, end], i) => (i < out.length - 1 ? text + end : text)).join('');
}
