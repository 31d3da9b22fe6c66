/* api.js - calls of the admin API. The session is a cookie that scripts cannot read; every change also sends the session's
 * X-CSRF-Token. */

import { lang } from './i18n.js';

const BASE = '/api/v1/admin/';
const TIMEOUT_MS = 30000;
const UNATTENDED_MS = 60000;
let csrf = '';
let lastInput = performance.now();

/* After a minute without input, requests carry X-Ichido-Poll: a page that was left open must not keep its session alive. */
for (const what of ['pointerdown', 'pointermove', 'keydown', 'wheel'])
  window.addEventListener(what, () => (lastInput = performance.now()), { capture: true, passive: true });

/* status 0: no answer arrived (code NETWORK or TIMEOUT), so a change may or may not have happened. */
export class ApiError extends Error {
  constructor(status, problem = {}, retryAfter = null) {
    super(problem.detail || problem.title || problem.code || `HTTP ${status}`);
    this.status = status;
    this.code = problem.code || (status ? `HTTP_${status}` : 'NETWORK');
    this.detail = problem.detail || '';
    this.errors = Array.isArray(problem.errors) ? problem.errors : [];
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

export function setCsrf(token) {
  csrf = token || '';
}

/* An Idempotency-Key for one action: created once when the action begins, sent with each try of it. */
export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const b = crypto.getRandomValues(new Uint8Array(16)); /* randomUUID needs https or localhost */
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const x = Array.from(b, (v) => v.toString(16).padStart(2, '0')).join('');
  return `${x.slice(0, 8)}-${x.slice(8, 12)}-${x.slice(12, 16)}-${x.slice(16, 20)}-${x.slice(20)}`;
}

function address(path, params) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params || {}))
    if (value !== undefined && value !== null && value !== '') q.set(name, value);
  const text = q.toString().replaceAll('+', '%20'); /* the server does not decode '+' as a space */
  return BASE + path.replace(/^\/+/, '') + (text ? `?${text}` : '');
}

function headersOf(method, body, key) {
  const headers = { Accept: 'application/json', 'Accept-Language': lang() };
  if (body !== undefined) headers['Content-Type'] = body instanceof Blob ? body.type : 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  if (csrf && method !== 'GET') headers['X-CSRF-Token'] = csrf;
  if (performance.now() - lastInput > UNATTENDED_MS) headers['X-Ichido-Poll'] = '1';
  return headers;
}

async function problemOf(res) {
  try {
    return await res.json();
  } catch {
    return {};
  }
}

async function throwProblem(res, quiet) {
  const wait = Number(res.headers.get('Retry-After'));
  const err = new ApiError(res.status, await problemOf(res), wait > 0 ? wait : null);
  if (res.status === 401 && !quiet) window.dispatchEvent(new CustomEvent('signed-out'));
  throw err;
}

/* Sends a request and returns read(response). The timeout covers reading the body too. A Blob is sent unchanged, any other
 * body as JSON. Throws an ApiError for every status but 2xx, and the AbortError if `signal` was aborted. quiet: the caller
 * handles a 401 itself. */
export async function request(method, path, { params, body, key, signal, quiet, timeoutMs = TIMEOUT_MS } = {}, read) {
  const late = new AbortController();
  const stop = () => late.abort();
  const timer = setTimeout(stop, timeoutMs);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', stop);
  try {
    const res = await fetch(address(path, params), {
      method,
      headers: headersOf(method, body, key),
      body: body === undefined || body instanceof Blob ? body : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: late.signal,
    });
    return res.ok ? await read(res) : await throwProblem(res, quiet);
  } catch (err) {
    if (err instanceof ApiError || signal?.aborted) throw err;
    throw new ApiError(0, { code: late.signal.aborted ? 'TIMEOUT' : 'NETWORK' });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/* Whether the change was made is not known: no answer of our server arrived, or its answer says so. */
export const isOutcomeUnknown = (err) => err.status === 0 || err.code === 'OUTCOME_UNKNOWN' || (err.status >= 500 && err.code === `HTTP_${err.status}`);

export const readJson = (res) => (res.status === 204 ? null : res.json());
const json = (method, path, options) => request(method, path, options, readJson);

export const get = (path, params, options = {}) => json('GET', path, { ...options, params });
export const post = (path, body, options = {}) => json('POST', path, { ...options, body });
export const put = (path, body, options = {}) => json('PUT', path, { ...options, body });
export const patch = (path, body, options = {}) => json('PATCH', path, { ...options, body });
export const del = (path, body, options = {}) => json('DELETE', path, { ...options, body });

/* The server examines a few thousand rows for each page, so with a filter a page may be empty although older rows match.
 * Calls load(cursor) -> { data, nextCursor } until isEnough(data), the end of the list, or `steps` pages, and returns the last
 * page. An empty page with a nextCursor means that the search is not finished. */
export async function loadUntilFound(load, cursor = null, { steps = 20, isEnough = (data) => data.length, onstep } = {}) {
  let page = await load(cursor);
  for (let i = 1; i < steps && page.nextCursor && !isEnough(page.data); i++) {
    onstep?.();
    page = await load(page.nextCursor);
  }
  return page;
}
