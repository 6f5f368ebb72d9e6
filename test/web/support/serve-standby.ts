import { onTestFinished } from "vitest";
import { openAccess } from "../../../src/lib/access.ts";
import { createAccessControl } from "../../../src/web/access.ts";
import { createStandbyServer, type StandbyDeps } from "../../../src/web/standby-server.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { exposing } from "./serve-web.ts";

/** Who is active, in the words of the standby. */
export const activeText = "http://10.0.0.1:9740 has been active since 2026-01-01T00:00:00.000Z.";

/** A standby of the process at this address. */
export async function serveStandby(active: string | null, more: Partial<StandbyDeps> = {}) {
  const clock = createFakeClock();
  const errors: string[] = [];
  const standby = createStandbyServer({
    metrics: exposing(() => ["own 1\n"]),
    readiness: () => Promise.resolve({ ready: true, note: "this process stands by" }),
    deadLoop: () => null,
    requestReload: () => ({ kind: "refused", reason: "its own file has a fault" }),
    active: () => ({ address: active, text: activeText, retryAfterMs: 15_000 }),
    proxy: null,
    ca: null,
    clientCertificate: () => undefined,
    allowedHosts: [],
    externalUrl: null,
    trustedProxies: [],
    access: createAccessControl(openAccess, clock),
    tls: null,
    log: { info() {}, error() {} },
    onError: (error) => errors.push(error.message),
    onRefused() {},
    onSlowScrape() {},
    onFull() {},
    clock,
    ...more,
  });
  onTestFinished(() => standby.close());
  const address = await standby.listen({ host: "127.0.0.1", port: 0 });
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(address + path, init);
    const { status, headers } = response;
    return { status, headers, text: await response.text() };
  };
  return { standby, address, errors, get };
}
