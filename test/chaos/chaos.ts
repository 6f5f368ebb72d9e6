import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { buildProgram, freePort } from "../../bench/support/daemon.ts";
import { startHelper, type Helper } from "../../bench/support/helper.ts";
import { tempFolder } from "../../bench/support/temp-folder.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { createPostgresServer } from "../store/support/postgres-server.ts";
import { checkHistory } from "./check-history.ts";
import { checkMessages } from "./check-messages.ts";
import { startEpisodes } from "./episodes.ts";
import { countFaults, inflict, planFaults, type FaultKind, type Victims } from "./faults.ts";
import { startReceiver } from "./receiver.ts";
import { measureTakeOvers, type MeasuredFault, type TakeOver } from "./take-overs.ts";
import { checkTerms, watchTerms } from "./terms.ts";
import { copyUnfenced } from "./unfenced.ts";
import { createVictim, type LogEvent, type Victim } from "./victim.ts";
import { callSchema, intervalMs, leaseMs, targets, targetNameOf, truthSchema } from "./world.ts";
import type { Call, Truth } from "./world.ts";

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** Of which kinds the faults are. */
  readonly kinds?: readonly FaultKind[];
  /** Runs processes that have no fence. */
  readonly isUnfenced: boolean;
  /** Ends the run, and all processes. */
  readonly signal: AbortSignal;
  /** Where the logs of the processes are kept. */
  readonly logFile?: string | undefined;
}

export interface ChaosResult {
  readonly problems: readonly string[];
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly takeOvers: readonly TakeOver[];
  readonly events: readonly LogEvent[];
  readonly counts: Readonly<Record<string, number>>;
}

const names = ["a", "b"];
const longestQuietMs = 60_000;
/** How long all has been well before a fault is measured. */
const settlingMs = 2_000;
const reportEvery = 10;

/** Two processes on a PostgreSQL, to which everything happens that can; and what comes of it. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { kills, seed, isUnfenced, logFile } = options;
  const startedMs = Date.now();
  const problems: string[] = [];
  const onProblem = (problem: string): void => {
    problems.push(problem);
    process.stderr.write(`${new Date().toISOString()} ${problem}\n`);
  };
  const events: LogEvent[] = [];
  await using ending = new AsyncDisposableStack();
  const folder = ending.use(tempFolder()).path;
  const program = isUnfenced ? copyUnfenced(folder) : await buildProgram(folder);
  const server = createPostgresServer();
  ending.defer(() => server.remove());
  await server.start();
  const service = ending.use(startHelper("../../test/chaos/service-process.ts"));
  const receiver = ending.use(await startReceiver(seededRandom(seed + 1)));
  const origin = await service.ask("open", null, z.string());
  const both: Victim[] = [];
  for (const name of names) {
    const addresses = { service: origin, hook: receiver.origin, port: await freePort() };
    const postgres = server.folder;
    const own = { name, program, folder, addresses, postgres, events, onProblem, logFile };
    const victim = await createVictim(own);
    ending.defer(() => victim.proxy.close());
    ending.defer(() => victim.kill());
    both.push(victim);
  }
  const generation = 1;
  for (const victim of both) {
    victim.start(generation);
    if (!(await victim.ready(longestQuietMs))) throw new Error(`${victim.name} does not start`);
  }
  const terms = watchTerms(both);
  ending.defer(async () => void (await terms.stop()));
  const observedMs = Date.now() + 5_000;

  const history = collectHistory(service);
  const episodes = startEpisodes({
    random: seededRandom(seed + 2),
    service,
    receiver,
    origins: both.map((victim) => victim.origin),
    onProblem,
    isPlain: isUnfenced,
  });
  await setTimeout(2_000);
  const { active } = terms;
  const done = new Map<FaultKind, number>();
  const victims: Victims = { both, active, service, server, generation, done, busy: new Map() };
  const measured = await inflictAll(victims, options, {
    onProblem,
    async onProgress(count) {
      await history.take();
      process.stderr.write(`${count} of ${kills}, ${problems.length} problems\n`);
    },
  });
  receiver.setFailing(false);
  const shown = await episodes.stop();
  await allAreWell(victims, onProblem);
  await setTimeout(leaseMs);
  await history.take();
  const { truth, calls } = history;
  problems.push(...checkResumed(calls, Date.now()));
  const watched = await terms.stop();
  await Promise.all(both.map((victim) => victim.stop()));
  await history.take();
  problems.push(
    ...checkTerms(watched, calls),
    ...checkMessages(shown, receiver.heard),
    ...(await checkHistory(server.folder, truth, observedMs)),
  );
  return {
    problems,
    faults: done,
    takeOvers: measureTakeOvers(measured, events, calls),
    events,
    counts: {
      seconds: Math.round((Date.now() - startedMs) / 1_000),
      calls: calls.length,
      episodes: shown.length,
      incidents: new Set(receiver.heard.map(({ incident }) => incident)).size,
      terms: watched.length,
      "messages accepted": receiver.heard.length,
      "accepted again under the same id": receiver.repeated(),
      missed: kills - countFaults(done),
    },
  };
}

interface Progress {
  readonly onProblem: (problem: string) => void;
  readonly onProgress: (count: number) => Promise<void>;
}

/** @returns those after which a take-over can be measured */
async function inflictAll(
  victims: Victims,
  { kills, seed, kinds, signal }: ChaosOptions,
  { onProblem, onProgress }: Progress,
): Promise<readonly MeasuredFault[]> {
  const { both, active, busy } = victims;
  const measured: MeasuredFault[] = [];
  let inflicted: Promise<void>[] = [];
  for (const [index, fault] of planFaults(seededRandom(seed), kills, kinds).entries()) {
    const { kind, isMeasured, isOfActive } = fault;
    await setTimeout(fault.afterMs, null, { signal });
    if (isMeasured) {
      await Promise.all(inflicted);
      inflicted = [];
      await allAreWell(victims, onProblem);
      await setTimeout(settlingMs);
    }
    const role = active() ?? both[0];
    const victim = isOfActive ? role : both.find((each) => each !== role);
    if (!victim) throw new Error("there are two processes");
    await busy.get(victim);
    const incarnation = victim.incarnation();
    if (isMeasured && incarnation !== null) {
      measured.push({ kind, incarnation, atMs: Date.now() });
    }
    const inflicting = inflict(victims, fault, victim).catch((error: unknown) =>
      onProblem(`${kind}: ${String(error)}`),
    );
    inflicted.push(inflicting);
    if (isMeasured) {
      await inflicting;
      await allAreWell(victims, onProblem);
    }
    if ((index + 1) % reportEvery === 0) await onProgress(index + 1);
  }
  await Promise.all(inflicted);
  return measured;
}

/** Both are ready, and one of them is active. */
async function allAreWell({ both, active }: Victims, onProblem: Progress["onProblem"]) {
  for (const victim of both) {
    if (!(await victim.ready(longestQuietMs))) onProblem(`${victim.name} does not become ready`);
  }
  for (const endMs = Date.now() + longestQuietMs; !active(); await setTimeout(100)) {
    if (Date.now() > endMs) return onProblem("no process becomes active");
  }
}

const takenSchema = z.object({ truth: z.array(truthSchema), calls: z.array(callSchema) });

/** What the service has shown, and who has called it. */
function collectHistory(service: Helper) {
  const truth: Truth[] = [];
  const calls: Call[] = [];
  return {
    truth,
    calls,
    async take(): Promise<void> {
      const taken = await service.ask("take", null, takenSchema);
      truth.push(...taken.truth);
      calls.push(...taken.calls);
    },
  };
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
