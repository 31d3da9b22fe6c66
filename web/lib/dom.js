/* dom.js - creates elements from data. Nothing here parses markup: a string becomes a text node, so what a customer typed
 * cannot become an element or a script. */

const SVG = 'http://www.w3.org/2000/svg';
const AS_PROPERTY = new Set(['value', 'checked', 'selected', 'indeterminate', 'open']);

function setProp(el, name, value) {
  if (value === undefined || value === null || value === false) {
    if (AS_PROPERTY.has(name) && name in el) el[name] = name === 'value' ? '' : false;
    return;
  }
  if (name.startsWith('on')) el.addEventListener(name.slice(2).toLowerCase(), value);
  else if (name === 'dataset') Object.assign(el.dataset, value);
  else if (name === 'vars') for (const [k, v] of Object.entries(value)) el.style.setProperty(k, v);
  else if (AS_PROPERTY.has(name) && name in el) el[name] = value;
  else el.setAttribute(name, value === true ? '' : String(value));
}

function appendAll(el, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === true) continue;
    if (Array.isArray(child)) appendAll(el, child);
    else el.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return el;
}

function build(el, props, children) {
  const { value, ...others } = props || {};
  for (const [name, v] of Object.entries(others)) setProp(el, name, v);
  appendAll(el, children);
  if (value !== undefined) setProp(el, 'value', value); /* a select accepts its value only after its options exist */
  return el;
}

/* h('a', { href: '#/', class: 'x', onclick: f, 'aria-label': '...' }, 'text', element, [more], null).
 * vars: { '--x': '1' } sets CSS variables (the policy forbids style attributes, not these). */
export function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children);
}

/* h() for SVG elements. */
export function svgTag(tag, props, ...children) {
  return build(document.createElementNS(SVG, tag), props, children);
}

/* Replaces everything inside an element by these children. */
export function replaceContent(el, ...children) {
  el.replaceChildren();
  return appendAll(el, children);
}

/* Text that was written outside: <bdi> keeps its right-to-left marks from changing the text around it, and a very long
 * text is truncated. */
export function untrusted(text, max = 500) {
  if (text === null || text === undefined || text === '') return null;
  return h('bdi', {}, truncate(String(text), max));
}

export function truncate(text, max) {
  if (text.length <= max) return text;
  return `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`;
}
