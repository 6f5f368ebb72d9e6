import { liveReplicas } from "../../cluster/assignment.ts";
import { digestOf } from "../../cluster/configuration-digest.ts";
import type { ClusterView, Replica } from "../../fleet/replicas.ts";
import type { Config } from "../../config/config.ts";
import { systemClock } from "../../lib/clock.ts";
import { version } from "../../lib/version.ts";
import { StoreError } from "../../store/store-error.ts";
import { openConfiguredReadOnly } from "../../store/store.ts";
import { compareClocks, visit, type Visited } from "./check-regions.ts";
import { mapSome, type Finding } from "./finding.ts";

const visitsAtOnce = 10;

/** Whether the live replicas can be reached, and have this version and this configuration; and the clock of the database. */
export async function checkReplicas(
  config: Config,
  signal: AbortSignal,
): Promise<{ readonly clock: readonly Finding[]; readonly replicas: readonly Finding[] }> {
  const { cluster, store } = config;
  if (cluster === null || store.postgres === null) return { clock: [], replicas: [] };
  const beginMs = systemClock.now().utcMs;
  let view: ClusterView | null;
  try {
    await using opened = new AsyncDisposableStack();
    const reading = opened.adopt(await openConfiguredReadOnly(store), (each) => each.close());
    view = await reading.replicas();
  } catch (error) {
    // What is wrong with the store was reported before.
    if (error instanceof StoreError) return { clock: [], replicas: [] };
    throw error;
  }
  if (view === null) return { clock: [], replicas: [] };
  const aheadMs = (beginMs + systemClock.now().utcMs) / 2 - view.nowMs;
  const live = liveReplicas(view);
  const own = live.filter(({ address }) => address === cluster.address);
  const route = { proxy: null, ca: cluster.ca };
  const found = await mapSome(live, visitsAtOnce, async (replica) =>
    describeReplica(replica, await visit({ baseUrl: replica.address, route }, signal), config),
  );
  const replicas = [
    ...(own.length === 0 ? [notRunning(cluster.address)] : []),
    ...(own.length > 1 ? [notAlone(cluster.address, own.length)] : []),
    ...found.flat(),
  ];
  return { clock: [compareClocks(aheadMs, "the database")], replicas };
}

function describeReplica(replica: Replica, visited: Visited, config: Config): readonly Finding[] {
  const { address } = replica;
  const problems: readonly (Finding | false)[] = [
    visited.kind === "failed" && {
      level: "failure",
      text: `${address} cannot be reached from here: ${visited.failure.detail}`,
      mend: "Check its cluster.address, http.listen and http.tls, cluster.ca_file here, and the network.",
    },
    replica.version !== version && {
      level: "warning",
      text: `${address} runs version ${replica.version}, and this is ${version}`,
      mend: "Update all replicas.",
    },
    replica.configuration !== digestOf(config) && {
      level: "warning",
      text: `${address} runs with another configuration`,
      mend: 'Give both the same configuration and reload: see "What may differ" in docs/replicas.md.',
    },
  ];
  const found = problems.filter((each) => each !== false);
  const text = `${address} answers, with this version and this configuration`;
  return found.length > 0 ? found : [{ level: "ok", text }];
}

function notRunning(address: string): Finding {
  return {
    level: "note",
    text: `no replica runs with the address ${address}`,
    mend: "Start it, or if it runs, set cluster.address as in its configuration.",
  };
}

function notAlone(address: string, count: number): Finding {
  return {
    level: "warning",
    text: `${count} replicas have the address ${address}`,
    mend: "Set another cluster.address for each, unless one was killed within its lease.",
  };
}
