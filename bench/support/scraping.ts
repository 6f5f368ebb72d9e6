import type { Peer } from "./peer-client.ts";
import type { Scrape } from "./scrape.ts";

/** Scrapes that go on by themselves, one after the other. */
export interface Scraping extends AsyncDisposable {
  /** Resolves with the first scrape from now on that is as it should be. */
  until(isDone: (shown: Scrape) => boolean): Promise<Scrape>;
  last(): Scrape | null;
  count(): number;
  slowestMs(): number;
}

const pauseMs = 250;
const patienceMs = 10 * 60_000;

export function scrapeOnAndOn(peer: Peer, url: string): Scraping {
  const stop = new AbortController();
  let last: Scrape | null = null;
  let count = 0;
  let slowestMs = 0;
  let next = Promise.withResolvers<Scrape>();

  const scrapeUntilStopped = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      last = await peer.scrape({ url });
      count += 1;
      slowestMs = Math.max(slowestMs, last.ms);
      next.resolve(last);
      next = Promise.withResolvers();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const ended = scrapeUntilStopped();
  // Who waits for the next scrape is told of a failure; nobody may be waiting.
  ended.catch((error: unknown) => next.reject(error));

  return {
    async until(isDone) {
      const startedMs = performance.now();
      while (performance.now() - startedMs < patienceMs) {
        const shown = await next.promise;
        if (isDone(shown)) return shown;
      }
      throw new Error("what was waited for was never exposed");
    },
    last: () => last,
    count: () => count,
    slowestMs: () => slowestMs,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}
