import type { ServiceCalls } from "../api/context.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import type { Drift } from "../fleet/drift.ts";
import { createRetryBudget, retryShare, type RetryBudget } from "../lib/retry.ts";
import type { Secret } from "../lib/secret.ts";
import { userAgent } from "../lib/version.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { KeyLimits } from "../polling/key-limits.ts";
import { intervalOf } from "../polling/ticker.ts";
import { createServiceClient, type ServiceClient } from "../service/client.ts";
import { createDriftWatch } from "../service/drift.ts";
import type { DaemonCore } from "./daemon-core.ts";

/** Limit for calls that API operations make: parsing a larger response would block the event loop for too long. */
const maxCalledBodyBytes = 8 * 2 ** 20;

/** How the service is called: by polls, probes and operations of the API. */
export interface DaemonCalls {
  readonly service: ServiceClient;
  readonly recordDrift: (drift: Drift) => void;
  readonly limits: KeyLimits;
  /** Of polls and operations. */
  readonly budget: RetryBudget;
  readonly apiKeys: ReadonlyMap<string, Secret>;
}

export async function openCalls(core: DaemonCore, metrics: Metrics["service"]) {
  const { config, store, clock, log, createDispatcher, opening } = core;
  const drift = await createDriftWatch({ store: store.drift, clock, log });
  const service = createServiceClient({
    regions: config.regions,
    timeoutMs: config.poll.timeoutMs,
    maxBodyBytes: config.poll.maxBodyBytes,
    userAgent,
    clock,
    createDispatcher,
    mayAct: store.leadership.mayAct.bind(store.leadership),
    onRequest: metrics.requested,
  });
  opening.defer(() => service.close());
  const calls: DaemonCalls = {
    service,
    recordDrift(found) {
      metrics.deviated(found);
      drift.add(found);
    },
    limits: new KeyLimits(clock, config.poll.rateLimit),
    budget: createRetryBudget(retryShare),
    apiKeys: new Map(config.keys.map(({ name, apiKey }) => [name, apiKey])),
  };
  return { ...calls, drift };
}

/** What operations that call the service need. Their calls end before what was opened is closed. */
export function operationCalls(
  { config, clock, opening }: DaemonCore,
  { service, recordDrift, limits, budget }: DaemonCalls,
): ServiceCalls {
  const ending = new AbortController();
  opening.defer(() => ending.abort());
  return {
    service,
    recordDrift,
    limits,
    budget,
    targets: configuredTargets(config),
    keys: config.keys,
    clock,
    pollIntervalMs: intervalOf(config.poll.schedule),
    maxBodyBytes: maxCalledBodyBytes,
    signal: ending.signal,
    inProgress: { lookups: 0, checks: 0 },
  };
}
