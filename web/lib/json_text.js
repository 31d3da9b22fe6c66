/* json_text.js - JSON as a text that a person edits. Numbers and strings keep their bytes, because parsing and writing again
 * would round a number of 20 digits. */

const PAIRS = { '{': '}', '[': ']' };
const DEEPEST = 60; /* levels that are indented: a million brackets must not become a terabyte of spaces */

function stringEnd(text, from) {
  let i = from + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return Math.min(i + 1, text.length);
}

const PLAIN = new Set('{}[],: \n');
const MOST_TOKENS = 2000; /* that are coloured; the rest stays plain */

/* The tokens of a text that JSON.stringify wrote, for colouring: [{ kind: 'key'|'string'|'other', from, to }]. The text may be
 * cut off anywhere. Each character is read once: a regular expression would take seconds on an unclosed string with many
 * quotes. */
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

/* The same tokens with two spaces per level. The text must be valid JSON: see problemOf. */
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

/* null for valid JSON, else { message, line, column }; line is null if the browser does not report the position. */
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

/* The text for the editor: JSON is indented, anything else is unchanged. */
export const readable = (text) => (problemOf(text) ? text : indent(text));

/* Joins the lines of a difference (diff.js) with the original's line ends, because a textarea turns all line ends into one
 * kind. A line that was kept or rewritten keeps its line end; a new line gets the most frequent one. */
export function withEnds(original, lines) {
  const ends = original.match(/\r\n|\r|\n/g) || [];
  const count = (end) => ends.filter((e) => e === end).length;
  const mostFrequent = ['\n', '\r\n', '\r'].reduce((best, end) => (count(end) > count(best) ? end : best));
  const out = [];
  let at = 0; /* line of the original */
  let free = []; /* line ends of the lines just removed */
  for (const { kind, text } of lines) {
    if (kind === 'same') free = [];
    if (kind !== 'add') free.push(ends[at++]);
    if (kind !== 'del') out.push([text, free.shift() || mostFrequent]);
  }
  return out.map(([text, end], i) => (i < out.length - 1 ? text + end : text)).join('');
}
