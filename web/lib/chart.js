/* chart.js - line charts over time, as SVG. There is no chart library, because the page has no third-party code
 * (docs/decisions/0016). Colours are CSS variables: the series have the classes c1, c2, c3.
 *
 *   const c = lineChart({ label: 'ACK', series: [{ label: 'p95', values: [..], cls: 'c1' }],
 *                         times: [iso..], unit: 'ms', height: 120 });
 *   root.append(c.el);
 *   c.update({ times, values: [[..], ..] });      one list of values per series; null is a gap
 *
 * Screen readers get an aria-label with the last values; the arrow keys read single points; a table behind "Show values" has
 * all numbers. */

import { h, replaceContent, svgTag } from './dom.js';
import { clockText, formatNumber, t } from './i18n.js';

const PAD = { top: 8, right: 4, bottom: 18, left: 40 };
const TABLE_ROWS = 60;

/* The smallest round number that is at least v; its half is round too, for the grid line in the middle. */
function roundUp(v) {
  if (!(v > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 4, 6, 8, 10].map((m) => m * step).find((x) => x >= v);
}

function lastValue(values) {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null && values[i] !== undefined) return values[i];
  return null;
}

function pathOf(values, x, y) {
  let d = '';
  let pen = false;
  values.forEach((v, i) => {
    if (v === null || v === undefined) return (pen = false);
    d += `${pen ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = true;
  });
  return d;
}

/* A point between two gaps has no line, so it is drawn as a dot. */
function isolatedPoints(values) {
  return values.map((v, i) => i).filter((i) => values[i] != null && values[i - 1] == null && values[i + 1] == null);
}

export function lineChart({ label = '', series, times = [], unit = '', height = 132 }) {
  const lines = series.map((one, i) => ({ label: one.label, cls: one.cls || `c${i + 1}`, values: one.values || [] }));
  const svg = svgTag('svg', { class: 'chart', height, width: '100%', role: 'img', tabindex: '0' });
  const announcement = h('p', { class: 'hidden-text', 'aria-live': 'polite' });
  const tip = h('div', { class: 'chart-tip', hidden: true });
  const legend = h('div', { class: 'legend' });
  const rows = h('div', {});
  const numbers = h('details', { class: 'numbers', ontoggle: fillTable }, h('summary', {}, t('chart.numbers')), rows);
  const el = h('div', { class: 'chart-box' }, legend, h('div', { class: 'chart-area' }, svg, tip), announcement, numbers);
  let at = times;
  let focus = null; /* index of the selected point */

  const valueText = (v) => (v === null || v === undefined ? '–' : `${formatNumber(v)}${unit ? ` ${unit}` : ''}`);
  const width = () => Math.max(svg.clientWidth || 320, 120);
  const inner = () => width() - PAD.left - PAD.right;
  const x = (i) => PAD.left + (at.length < 2 ? inner() : (i / (at.length - 1)) * inner());

  function scale() {
    const max = Math.max(0, ...lines.flatMap((l) => l.values.filter((v) => v !== null && v !== undefined)));
    const top = roundUp(max);
    return { top, y: (v) => PAD.top + (1 - v / top) * (height - PAD.top - PAD.bottom) };
  }
  function grid({ top, y }) {
    return [0, top / 2, top].map((v) => [
      svgTag('line', { class: 'grid', x1: PAD.left, x2: width() - PAD.right, y1: y(v), y2: y(v) }),
      svgTag('text', { class: 'axis-label', x: PAD.left - 6, y: y(v) + 3.5, 'text-anchor': 'end' }, formatNumber(v, top < 2 ? 2 : 1)),
    ]);
  }
  function dates() {
    if (at.length < 2) return null;
    return [[0, 'start'], [at.length - 1, 'end']].map(([i, anchor]) =>
      svgTag('text', { class: 'axis-label', x: x(i), y: height - 4, 'text-anchor': anchor }, clockText(at[i])));
  }
  function drawLine(line, i, { y }) {
    const d = pathOf(line.values, x, y);
    const floor = y(0).toFixed(1);
    const whole = line.values.length > 1 && line.values.every((v) => v !== null && v !== undefined);
    return [
      i === 0 && whole && svgTag('path', { class: `area ${line.cls}`, d: `${d}L${x(line.values.length - 1).toFixed(1)} ${floor}L${x(0).toFixed(1)} ${floor}Z` }),
      d && svgTag('path', { class: `line ${line.cls}`, d }),
      isolatedPoints(line.values).map((k) => svgTag('circle', { class: `spot ${line.cls}`, cx: x(k), cy: y(line.values[k]), r: 1.8 })),
    ];
  }
  function cursor({ y }) {
    if (focus === null || focus >= at.length) return null;
    return [
      svgTag('line', { class: 'cursor', x1: x(focus), x2: x(focus), y1: PAD.top, y2: height - PAD.bottom }),
      lines.map((l) => l.values[focus] != null && svgTag('circle', { class: `spot ${l.cls}`, cx: x(focus), cy: y(l.values[focus]), r: 3 })),
    ];
  }
  function drawLegend() {
    replaceContent(legend, lines.map((l) => h('span', { class: 'legend-item' }, h('i', { class: `key ${l.cls}` }), l.label, h('b', { class: 'num' }, valueText(focus === null ? lastValue(l.values) : l.values[focus])))));
  }
  function draw() {
    const sc = scale();
    replaceContent(svg, grid(sc), dates(), lines.map((l, i) => drawLine(l, i, sc)), cursor(sc));
    svg.setAttribute('viewBox', `0 0 ${width()} ${height}`);
    svg.setAttribute('aria-label', `${label}. ${lines.map((l) => `${l.label}: ${valueText(lastValue(l.values))}`).join(', ')}. ${t('chart.hint')}`);
    drawLegend();
    tip.hidden = focus === null || !at.length;
    if (!tip.hidden) tip.textContent = clockText(at[focus]);
    if (!tip.hidden) tip.style.setProperty('--x', `${x(focus)}px`);
  }
  function fillTable() {
    if (!numbers.open) return replaceContent(rows);
    const from = Math.max(0, at.length - TABLE_ROWS);
    replaceContent(rows, h('div', { class: 'numbers-table', tabindex: '0', role: 'region', 'aria-label': `${label} ${t('chart.numbers')}` }, h('table', {},
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('chart.time')), lines.map((l) => h('th', { scope: 'col', class: 'right' }, l.label)))),
      h('tbody', {}, at.slice(from).map((iso, i) => h('tr', {}, h('td', {}, clockText(iso)), lines.map((l) => h('td', { class: 'num right' }, valueText(l.values[from + i]))))).reverse()))));
  }
  function select(i) {
    focus = i === null || !at.length ? null : Math.min(Math.max(i, 0), at.length - 1);
    draw();
  }
  svg.addEventListener('pointermove', (e) => {
    const box = svg.getBoundingClientRect();
    select(Math.round(((e.clientX - box.left - PAD.left) / Math.max(inner(), 1)) * (at.length - 1)));
  });
  svg.addEventListener('pointerleave', () => select(null));
  svg.addEventListener('blur', () => select(null));
  svg.addEventListener('keydown', (e) => {
    const to = { ArrowLeft: (focus ?? at.length) - 1, ArrowRight: (focus ?? -1) + 1, Home: 0, End: at.length - 1 }[e.key];
    if (to === undefined || !at.length) return;
    e.preventDefault();
    select(to);
    announcement.textContent = `${clockText(at[focus])}: ${lines.map((l) => `${l.label} ${valueText(l.values[focus])}`).join(', ')}`;
  });
  new ResizeObserver(draw).observe(svg);
  draw();
  return {
    el,
    update(points) {
      at = points.times;
      lines.forEach((l, i) => (l.values = points.values[i] || []));
      if (focus !== null) focus = Math.min(focus, Math.max(at.length - 1, 0));
      draw();
      if (numbers.open) fillTable();
    },
  };
}
