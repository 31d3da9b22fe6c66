/* dom.js - elements from data. Nothing here ever reads markup: a string becomes a text node, so what
 * a customer typed cannot become part of the page. */

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

function add(el, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === true) continue;
    if (Array.isArray(child)) add(el, child);
    else el.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return el;
}

function make(el, props, children) {
  const { value, ...others } = props || {};
  for (const [name, v] of Object.entries(others)) setProp(el, name, v);
  add(el, children);
  if (value !== undefined) setProp(el, 'value', value); /* a select has it only after its options */
  return el;
}

/* h('a', { href: '#/', class: 'x', onclick: f, 'aria-label': '...' }, 'text', element, [more], null).
 * vars: { '--x': '1' } sets CSS variables (the policy forbids style attributes, not these). */
export function h(tag, props, ...children) {
  return make(document.createElement(tag), props, children);
}

/* The same for SVG. */
export function s(tag, props, ...children) {
  return make(document.createElementNS(SVG, tag), props, children);
}

/* Empties an element, then puts the children into it. */
export function clear(el, ...children) {
  el.replaceChildren();
  return add(el, children);
}

/* What somebody outside wrote: kept apart from the text around it (right-to-left marks), and cut
 * where it is absurdly long. */
export function user(text, max = 500) {
  if (text === null || text === undefined || text === '') return null;
  return h('bdi', {}, cut(String(text), max));
}

export function cut(text, max) {
  if (text.length <= max) return text;
  return `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`;
}
