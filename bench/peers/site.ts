import { fork } from "node:child_process";
import type { ListingShape } from "./listing-body.ts";

/** What the listing server wants to see, and every tool is configured with. */
export const apiKey = "bench-key";

/** The service that the tools watch. */
export interface Site {
  readonly url: string;
  readonly baseUrl: string;
  readonly listingBytes: number;
  readonly servers: number;
  /** How often a tool that polls by itself is told to. */
  readonly everyMs: number;
  /** Resolves when so many further listings have been asked for. */
  asked(times: number, patienceMs: number): Promise<void>;
  /** How many listings have been asked for so far. */
  askedSoFar(): number;
  close(): void;
}

/** Starts the listing server in a process of its own. */
export async function openSite(shape: ListingShape, everyMs: number): Promise<Site> {
  const { seed, servers, errorShare, changedShare } = shape;
  const child = fork(
    new URL("listing-server.ts", import.meta.url),
    [seed, servers, errorShare, changedShare].map(String),
  );
  const onAsked = new Set<() => void>();
  let askedSoFar = 0;
  const listening = Promise.withResolvers<{ readonly port: number; readonly bytes: number }>();
  child.on("message", (message) => {
    if (message === "asked") {
      askedSoFar += 1;
      for (const told of onAsked) told();
    } else if (isAddress(message)) listening.resolve(message);
  });
  child.once("exit", () => listening.reject(new Error("the listing server ended")));
  const { port, bytes } = await listening.promise;

  return {
    baseUrl: `http://127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/local-sandbox`,
    listingBytes: bytes,
    servers,
    everyMs,
    async asked(times, patienceMs) {
      const enough = Promise.withResolvers<void>();
      let left = times;
      const told = (): void => {
        left -= 1;
        if (left === 0) enough.resolve();
      };
      onAsked.add(told);
      const late = setTimeout(() => {
        enough.reject(new Error(`${times - left} of ${times} polls in ${patienceMs / 1_000} s`));
      }, patienceMs).unref();
      await enough.promise.finally(() => {
        clearTimeout(late);
        onAsked.delete(told);
      });
    },
    askedSoFar: () => askedSoFar,
    close: () => void child.kill(),
  };
}

function isAddress(value: unknown): value is { readonly port: number; readonly bytes: number } {
  return typeof value === "object" && value !== null && "port" in value && "bytes" in value;
}
