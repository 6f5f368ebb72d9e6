import { readFileSync } from "node:fs";
import type { ApiContext } from "../api/context.ts";
import { createForwarding, createReplicaClients } from "../api/forwarding.ts";
import { readEvents } from "../api/operations/events.ts";
import { listReplicas } from "../api/operations/replicas.ts";
import type { CallApi } from "../api/operation.ts";
import { isLive, unitOfKey } from "../cluster/assignment.ts";
import type { Ownership } from "../cluster/ownership.ts";
import type { Config } from "../config/config.ts";
import type { Logger } from "../lib/logger.ts";
import { Secret } from "../lib/secret.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createAccessControl } from "../web/access.ts";
import { reportRefusals } from "../web/refusals.ts";
import { createWebServer, type WebDeps } from "../web/server.ts";
import type { DaemonOverrides } from "./daemon-overrides.ts";
import type { FleetView } from "./fleet-view.ts";

interface WebPartsDeps extends Pick<WebDeps, "readiness" | "deadLoop"> {
  readonly metrics: Metrics;
  readonly config: Config;
  readonly context: ApiContext;
  readonly api: CallApi;
  readonly fleet: FleetView;
  readonly ownership: Ownership;
  /** By which replicas authenticate to one another; null: there are no others. */
  readonly token: Secret | null;
  readonly reloads: DaemonOverrides["reloads"];
  readonly log: Logger;
}

/** The daemon's HTTP server. */
export function openWeb(deps: WebPartsDeps) {
  const { config, context, api, fleet, token, reloads, log, ...parts } = deps;
  const { store, suppressions, rules, receivers, clock } = context;
  const { http } = config;
  return createWebServer({
    ...parts,
    async status() {
      await fleet.refresh();
      const nowMs = clock.now().utcMs;
      return {
        ...fleet.all,
        rules,
        receivers,
        incidentsWithoutTarget: await store.incidentsWithoutTarget.open(),
        silences: suppressions.inForce(nowMs),
        acknowledgedBy: suppressions.at(nowMs).acknowledgedBy,
        waiting: await store.outbox.figures(),
        replicas: (await api(listReplicas, {})).replicas,
      };
    },
    targets: fleet.all.targets,
    api: { call: api, events: (query) => readEvents(api, query), ...forwardingOf(deps) },
    requestReload: reloads && (() => reloads.request()),
    allowedHosts: http.allowedHosts,
    externalUrl: http.externalUrl,
    trustedProxies: http.trustedProxies,
    access: createAccessControl(http.auth, clock, token),
    tls: http.tls,
    log,
    clock,
    onRefused: reportRefusals({ log, clock, count: parts.metrics.http.refused }),
    onSlowScrape: () =>
      log.warn(
        { event: "http.slow_scrape" },
        "a scrape was cut off: it was read too slowly, or another client needed its place",
      ),
    onFull: (connections) =>
      log.warn(
        { event: "http.full", connections },
        "a connection was refused because all connections are in use",
      ),
    onError: (err) => log.error({ event: "http.failed", err }, "a request failed"),
  });
}

/** Sends a request that uses a key to the replica that owns the key. */
function forwardingOf({ config, context, api, ownership, token }: WebPartsDeps) {
  const { cluster, http } = config;
  if (!cluster || !token) return {};
  const { tls } = http;
  const readOwnCertificate = (): Secret | undefined =>
    tls?.clientCaFile
      ? new Secret(
          `${readFileSync(tls.certificateFile, "utf8")}\n${readFileSync(tls.keyFile, "utf8")}`,
        )
      : undefined;
  const callFor = createForwarding({
    api,
    context,
    ownerOf(key) {
      const unit = unitOfKey(key);
      if (ownership.owns(unit)) return "self";
      const owner = ownership.ownerOf(unit);
      return owner?.id === ownership.view().replica ? null : owner;
    },
    clientFor: createReplicaClients(token, {
      ca: cluster.ca,
      signal: context.signal,
      clientCertificate: readOwnCertificate,
    }),
    isLive(address) {
      const view = ownership.view().cluster;
      return view?.replicas.some((each) => each.address === address && isLive(each, view)) ?? false;
    },
    leaseMs: cluster.leaseMs,
    clock: context.clock,
  });
  return { callFor };
}
