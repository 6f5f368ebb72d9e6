import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { freePort } from "../../bench/support/daemon.ts";
import { startHelper, type Helper } from "../../bench/support/helper.ts";
import { tempFolder } from "../../bench/support/temp-folder.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { checkCalls } from "../chaos/check-calls.ts";
import { startReceiver, type Receiver } from "../chaos/receiver.ts";
import { createReplica, type Note, type Replica } from "../chaos/replica.ts";
import { callSchema, intervalMs, leaseMs, targets, type Call } from "../chaos/world.ts";
import { createPostgresServer } from "../store/support/postgres-server.ts";
import { testTimeoutMs } from "../support/test-timeout.ts";
import { until } from "./support/until.ts";

/** Three replicas on a PostgreSQL of their own, in processes of their own. The tests follow one another. */
interface World {
  readonly replicas: readonly [Replica, Replica, Replica];
  readonly server: ReturnType<typeof createPostgresServer>;
  readonly service: Helper;
  readonly receiver: Receiver;
  readonly notes: Note[];
  readonly problems: string[];
}

let world: World;
const ending = new AsyncDisposableStack();
const calls: Call[] = [];
/** What a busy machine may add to a time. */
const slackMs = 3_000;

beforeAll(async () => {
  const folder = ending.use(tempFolder()).path;
  const server = createPostgresServer();
  ending.defer(() => server.remove());
  await server.start();
  const service = ending.use(startHelper("../../test/chaos/service-process.ts"));
  const receiver = ending.use(await startReceiver(seededRandom(1)));
  receiver.setFailing(false);
  const origin = await service.ask("open", null, z.string());
  const notes: Note[] = [];
  const problems: string[] = [];
  const start = async (name: string): Promise<Replica> => {
    const port = await freePort();
    const replica = await createReplica({
      name,
      program: "src/cli.js",
      folder,
      addresses: { service: origin, hook: receiver.origin, port, isAlone: false },
      postgres: server.folder,
      notes,
      onProblem: (problem) => void problems.push(problem),
      events: new Map(),
      logFile: undefined,
    });
    ending.defer(() => replica.proxy.close());
    ending.defer(() => replica.kill());
    replica.start(1);
    return replica;
  };
  const replicas = [await start("a"), await start("b"), await start("c")] as const;
  world = { replicas: [...replicas], server, service, receiver, notes, problems };
  await shareTargets(...replicas);
});

afterAll(() => ending.disposeAsync());

/** Calls that have ended since the last time. */
async function takeCalls(): Promise<readonly Call[]> {
  const taken = await world.service.ask(
    "take",
    null,
    z.looseObject({ calls: z.array(callSchema) }),
  );
  calls.push(...taken.calls);
  return taken.calls;
}

const nameOf = ({ region, key }: Pick<Call, "region" | "key">): string => `${region}/${key}`;

/** The targets that each process has called within two intervals. */
async function ownersNow(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  await takeCalls();
  await setTimeout(2 * intervalMs);
  const byOwner = Map.groupBy(await takeCalls(), ({ incarnation }) => incarnation);
  return new Map(Array.from(byOwner, ([owner, own]) => [owner, new Set(own.map(nameOf))]));
}

/** Waits until these are ready and poll each target once. With few keys, one of them may have none. */
async function shareTargets(...replicas: readonly Replica[]): Promise<void> {
  await until("these share the targets", async () => {
    for (const replica of replicas) if (!(await replica.ready(testTimeoutMs))) return false;
    const owners = await ownersNow();
    const names = replicas.map((replica) => replica.incarnation() ?? "");
    const polled = [...owners.values()].flatMap((own) => [...own]);
    return (
      polled.length === targets.length &&
      new Set(polled).size === targets.length &&
      [...owners.keys()].every((owner) => names.includes(owner))
    );
  });
}

/** The longest time without a call of a target since a moment, until all targets have been called after it. */
async function longestGapSince(sinceMs: number): Promise<number> {
  await setTimeout(2 * intervalMs);
  await takeCalls();
  const gaps = targets.map((target) => {
    const times = calls
      .filter((call) => nameOf(call) === nameOf(target) && call.endMs > sinceMs - 3 * intervalMs)
      .map(({ startMs }) => startMs)
      .toSorted((one, other) => one - other);
    return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));
  });
  return Math.max(...gaps);
}

/** Units that these have taken over, because the lease of another one had ended. */
async function takeOversOf(...replicas: readonly Replica[]): Promise<number> {
  const name = "sandwatch_takeovers_total";
  let sum = 0;
  for (const { origin } of replicas) {
    const text = await (await fetch(`${origin}/metrics?collect[]=${name}`)).text();
    sum += Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
  }
  return sum;
}

async function show(server: string, status: string): Promise<void> {
  const region = server.slice(0, 2);
  const key = server.slice(3, 8);
  await world.service.ask("show", { region, key, server, status }, z.number());
}

it("takes over what a killed replica polled within its lease and an interval, and notifies once of what happened meanwhile", async () => {
  const { replicas, receiver } = world;
  const [a, b, c] = replicas;
  await takeCalls();
  const killedMs = Date.now();
  await a.kill();
  for (const key of ["key-0", "key-1", "key-2", "key-3"]) await show(`us-${key}-a`, "error");
  await shareTargets(b, c);
  expect(await longestGapSince(killedMs)).toBeLessThan(leaseMs + intervalMs + slackMs);
  expect(await takeOversOf(b, c)).toBeGreaterThan(0);
  for (const key of ["key-0", "key-1", "key-2", "key-3"]) {
    const of = ({ subject }: { readonly subject: string }): boolean => subject === `us-${key}-a`;
    expect(await receiver.hears(of, testTimeoutMs)).toBe(true);
  }
  a.start(1);
  await shareTargets(a, b, c);
});

it("hands over at SIGTERM without waiting for the end of its lease, and notifies in order of what changes meanwhile", async () => {
  const { replicas, receiver } = world;
  const [a, b, c] = replicas;
  await takeCalls();
  const before = await takeOversOf(a, c);
  const stoppedMs = Date.now();
  const hears = (state: string): Promise<boolean> =>
    receiver.hears(
      (heard) => heard.subject === "eu-key-4-b" && heard.state === state,
      testTimeoutMs,
    );
  const stopping = b.stop();
  await show("eu-key-4-b", "error");
  await stopping;
  await shareTargets(a, c);
  expect(await longestGapSince(stoppedMs)).toBeLessThan(2 * intervalMs + slackMs);
  // The units were released: nobody waited until the lease ended.
  expect(await takeOversOf(a, c)).toBe(before);
  expect(await hears("firing")).toBe(true);
  await show("eu-key-4-b", "idle");
  expect(await hears("resolved")).toBe(true);
  b.start(1);
  await shareTargets(a, b, c);
});

it("takes over from a frozen replica, which polls nothing of that when it goes on, and joins again", async () => {
  const { replicas } = world;
  const [a, b, c] = replicas;
  await takeCalls();
  const frozenMs = Date.now();
  c.freeze();
  await shareTargets(a, b);
  expect(await longestGapSince(frozenMs)).toBeLessThan(leaseMs + intervalMs + slackMs);
  c.thaw();
  await shareTargets(a, b, c);
});

it("stops polling while PostgreSQL is away, says why it is not ready, and goes on by itself", async () => {
  const { replicas, server } = world;
  await server.stop();
  const reason = await until("a replica is not ready", async () => {
    const answer = await fetch(`${replicas[0].origin}/-/ready`);
    return answer.status === 503 && (await answer.text()).includes("no lease") && answer.status;
  });
  expect(reason).toBe(503);
  await setTimeout(leaseMs);
  await takeCalls();
  await setTimeout(3 * intervalMs);
  expect(await takeCalls()).toEqual([]);
  await server.start();
  await shareTargets(...replicas);
});

it("polled no target with two replicas, but for a call that was under way, and sent no message twice or out of order", async () => {
  const { replicas, receiver, notes, problems } = world;
  await Promise.all(replicas.map((replica) => replica.stop()));
  await takeCalls();
  expect([...problems, ...checkCalls(calls, notes).problems]).toEqual([]);
  const ids = receiver.heard.map(({ receiver: to, id, incident }) => `${to} ${id} ${incident}`);
  expect(ids).toHaveLength(new Set(ids).size);
  for (const to of ["oncall", "grouped"]) {
    const byIncident = Map.groupBy(
      receiver.heard.filter((heard) => heard.receiver === to),
      ({ incident }) => incident,
    );
    for (const heard of byIncident.values()) {
      expect(["firing", "firing,resolved"]).toContain(heard.map(({ state }) => state).join());
    }
  }
});
