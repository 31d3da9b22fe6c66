/* diff.js - the difference of two texts, line by line (Myers' algorithm), and how it is shown. */

import { h } from './dom.js';
import { t } from './i18n.js';

const MOST_CHANGES = 600; /* beyond that everything between is shown as replaced: the search takes quadratic time */
const AROUND = 3; /* equal lines that stay visible around a change */
const LONGEST = 2000; /* characters shown of a line */

const line = (kind, text) => ({ kind, text });

/* Follows the stored frontiers back from the end and emits each line. */
function traceBack(trace, a, b) {
  const out = [];
  let x = a.length;
  let y = b.length;
  for (let d = trace.length - 1; d > 0; d--) {
    const v = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && v.get(k - 1) < v.get(k + 1));
    const before = down ? k + 1 : k - 1;
    const px = v.get(before);
    const py = px - before;
    while (x > px && y > py && x > 0 && y > 0 && (down ? x > px : x > px + 1)) {
      out.push(line('same', a[--x]));
      y--;
    }
    if (down) out.push(line('add', b[--y]));
    else out.push(line('del', a[--x]));
  }
  while (x > 0) {
    out.push(line('same', a[--x]));
    y--;
  }
  return out.reverse();
}

function allReplaced(a, b) {
  return [...a.map((text) => line('del', text)), ...b.map((text) => line('add', text))];
}

function shortestEdit(a, b) {
  const trace = [];
  let v = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(a.length + b.length, MOST_CHANGES); d++) {
    trace.push(v);
    const next = new Map(v);
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && v.get(k - 1) < v.get(k + 1)) ? v.get(k + 1) : v.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return traceBack(trace, a, b);
    }
    v = next;
  }
  return allReplaced(a, b);
}

/* Returns [{ kind: 'same'|'del'|'add', text }] in order. */
export function diffLines(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  let tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return [
    ...a.slice(0, head).map((text) => line('same', text)),
    ...shortestEdit(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map((text) => line('same', text)),
  ];
}

/* Long runs of equal lines become one entry { kind: 'gap', count }. */
export function foldEqualLines(lines) {
  const near = new Array(lines.length).fill(false);
  lines.forEach((l, i) => {
    if (l.kind === 'same') return;
    for (let j = Math.max(0, i - AROUND); j <= Math.min(lines.length - 1, i + AROUND); j++) near[j] = true;
  });
  const out = [];
  lines.forEach((l, i) => {
    if (near[i]) out.push(l);
    else if (out.length && out[out.length - 1].kind === 'gap') out[out.length - 1].count++;
    else out.push({ kind: 'gap', count: 1 });
  });
  return out;
}

const SIGNS = { add: '+', del: '−', same: ' ' };

function row(l) {
  if (l.kind === 'gap') return h('div', { class: 'diff-gap' }, t('dlq.diff.gap', { n: l.count }));
  const spoken = l.kind === 'same' ? null : h('span', { class: 'hidden-text' }, t(`dlq.diff.${l.kind}`));
  const text = l.text.length > LONGEST ? `${l.text.slice(0, LONGEST)}…` : l.text;
  return h('div', { class: `diff-line diff-${l.kind}` }, spoken, h('span', { class: 'diff-sign', 'aria-hidden': 'true' }, SIGNS[l.kind]), h('bdi', { class: 'diff-text' }, text || ' '));
}

/* The difference as an element. Its tabindex lets the keyboard scroll it. */
export function diffView(lines) {
  const count = (kind) => lines.filter((l) => l.kind === kind).length;
  const label = t('dlq.diff.summary', { add: count('add'), del: count('del') });
  return h('figure', { class: 'diff' },
    h('figcaption', {}, label),
    h('div', { class: 'diff-lines', tabindex: '0', role: 'group', 'aria-label': label }, foldEqualLines(lines).map(row)));
}
