import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { Helper } from "../../bench/support/helper.ts";
import type { Random } from "../../src/lib/random.ts";
import type { PostgresServer } from "../store/support/postgres-server.ts";
import type { Replica } from "./replica.ts";
import { intervalMs, leaseMs, settlingMs } from "./world.ts";

/** How many of each, of a hundred. Some need other replicas. */
const shares = {
  kill: 24,
  // Nothing else happens meanwhile: how long it takes until others take over is measured.
  "kill among the well": 5,
  "hand-over among the well": 3,
  "power loss": 5,
  "hand-over": 7,
  freeze: 7,
  suspend: 3,
  "freeze while called": 8,
  "suspend before commit": 14,
  "freeze in transaction": 6,
  partition: 9,
  "cut at commit": 12,
  "postgresql killed": 3,
  "service unreachable": 4,
  "older configuration": 3,
  "rolling restart": 2,
};
export type FaultKind = keyof typeof shares;
export const isFaultKind = (word: string): word is FaultKind => Object.hasOwn(shares, word);
export const faultKinds: readonly FaultKind[] = Object.keys(shares).filter(isFaultKind);
/** Only a fence keeps promises after these: otherwise a replica knows that it has lost its lease. */
export const fencedKinds: readonly FaultKind[] = ["suspend before commit"];
/** How many faults there were, of all kinds. */
export const countFaults = (done: ReadonlyMap<FaultKind, number>): number =>
  [...done.values()].reduce((sum, each) => sum + each, 0);
const amongWell = new Set<FaultKind>(["kill among the well", "hand-over among the well"]);
const amongOthers = new Set<FaultKind>(["older configuration", "rolling restart", ...amongWell]);

/** Whether nothing else must happen shortly before, meanwhile and shortly after. */
export const needsCalm = ({ kind }: Fault): boolean => amongWell.has(kind);

export interface Fault {
  readonly kind: FaultKind;
  readonly victim: number;
  /** Between the beginning of the fault before and this one. */
  readonly afterMs: number;
  /** Two draws. */
  readonly length: number;
  readonly choice: number;
}

/** @param kinds the kinds to draw from */
export function planFaults(
  random: Random,
  count: number,
  replicas: number,
  kinds = faultKinds,
): readonly Fault[] {
  const pick = (): FaultKind => {
    const usable = kinds.filter((kind) => replicas > 1 || !amongOthers.has(kind));
    let left = random() * usable.reduce((sum, kind) => sum + shares[kind], 0);
    return usable.find((kind) => (left -= shares[kind]) < 0) ?? "kill";
  };
  return Array.from({ length: count }, () => ({
    kind: pick(),
    victim: Math.floor(random() * replicas),
    afterMs: 500 + random() * 3_500,
    length: random(),
    choice: random(),
  }));
}

export interface Victims {
  readonly replicas: readonly Replica[];
  readonly service: Helper;
  readonly server: PostgresServer;
  /** Of the newest configuration. */
  generation: number;
  readonly done: Map<FaultKind, number>;
  /** The faults that are on, by the replica: one at a time each. */
  readonly busy: Map<Replica, Promise<unknown>>;
  /** The replicas that cannot reach the service. */
  readonly blocked: Set<string>;
}

const beyondLease = (length: number): number => leaseMs + 500 + length * 3_000;
const nothing = z.unknown();
/** The first statement of each transaction of a replica counts its commits. */
const begin = "set commits";
const commit = "commit\0";

async function exclusively<Result>(
  { busy }: Victims,
  replica: Replica,
  act: () => Promise<Result>,
): Promise<Result> {
  const before = busy.get(replica);
  const acting = (before ?? Promise.resolve()).then(act);
  const ended = acting.finally(() => {
    if (busy.get(replica) === ended) busy.delete(replica);
  });
  busy.set(replica, ended);
  return ended;
}

/** Lets something go wrong, and ends it. Resolves when it is over. What found nothing to happen to is not counted. */
export async function inflict(victims: Victims, fault: Fault): Promise<void> {
  const { done } = victims;
  if (await happens(victims, fault)) done.set(fault.kind, (done.get(fault.kind) ?? 0) + 1);
}

async function happens(victims: Victims, { kind, victim, length, choice }: Fault) {
  const { replicas, server } = victims;
  const replica = replicas[victim];
  if (!replica) throw new Error(`there is no replica ${victim}`);
  const { proxy } = replica;
  const on = async (act: () => Promise<boolean | void>): Promise<boolean> =>
    (await exclusively(victims, replica, act)) !== false;
  switch (kind) {
    case "kill":
      return on(async () => {
        await replica.kill();
        await setTimeout(choice < 0.3 ? 0 : length * 8_000);
        replica.start(victims.generation);
      });
    case "kill among the well":
    case "hand-over among the well":
      return on(async () => {
        for (const each of replicas) await each.ready(30_000);
        await setTimeout(settlingMs);
        await (kind === "kill among the well" ? replica.kill() : replica.stop());
        await setTimeout(leaseMs + 3 * intervalMs);
        replica.start(victims.generation);
      });
    case "power loss":
      return on(async () => {
        // The server does not learn that the connections are gone.
        proxy.hold();
        await replica.kill();
        await setTimeout(beyondLease(length));
        proxy.drop();
        proxy.release();
        replica.start(victims.generation);
      });
    case "hand-over":
      return on(async () => {
        await replica.stop();
        await setTimeout(length * 3_000);
        replica.start(victims.generation);
      });
    case "freeze":
      return on(async () => {
        replica.freeze();
        await setTimeout(choice < 0.3 ? length * leaseMs : beyondLease(length));
        replica.thaw();
      });
    case "suspend":
      return on(async () => {
        replica.suspend();
        proxy.hold();
        await setTimeout(beyondLease(length));
        replica.thaw();
        // Its connections lead nowhere any more: it cannot learn by them that others have taken over.
        await setTimeout(leaseMs / 3);
        proxy.drop();
        proxy.release();
      });
    case "freeze while called":
      return on(async () => {
        const { service } = victims;
        const isCaught = await within(3_000, service.ask("holdCallOf", replica.name, z.string()));
        replica.freeze();
        await service.ask("letGo", null, nothing);
        if (isCaught !== null) await setTimeout(beyondLease(length));
        replica.thaw();
        return isCaught !== null;
      });
    case "suspend before commit":
      return suspendBeforeNews(victims, replica, length);
    case "freeze in transaction":
      return on(async () => {
        const isCaught = await replica.trap(commit, "hold", 3_000, () => replica.freeze());
        if (!isCaught) return false;
        await setTimeout(beyondLease(length));
        proxy.release();
        replica.thaw();
        return true;
      });
    case "partition":
      return on(async () => {
        replica.harm();
        proxy.hold();
        await setTimeout(choice < 0.2 ? length * leaseMs : beyondLease(length));
        if (choice < 0.6) proxy.drop();
        proxy.release();
        replica.heal();
      });
    case "cut at commit":
      return on(async () => {
        replica.harm();
        const isCaught = await replica.trap(commit, choice < 0.5 ? "before" : "after", 3_000);
        replica.heal();
        return isCaught;
      });
    case "postgresql killed":
      for (const each of replicas) each.harm();
      await server.kill();
      await setTimeout(length * 9_000);
      await server.start();
      for (const each of replicas) each.heal();
      return true;
    case "service unreachable":
      return on(async () => {
        replica.harm();
        await block(victims, replica, true);
        await setTimeout(2_000 + length * 6_000);
        await block(victims, replica, false);
        replica.heal();
      });
    case "older configuration":
      return on(async () => {
        await replica.kill();
        replica.start(victims.generation - 1);
        await setTimeout(leaseMs + length * 6_000);
        await replica.stop();
        replica.start(victims.generation);
      });
    case "rolling restart": {
      victims.generation += 1;
      for (const each of replicas) {
        await exclusively(victims, each, async () => {
          await each.stop();
          each.start(victims.generation);
          await each.ready(20_000);
        });
      }
      return true;
    }
  }
}

async function block({ service, blocked }: Victims, { name }: Replica, isBlocked: boolean) {
  if (isBlocked) blocked.add(name);
  else blocked.delete(name);
  await service.ask("block", [...blocked], nothing);
}

/**
 * Suspends the machine of a replica that has read of a new error when it has judged it and is about to store it, until
 * others have taken over and polled, and lets what it sent then reach PostgreSQL. When it goes on, it still believes that it
 * has its lease: only the fence keeps the error from being stored twice.
 */
async function suspendBeforeNews(
  victims: Victims,
  usual: Replica,
  length: number,
): Promise<boolean> {
  const { service, replicas, busy } = victims;
  const name = await within(10_000, service.ask("holdNews", null, z.string()));
  const caught = replicas.find((each) => each.name === name);
  const replica = caught && !busy.has(caught) ? caught : usual;
  return exclusively(victims, replica, async () => {
    const suspended = replica.trap(begin, "hold", 3_000, () => replica.suspend());
    await service.ask("letGo", null, nothing);
    if (!(await suspended)) return false;
    await setTimeout(leaseMs + 2 * intervalMs + length * 2_000);
    // Before it learns on another connection that its units were taken over.
    replica.proxy.releasePart();
    replica.thaw();
    await setTimeout(500);
    replica.proxy.release();
    return true;
  });
}

/** Null: it took longer. */
async function within<Value>(ms: number, waiting: Promise<Value>): Promise<Value | null> {
  return Promise.race([waiting, setTimeout(ms, null)]);
}
