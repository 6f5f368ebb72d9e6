import { onTestFinished } from "vitest";
import type { ScrapeSource } from "../../../src/web/scrape-route.ts";
import { createWebServer, type WebDeps } from "../../../src/web/server.ts";
import type { StatusView } from "../../../src/web/pages/overview.ts";
import { createAccessControl } from "../../../src/web/access.ts";
import type { Refusal } from "../../../src/web/refusals.ts";
import { openAccess, type AccessSettings } from "../../../src/lib/access.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

export const emptyStatus: StatusView = {
  targets: [],
  probes: [],
  rules: [],
  incidentsWithoutTarget: [],
  silences: [],
  acknowledgedBy: new Map(),
  undelivered: [],
  receivers: [],
  waiting: [],
  processes: [],
};

/** What a search of servers answers that finds none. */
export const noServers = {
  servers: [],
  total: 0,
  counts: { occupied: 0, idle: 0, error: 0, unknown: 0, unobserved: 0 },
  notes: [],
};

/** A server with nothing behind it but what a test adds, on a clock that stands still. */
export async function serveWeb(
  {
    settings = openAccess,
    ...deps
  }: Partial<WebDeps> & { readonly settings?: AccessSettings } = {},
  at: Parameters<ReturnType<typeof createWebServer>["listen"]>[0] = { host: "127.0.0.1", port: 0 },
) {
  const clock = createFakeClock();
  const errors: string[] = [];
  const logged: unknown[] = [];
  const refusals: Refusal[] = [];
  const web = createWebServer({
    metrics: exposing(() => []),
    readiness: () => Promise.resolve({ ready: true }),
    deadLoop: () => null,
    status: () => Promise.resolve(emptyStatus),
    keys: [],
    targets: [],
    api: {
      call: () => Promise.resolve(noServers),
      events: () => Promise.resolve({ events: [], after: "", hasMore: false }),
    },
    requestReload: () => ({ kind: "refused", reason: "not here" }),
    allowedHosts: [],
    externalUrl: null,
    access: createAccessControl(settings, clock),
    tls: null,
    log: {
      info: (fields: unknown) => void logged.push(fields),
      error: (fields: unknown) => void logged.push(fields),
    },
    onError: (error) => errors.push(error.message),
    onSlowScrape() {},
    onRefused: (refusal) => refusals.push(refusal),
    trustedProxies: [],
    onFull() {},
    clock,
    ...deps,
  });
  onTestFinished(() => web.close());
  const address = await web.listen(at);
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(address + path, init);
    const { status, headers } = response;
    return { status, headers, type: headers.get("content-type"), text: await response.text() };
  };
  return { web, address, clock, errors, logged, refusals, get };
}

/** A source of these texts, which uses the bytes of a piece again for the next one. */
export function exposing(render: () => Iterable<string>): ScrapeSource {
  return {
    scrape: async () => ({ kind: "exposition", pieces: inSameBytes(render()) }),
  };
}

function* inSameBytes(texts: Iterable<string>): Iterable<Uint8Array> {
  let buffer = Buffer.alloc(0);
  for (const text of texts) {
    const bytes = Buffer.from(text);
    if (bytes.length > buffer.length) buffer = bytes;
    else buffer.set(bytes);
    yield buffer.subarray(0, bytes.length);
    buffer.fill("!");
  }
}
