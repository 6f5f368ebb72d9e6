import { z } from "zod";
import { startHelper } from "./helper.ts";
import type { Service } from "./service.ts";

/** What figures are held against: measured in turn with them, as the machine's speed changes within minutes. */
export interface Floors extends AsyncDisposable {
  /** CPU of a request by the HTTP client alone. Milliseconds. */
  receiveMs(name: string, requests: number, atOnce?: number): Promise<number>;
  /** The same where as many are begun together every 100 ms as are due then. */
  pacedMs(name: string, requests: number, perSecond: number): Promise<number>;
  /** CPU of `JSON.parse` of the same bytes. Milliseconds. */
  parseMs(name: string, calls: number): Promise<number>;
  /** Watches how late the event loop of an idle process gets. */
  watch(): Promise<void>;
  /** @returns the 99th percentile, in milliseconds */
  unwatch(): Promise<number>;
}

export function startFloors({ origin }: Pick<Service, "origin">): Floors {
  const helper = startHelper("floors-process.ts");
  return {
    receiveMs: (name, requests, atOnce = 1) =>
      helper.ask("receive", { origin, name, requests, atOnce }, z.number()),
    pacedMs: (name, requests, perSecond) =>
      helper.ask("pace", { origin, name, requests, atOnce: perSecond / 10 }, z.number()),
    parseMs: (name, requests) =>
      helper.ask("parse", { origin, name, requests, atOnce: 1 }, z.number()),
    watch: () => helper.ask("watch", null, z.undefined()),
    unwatch: () => helper.ask("unwatch", null, z.number()),
    [Symbol.asyncDispose]: () => helper[Symbol.asyncDispose](),
  };
}
