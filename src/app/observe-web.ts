import type { Logger } from "../lib/logger.ts";
import type { WebDeps } from "../web/server.ts";

/** What is logged of requests. */
export function observeWeb(log: Logger): Pick<WebDeps, "onSlowScrape" | "onFull" | "onError"> {
  return {
    onSlowScrape: () =>
      log.warn({ event: "http.slow_scrape" }, "a scrape was read too slowly and was cut off"),
    onFull: (connections) =>
      log.warn(
        { event: "http.full", connections },
        "a connection was refused because all connections are in use",
      ),
    onError: (error) => log.error({ event: "http.failed", err: error }, "a request failed"),
  };
}
