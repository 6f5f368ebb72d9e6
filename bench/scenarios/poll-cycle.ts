import { openDaemon } from "../support/daemon.ts";
import { startFloors } from "../support/floors.ts";
import type { FloorMeter } from "../support/floors.ts";
import { imageArguments } from "../support/image.ts";
import { startPeer } from "../support/peer-client.ts";
import type { Step } from "../support/peer-messages.ts";
import { samplePolls } from "../support/sampling.ts";
import type { Polled } from "../support/sampling.ts";
import type { Measurement, Scenario } from "../support/scenario.ts";
import { percentile } from "../support/stats.ts";

interface Case {
  readonly what: string;
  readonly step: Step;
  readonly target?: number;
}

const cases: readonly Case[] = [
  { what: "1 % change status", step: { kind: "change", share: 0.01 }, target: 0.3 },
  { what: "nothing changed", step: { kind: "same" }, target: 0.1 },
  { what: "every updated_at touched", step: { kind: "touch" }, target: 1.2 },
  { what: "sandboxes shuffled", step: { kind: "shuffle" }, target: 1.2 },
  { what: "every status changed", step: { kind: "change", share: 1 }, target: 1.2 },
];

/** Only a change of status puts a server into error, or ends that. */
const toldCases = cases
  .filter(({ step }) => step.kind === "change")
  .map(({ what, step }): Case => ({ what: `${what}, and all told`, step }));

/**
 * What one whole poll of 100,000 servers costs: asked over HTTP, compared, judged, committed to the store, shown
 * and logged, with the default rules and a receiver. What it gives to tell is committed with it, and left to
 * wait for its group: `pollAndTell` measures that. Nor is there upkeep in it, which comes once a minute, however
 * many polls there were. The CPU of the process, which runs as the image has it, without that of receiving the
 * same bytes and dropping them is held against `JSON.parse` of the same bytes, as text, in a process with the same
 * arguments. A daemon runs for weeks: it polls until the code of all cases is compiled before any of them counts.
 */
export const pollCycle: Scenario = {
  name: "poll-cycle",
  rounds: { full: 3, quick: 1 },
  nodeArguments: imageArguments,
  run: ({ quick }) => measureCases(cases, { quick, groupWait: "1h", turn: "pollOnce" }),
};

/**
 * The same with all that a turn leads to: the receiver took every message, none of which waits for others, and
 * what upkeep is due is done. Of servers that were idle and change, one in a hundred falls into error.
 */
export const pollAndTell: Scenario = {
  name: "poll-and-tell",
  rounds: { full: 1, quick: 1 },
  nodeArguments: imageArguments,
  run: ({ quick }) => measureCases(toldCases, { quick, groupWait: "0s", turn: "runOnce" }),
};

interface How extends Pick<Polled, "turn"> {
  readonly quick: boolean;
  readonly groupWait: string;
}

async function measureCases(
  measured: readonly Case[],
  { quick, groupWait, turn }: How,
): Promise<Measurement[]> {
  await using peer = await startPeer();
  await peer.fleet("main", quick ? 20_000 : 100_000);
  await using opened = await openDaemon({ origin: peer.origin, regions: ["main"], groupWait });
  await using floors = await startFloors(peer.origin, imageArguments);
  const bench = { peer, opened, floors, turn };
  for (const { step } of measured) await samplePolls(compiling, step, bench);
  await floors.measure("main", compiling);

  const measurements: Measurement[] = [];
  for (const each of measured) measurements.push(...(await measureCase(each, bench)));
  return measurements;
}

interface Bench extends Polled {
  readonly floors: FloorMeter;
}

/** V8 goes on compiling for about as many of a kind: with fewer, a poll seemed to cost up to a quarter more. */
const compiling = { warmUps: 40, samples: 0, calls: 0 };

/**
 * Of what a poll leaves, some is paid for by later ones, as its garbage, and the log of the store, which a
 * thread takes over now and then. And `JSON.parse` leaves 45 MB, which V8 collects every second or
 * third time: single calls took either 80 ms or 160. So each sample is of some calls, behind some that do not
 * count. How fast the machine is changes within a minute, by a half and more: a sample of a poll is held against
 * floors that were measured right before it.
 */
const rounds = 5;
const calls = { warmUps: 3, samples: 1, calls: 5 };

async function measureCase({ what, step, target }: Case, bench: Bench): Promise<Measurement[]> {
  const parsesMs: number[] = [];
  const alone: number[] = [];
  const whole: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const floors = await bench.floors.measure("main", calls);
    const receiveMs = percentile(floors.receivesMs, 0.5);
    const parseMs = percentile(floors.parsesMs, 0.5);
    const [pollMs = 0] = await samplePolls(calls, step, bench);
    parsesMs.push(parseMs);
    alone.push((pollMs - receiveMs) / parseMs);
    whole.push(pollMs / parseMs);
  }
  const floor = { floor: "JSON.parse", floorUnit: "ms", floorSamples: parsesMs, unit: "x" };
  return [
    { ...floor, what, samples: alone, ...(target !== undefined && { target }) },
    { ...floor, what: `${what}, receiving included`, samples: whole },
  ];
}
