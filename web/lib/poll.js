/* poll.js - repeats a request: never two at the same time, not while the page is hidden, and less often while it fails. */

export const SLOWEST_MS = 30000;

/* Calls fn now, and again `ms` after each time it has ended, until signal is aborted. An error doubles the wait and is passed
 * to onError(err); the first success after it calls onError(null). */
export function poll(ms, fn, signal, onError) {
  let wait = ms;
  let timer = null;
  let running = false;
  let failed = false;

  function schedule() {
    clearTimeout(timer);
    timer = signal?.aborted || document.hidden ? null : setTimeout(run, wait);
  }
  async function run() {
    if (running || signal?.aborted) return;
    running = true;
    try {
      await fn();
      wait = ms;
      if (failed) onError?.(null);
      failed = false;
    } catch (err) {
      wait = Math.min(wait * 2, Math.max(ms, SLOWEST_MS));
      failed = true;
      if (!signal?.aborted) onError?.(err);
    }
    running = false;
    schedule();
  }
  function runWhenVisible() {
    if (!document.hidden && timer === null) run();
  }
  document.addEventListener('visibilitychange', runWhenVisible);
  signal?.addEventListener('abort', () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', runWhenVisible);
  });
  return run();
}
