import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { judgePoll, type JudgeOptions } from "../../src/alerts/judge.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { nothingKnown } from "../../src/alerts/target-state.ts";
import { targetName } from "../../src/fleet/model.ts";
import { emptySnapshot, type ListedSandbox } from "../../src/fleet/snapshot.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Secret } from "../../src/lib/secret.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { openConfiguredStore, type Store } from "../../src/store/store.ts";
import { answerParent } from "./helper.ts";

/** Judges and commits polls of its own targets that change nothing, as many as it can, without calling a service. */
const judge: JudgeOptions = {
  rules: [],
  goneAfter: 2,
  suppressions: noSuppressions,
  receivers: new Map(),
  newIncidentId: () => "none",
};
const servers = 10;

/** One sandbox, with servers of different names. */
function listFirst(target: string): readonly ListedSandbox[] {
  const listed = Array.from({ length: servers }, (_, index) => ({
    id: `${target}-${index}`,
    name: `server-name-${index}`,
    status: "idle" as const,
    benchmark: null,
    tags: [],
  }));
  return [{ id: target, status: "idle", benchmark: null, createdAt: null, servers: listed }];
}

let store: Store | null = null;
let polls = 0;
const stopping = new AbortController();
let running: Promise<unknown> = Promise.resolve();

async function pollAgainAndAgain(
  opened: Store,
  stored: Parameters<typeof watchTarget>[0],
): Promise<void> {
  const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: Date.now() };
  const watched = watchTarget(stored, emptySnapshot, options);
  let sandboxes = listFirst(targetName(stored.target));
  while (!stopping.signal.aborted) {
    const listing = { sandboxes, texts: sandboxes.map(() => null), complete: true };
    const verdict = judgePoll(watched.state, { kind: "listed", listing }, systemClock.now(), judge);
    await opened.commitPoll(stored.id, verdict);
    watched.accept(verdict);
    ({ sandboxes } = watched.state.snapshot);
    polls += 1;
    // As each poll of a daemon begins in a turn of its own.
    await setImmediate();
  }
}

const settings = z.object({
  url: z.string(),
  schema: z.string(),
  name: z.string(),
  targets: z.number(),
});

answerParent({
  async start(params) {
    const { url, schema, name, targets } = settings.parse(params);
    const postgres = { url: new Secret(url), schema, ca: null };
    const opened = await openConfiguredStore({ path: "", postgres }, systemClock, { cluster: {} });
    store = opened;
    await opened.cluster?.join({
      address: `http://${name}`,
      version: "bench",
      configuration: "bench",
      leaseMs: 300_000,
    });
    const added = await opened.targets.addAll(
      Array.from({ length: targets }, (_, index) => ({ region: name, key: `key-${index}` })),
    );
    running = Promise.all(
      added.map((each) => pollAgainAndAgain(opened, { ...each, ...nothingKnown })),
    );
    running.catch(() => {});
  },
  /** How many were committed until now, and what it took. */
  read() {
    const { user, system } = process.cpuUsage();
    return { polls, cpuMs: (user + system) / 1_000 };
  },
  async stop() {
    stopping.abort();
    await running;
    await store?.close();
  },
});
