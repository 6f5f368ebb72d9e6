import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { buildProgram, freePort } from "../../bench/support/daemon.ts";
import { startHelper } from "../../bench/support/helper.ts";
import { tempFolder } from "../../bench/support/temp-folder.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { createPostgresServer } from "../store/support/postgres-server.ts";
import { copyUnfenced } from "./unfenced.ts";
import { checkCalls } from "./check-calls.ts";
import { checkHistory } from "./check-history.ts";
import { checkMessages } from "./check-messages.ts";
import { startEpisodes } from "./episodes.ts";
import {
  countFaults,
  faultKinds,
  inflict,
  needsCalm,
  planFaults,
  type FaultKind,
  type Victims,
} from "./faults.ts";
import { startReceiver } from "./receiver.ts";
import { createReplica, type Note, type Replica } from "./replica.ts";
import { callSchema, intervalMs, leaseMs, targets, targetNameOf, truthSchema } from "./world.ts";
import type { Call, Truth } from "./world.ts";

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  readonly replicas: number;
  /** Of which kinds the faults are. */
  readonly kinds?: readonly FaultKind[];
  /** Runs replicas that have no fence. */
  readonly isUnfenced: boolean;
  /** Ends the run, and all processes. */
  readonly signal: AbortSignal;
  /** Where the logs of the replicas are kept. */
  readonly logFile?: string | undefined;
}

export interface ChaosResult {
  readonly problems: readonly string[];
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly takeOversMs: readonly number[];
  readonly handOversMs: readonly number[];
  /** Of the log, by event. */
  readonly events: ReadonlyMap<string, number>;
  readonly counts: Readonly<Record<string, number>>;
}

const takenSchema = z.object({ truth: z.array(truthSchema), calls: z.array(callSchema) });
const longestQuietMs = 60_000;

/** Replicas on a PostgreSQL, to which everything happens that can; and what comes of it. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { kills, seed, replicas: count, kinds = faultKinds, isUnfenced, signal, logFile } = options;
  const startedMs = Date.now();
  const problems: string[] = [];
  const onProblem = (problem: string): void => void problems.push(problem);
  const notes: Note[] = [];
  const events = new Map<string, number>();
  await using ending = new AsyncDisposableStack();
  const folder = ending.use(tempFolder()).path;
  const program = isUnfenced ? copyUnfenced(folder) : await buildProgram(folder);
  const server = createPostgresServer();
  ending.defer(() => server.remove());
  await server.start();
  const service = ending.use(startHelper("../../test/chaos/service-process.ts"));
  const receiver = ending.use(await startReceiver(seededRandom(seed + 1)));
  const origin = await service.ask("open", null, z.string());
  const replicas: Replica[] = [];
  for (let index = 0; index < count; index += 1) {
    const port = await freePort();
    const isAlone = count === 1;
    const addresses = { service: origin, hook: receiver.origin, port, isAlone };
    const replica = await createReplica({
      name: `r${index}`,
      program,
      folder,
      addresses,
      postgres: server.folder,
      notes,
      onProblem,
      events,
      logFile,
    });
    ending.defer(() => replica.proxy.close());
    ending.defer(() => replica.kill());
    replicas.push(replica);
  }

  const victims: Victims = {
    replicas,
    service,
    server,
    generation: 2,
    done: new Map(),
    busy: new Map(),
    blocked: new Set(),
  };
  await startAll(victims);
  const observedMs = Date.now() + 5_000;

  const truth: Truth[] = [];
  const calls: Call[] = [];
  const take = async (): Promise<void> => {
    const taken = await service.ask("take", null, takenSchema);
    truth.push(...taken.truth);
    calls.push(...taken.calls);
  };
  const episodes = startEpisodes({
    random: seededRandom(seed + 2),
    service,
    receiver,
    origins: replicas.map((replica) => replica.origin),
    onProblem,
    isPlain: isUnfenced,
  });
  await setTimeout(2_000);
  const inflicted: Promise<void>[] = [];
  for (const [index, fault] of planFaults(seededRandom(seed), kills, count, kinds).entries()) {
    await setTimeout(fault.afterMs, null, { signal });
    const victim = replicas[fault.victim];
    if (victim) await victims.busy.get(victim);
    if (needsCalm(fault)) await Promise.all(inflicted);
    const inflicting = inflict(victims, fault).catch((error: unknown) =>
      onProblem(`${fault.kind}: ${String(error)}`),
    );
    inflicted.push(inflicting);
    if (needsCalm(fault)) await inflicting;
    if (index % 10 === 9) {
      await take();
      process.stderr.write(`${index + 1} of ${kills}, ${problems.length} problems\n`);
    }
  }
  await Promise.all(inflicted);
  receiver.setFailing(false);
  const done = await episodes.stop();
  for (const replica of replicas) {
    if (!(await replica.ready(longestQuietMs)))
      onProblem(`${replica.name} is not ready at the end`);
  }
  await setTimeout(leaseMs);
  await take();
  problems.push(...checkResumed(calls, Date.now()));
  await Promise.all(replicas.map((replica) => replica.stop()));
  await take();

  const { takeOversMs, handOversMs, ...called } = checkCalls(calls, notes);
  problems.push(
    ...called.problems,
    ...checkMessages(done, receiver.heard),
    ...(await checkHistory(server.folder, truth, observedMs)),
  );
  return {
    problems,
    faults: victims.done,
    takeOversMs,
    handOversMs,
    events,
    counts: {
      replicas: count,
      targets: targets.length,
      seconds: Math.round((Date.now() - startedMs) / 1_000),
      calls: calls.length,
      episodes: done.length,
      incidents: new Set(receiver.heard.map(({ incident }) => incident)).size,
      "messages accepted": receiver.heard.length,
      missed: kills - countFaults(victims.done),
      "accepted again under the same id": receiver.repeated(),
    },
  };
}

/** The first one runs with an older configuration for a moment, so that there is one. */
async function startAll({ replicas, generation }: Victims): Promise<void> {
  const [first, ...others] = replicas;
  first?.start(generation - 1);
  if (!(await first?.ready(longestQuietMs))) throw new Error("the first replica does not start");
  await first?.stop();
  for (const replica of [first, ...others]) replica?.start(generation);
  for (const replica of replicas) {
    if (!(await replica.ready(longestQuietMs))) throw new Error(`${replica.name} does not start`);
  }
}

/** In the last seconds each target is polled, by one process. */
function checkResumed(calls: readonly Call[], nowMs: number): readonly string[] {
  const latest = calls.filter(({ startMs }) => startMs > nowMs - 3 * intervalMs);
  const byTarget = Map.groupBy(latest, targetNameOf);
  return targets.map(targetNameOf).flatMap((target) => {
    const callers = new Set((byTarget.get(target) ?? []).map(({ incarnation }) => incarnation));
    return callers.size === 1 ? [] : [`${target} is polled by ${callers.size} at the end`];
  });
}
