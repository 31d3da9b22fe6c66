/* api.js - the admin API. The session is a cookie that scripts cannot read; with it every change
 * carries the session's X-CSRF-Token. */

import { lang } from './i18n.js';

const BASE = '/api/v1/admin/';
const TIMEOUT_MS = 30000;
const ALONE_MS = 60000;
let csrf = '';
let touched = performance.now();

/* What a page asks that nobody has touched for a while does not keep its session: somebody may have
 * left it open. */
for (const what of ['pointerdown', 'pointermove', 'keydown', 'wheel'])
  window.addEventListener(what, () => (touched = performance.now()), { capture: true, passive: true });

/* status 0: no answer came (code NETWORK or TIMEOUT), so a change may or may not have happened. */
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

/* A name for one act of a person: made once where the act is begun, sent with each try of it. */
export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const b = crypto.getRandomValues(new Uint8Array(16)); /* randomUUID is for https and localhost only */
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const x = Array.from(b, (v) => v.toString(16).padStart(2, '0')).join('');
  return `${x.slice(0, 8)}-${x.slice(8, 12)}-${x.slice(12, 16)}-${x.slice(16, 20)}-${x.slice(20)}`;
}

function address(path, params) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params || {}))
    if (value !== undefined && value !== null && value !== '') q.set(name, value);
  const text = q.toString().replaceAll('+', '%20'); /* the server takes a plus as a plus */
  return BASE + path.replace(/^\/+/, '') + (text ? `?${text}` : '');
}

function headersOf(method, body, key) {
  const headers = { Accept: 'application/json', 'Accept-Language': lang() };
  if (body !== undefined) headers['Content-Type'] = body instanceof Blob ? body.type : 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  if (csrf && method !== 'GET') headers['X-CSRF-Token'] = csrf;
  if (performance.now() - touched > ALONE_MS) headers['X-Ichido-Poll'] = '1';
  return headers;
}

async function problemOf(res) {
  try {
    return await res.json();
  } catch {
    return {};
  }
}

async function refuse(res, quiet) {
  const wait = Number(res.headers.get('Retry-After'));
  const err = new ApiError(res.status, await problemOf(res), wait > 0 ? wait : null);
  if (res.status === 401 && !quiet) window.dispatchEvent(new CustomEvent('signed-out'));
  throw err;
}

/* What read(response) makes of the answer; it has to come to its end in time as well. A Blob as body is sent as it is. Throws
 * ApiError for anything but 2xx; an AbortError passes as it is, for whoever aborted knows. quiet: a 401 is the caller's own
 * matter. */
export async function raw(method, path, { params, body, key, signal, quiet, timeoutMs = TIMEOUT_MS } = {}, read) {
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
    return res.ok ? await read(res) : await refuse(res, quiet);
  } catch (err) {
    if (err instanceof ApiError || signal?.aborted) throw err;
    throw new ApiError(0, { code: late.signal.aborted ? 'TIMEOUT' : 'NETWORK' });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/* Nobody knows whether it was done: no answer of ours came, or ours says so. */
export const isLost = (err) => err.status === 0 || err.code === 'OUTCOME_UNKNOWN' || (err.status >= 500 && err.code === `HTTP_${err.status}`);

export const asJson = (res) => (res.status === 204 ? null : res.json());
const json = (method, path, options) => raw(method, path, options, asJson);

export const get = (path, params, options = {}) => json('GET', path, { ...options, params });
export const post = (path, body, options = {}) => json('POST', path, { ...options, body });
export const put = (path, body, options = {}) => json('PUT', path, { ...options, body });
export const patch = (path, body, options = {}) => json('PATCH', path, { ...options, body });
export const del = (path, body, options = {}) => json('DELETE', path, { ...options, body });

/* The server looks at some thousand rows for a page: with a filter one may be empty although there is a next.
 * load(cursor) -> { data, nextCursor }, again and again until enough(data), the end or so many looks. The page that it
 * ends with is the last one; an empty one with a nextCursor means "not yet", never "none". */
export async function lookOn(load, cursor = null, { looks = 20, enough = (data) => data.length, onlook } = {}) {
  let page = await load(cursor);
  for (let i = 1; i < looks && page.nextCursor && !enough(page.data); i++) {
    onlook?.();
    page = await load(page.nextCursor);
  }
  return page;
}
