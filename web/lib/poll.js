/* poll.js - asking again and again, politely: never two at once, not while nobody looks, and less
 * often while it fails. */

export const SLOWEST_MS = 30000;

/* Calls fn now and then ms after each time it ended, until signal is aborted. A throw doubles the
 * wait; onError(err) hears of it, and onError(null) of the first success after it. */
export function every(ms, fn, signal, onError) {
  let wait = ms;
  let timer = null;
  let running = false;
  let failed = false;

  function later() {
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
    later();
  }
  function seen() {
    if (!document.hidden && timer === null) run();
  }
  document.addEventListener('visibilitychange', seen);
  signal?.addEventListener('abort', () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
  });
  return run();
}
