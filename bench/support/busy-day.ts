import { resolutionMs } from "../../src/fleet/buckets.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import type { ListedSandbox } from "../../src/fleet/snapshot.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { judgePoll } from "../../src/alerts/judge.ts";
import type { JudgeOptions, Verdict } from "../../src/alerts/judge.ts";
import type { Status } from "../../src/fleet/model.ts";
import { nothingKnown } from "../../src/alerts/target-state.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { openStore } from "../../src/store/store.ts";
import { mixBits, mixUuid } from "./random-bits.ts";

export const names = 20;
const serversOfName = 5;
const servers = names * serversOfName;
const pollMs = 30_000;
/** Of each server, on average. */
const changesADay = 12;

const judge: JudgeOptions = {
  rules: [],
  goneAfter: 2,
  suppressions: noSuppressions,
  receivers: new Map(),
  newIncidentId: () => "none",
};

/**
 * Writes a day of polls of some targets to a new store, as they are judged and committed: 20 names of 5 servers each, of
 * which every server changes status 12 times. Polls that show no change are committed every five minutes only, as the
 * others would leave the same behind.
 */
export async function writeBusyDay(file: string, count: number, startMs: number): Promise<void> {
  const store = openStore(file, undefined, { isTemporary: true });
  const targets = Array.from({ length: count }, (_, index) => ({
    region: "region-0",
    key: `key-${index}`,
  }));
  for (const { id, target } of await store.targets.addAll(targets)) {
    const watched = watchTarget({ id, target, ...nothingKnown }, emptySnapshot, {
      staleAfter: 3,
      restoredForMs: 90_000,
      nowUtcMs: startMs,
    });
    const poll = createPolls(id);
    // One poll past midnight closes the day.
    for (let atMs = startMs; atMs <= startMs + resolutionMs["1d"]; atMs += pollMs) {
      const sandboxes = poll(atMs > startMs);
      if (!sandboxes && atMs % resolutionMs["5m"] !== 0) continue;
      const listing = sandboxes ?? watched.state.snapshot.sandboxes;
      const verdict: Verdict = judgePoll(
        watched.state,
        {
          kind: "listed",
          listing: { sandboxes: listing, texts: listing.map(() => null), complete: true },
        },
        { utcMs: atMs, monotonicMs: atMs - startMs },
        judge,
      );
      await store.commitPoll(id, verdict);
      watched.accept(verdict);
    }
  }
  while (await store.rollUp());
  await store.close();
}

/** What each next poll of a target lists; null: the same as the one before. */
function createPolls(target: number) {
  const statuses: Status[] = Array.from({ length: servers }, () => "idle");
  const changesAPoll = changesADay * servers * (pollMs / resolutionMs["1d"]);
  let draws = 0;
  const draw = (): number => mixBits(target, 1, (draws += 1));
  let isFirst = true;
  return (mayChange: boolean): readonly ListedSandbox[] | null => {
    const changes = mayChange ? poisson(changesAPoll, draw) : 0;
    for (let change = 0; change < changes; change += 1) {
      const server = draw() % servers;
      const isIdle = statuses[server] === "idle";
      statuses[server] = isIdle ? (draw() % 100 < 98 ? "occupied" : "error") : "idle";
    }
    if (changes === 0 && !isFirst) return null;
    isFirst = false;
    return Array.from({ length: serversOfName }, (_, box) => listSandbox(target, box, statuses));
  };
}

/** How often something happens that happens so often on average. */
function poisson(mean: number, draw: () => number): number {
  const least = Math.exp(-mean);
  let product = 1;
  for (let times = 0; ; times += 1) {
    product *= draw() / 2 ** 32;
    if (product <= least) return times;
  }
}

/** One server of each name. */
function listSandbox(target: number, box: number, statuses: readonly Status[]): ListedSandbox {
  return {
    id: mixUuid(target, 2, box),
    status: "idle",
    benchmark: null,
    createdAt: null,
    servers: Array.from({ length: names }, (_, name) => {
      const index = name * serversOfName + box;
      return {
        id: mixUuid(target, 3, index),
        name: `server-name-${name}`,
        status: statuses[index] ?? "idle",
        benchmark: null,
        tags: [],
      };
    }),
  };
}
