import type { Config } from "../../config/config.ts";
import type { Process } from "../../store/postgres/processes.ts";
import { visit } from "./check-regions.ts";
import { mapSome, type Finding } from "./finding.ts";

const visitsAtOnce = 10;

/** Which process is active, which stand by, and whether those can be reached from here. */
export async function checkProcesses(
  processes: readonly Process[],
  { cluster }: Pick<Config, "cluster">,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const live = processes.filter(({ isLive }) => isLive);
  const found = await mapSome(live, visitsAtOnce, (each) => checkProcess(each, cluster, signal));
  const standbys = live.filter(({ isActive }) => !isActive);
  const isLone = cluster !== null && live.length > 0 && standbys.length === 0;
  return [...found.flat(), ...(isLone ? [noStandby] : [])];
}

const noStandby: Finding = {
  level: "warning",
  text: "no process stands by",
  mend: "Start another process with the same store and a cluster.address of its own.",
};

async function checkProcess(
  { address, isActive, sinceMs, renewedAtMs }: Process,
  cluster: Config["cluster"],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const state = isActive ? "is active" : "stands by";
  const times = `since ${timeOf(sinceMs)}, last seen ${timeOf(renewedAtMs)}`;
  const shown: Finding = {
    level: "ok",
    text: `${address ?? "a process without cluster.address"} ${state} ${times}`,
  };
  if (address === null || cluster === null) return [shown];
  const route = { proxy: null, ca: cluster.ca };
  const visited = await visit({ baseUrl: address, route }, signal);
  if (visited.kind !== "failed") return [shown];
  return [
    shown,
    {
      level: "failure",
      text: `${address} cannot be reached from here: ${visited.failure.detail}`,
      mend: "Check its cluster.address, http.listen and http.tls, cluster.ca_file here, and the network.",
    },
  ];
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19) + "Z";
}
