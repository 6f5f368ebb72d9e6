import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { Helper } from "../../bench/support/helper.ts";
import type { Random } from "../../src/lib/random.ts";
import type { Way } from "../support/postgres-proxy.ts";
import type { PostgresServer } from "../store/support/postgres-server.ts";
import type { Victim } from "./victim.ts";
import { intervalMs, leaseMs } from "./world.ts";

/** How many of each, of a hundred. */
const shares = {
  kill: 15,
  "kill both": 4,
  "machine lost": 6,
  stop: 9,
  freeze: 9,
  suspend: 4,
  "freeze while called": 4,
  "freeze in transaction": 5,
  "suspend before commit": 10,
  "cut off": 8,
  "cut off one way": 7,
  delay: 7,
  "cut at commit": 6,
  "postgresql killed": 3,
  "configuration changed": 3,
};
export type FaultKind = keyof typeof shares;
export const isFaultKind = (word: string): word is FaultKind => Object.hasOwn(shares, word);
export const faultKinds: readonly FaultKind[] = Object.keys(shares).filter(isFaultKind);
/** Only a fence keeps promises after these: otherwise a process knows that it may not act. */
export const fencedKinds: readonly FaultKind[] = ["suspend before commit"];
/** How many faults there were, of all kinds. */
export const countFaults = (done: ReadonlyMap<FaultKind, number>): number =>
  [...done.values()].reduce((sum, each) => sum + each, 0);

/** After these another process takes over. Some happen while all is well, and it is measured how long that takes. */
const measured = new Set<FaultKind>([
  "kill",
  "machine lost",
  "stop",
  "freeze",
  "suspend",
  "cut off",
]);
const measuredShare = 0.4;

export interface Fault {
  readonly kind: FaultKind;
  /** Whether it happens to the active process. */
  readonly isOfActive: boolean;
  /** Nothing else happens shortly before, meanwhile and shortly after. */
  readonly isMeasured: boolean;
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
  kinds: readonly FaultKind[] = faultKinds,
): readonly Fault[] {
  const pick = (): FaultKind => {
    let left = random() * kinds.reduce((sum, kind) => sum + shares[kind], 0);
    return kinds.find((kind) => (left -= shares[kind]) < 0) ?? "kill";
  };
  return Array.from({ length: count }, () => {
    const kind = pick();
    const isMeasured = random() < measuredShare && measured.has(kind);
    return {
      kind,
      isMeasured,
      isOfActive: random() < 0.75 || isMeasured,
      afterMs: 500 + random() * 3_500,
      length: random(),
      choice: isMeasured ? 1 : random(),
    };
  });
}

export interface Victims {
  readonly both: readonly Victim[];
  /** The one that was active last. */
  readonly active: () => Victim | undefined;
  readonly service: Helper;
  readonly server: PostgresServer;
  /** Of the newest configuration. */
  generation: number;
  readonly done: Map<FaultKind, number>;
  /** The faults that are on, by the process: one at a time each. */
  readonly busy: Map<Victim, Promise<unknown>>;
}

const beyondLease = (length: number): number => leaseMs + 500 + length * 3_000;
const nothing = z.unknown();
/** Of the session that writes: others begin transactions in other words. */
const begin = "begin\0";
const commit = "commit\0";

async function exclusively<Result>(
  { busy }: Victims,
  victim: Victim,
  act: () => Promise<Result>,
): Promise<Result> {
  const before = busy.get(victim);
  const acting = (before ?? Promise.resolve()).then(act);
  const ended = acting.finally(() => {
    if (busy.get(victim) === ended) busy.delete(victim);
  });
  busy.set(victim, ended);
  return ended;
}

/** Lets something go wrong, and ends it. Resolves when it is over. What found nothing to happen to is not counted. */
export async function inflict(victims: Victims, fault: Fault, victim: Victim): Promise<void> {
  const { done } = victims;
  if (await happens(victims, fault, victim)) done.set(fault.kind, (done.get(fault.kind) ?? 0) + 1);
}

async function happens(victims: Victims, fault: Fault, victim: Victim): Promise<boolean> {
  const { kind, length, choice } = fault;
  const { both, server, generation } = victims;
  if (kind === "kill both") {
    await Promise.all(
      both.map((each, index) =>
        exclusively(victims, each, async () => {
          await each.kill();
          await setTimeout(length * 3_000 * index);
          each.start(victims.generation);
        }),
      ),
    );
    return true;
  }
  if (kind === "postgresql killed") {
    await server.kill();
    await setTimeout(length * 9_000);
    await server.start();
    return true;
  }
  if (kind === "configuration changed") {
    victims.generation += 1;
    for (const each of both) {
      await exclusively(victims, each, () => change(each, generation + 1, choice < 0.5));
    }
    return true;
  }
  if (kind === "suspend before commit") return suspendBeforeNews(victims, victim, length);
  return exclusively(victims, victim, () => hit(victims, fault, victim));
}

async function change(victim: Victim, generation: number, byReload: boolean): Promise<void> {
  if (byReload) {
    // Before it has started, the signal would end it.
    await victim.ready(20_000);
    victim.reload(generation);
  } else {
    await victim.stop();
    victim.start(generation);
  }
  await victim.ready(20_000);
}

/** What happens to one process. */
async function hit(victims: Victims, { kind, length, choice }: Fault, victim: Victim) {
  const { proxy } = victim;
  const restart = (): void => victim.start(victims.generation);
  switch (kind) {
    case "kill":
      await victim.kill();
      await setTimeout(choice < 0.3 ? 0 : length * 8_000);
      restart();
      return true;
    case "machine lost":
      // The server does not learn that the connections are gone, also when it starts again.
      proxy.strand();
      await victim.kill();
      await setTimeout(choice * leaseMs);
      restart();
      await setTimeout(beyondLease(length));
      proxy.release();
      return true;
    case "stop":
      await victim.stop();
      await setTimeout(length * 3_000);
      restart();
      return true;
    case "freeze":
      victim.freeze();
      await setTimeout(choice < 0.3 ? length * leaseMs : beyondLease(length));
      victim.thaw();
      return true;
    case "suspend":
      victim.suspend();
      proxy.hold();
      await setTimeout(beyondLease(length));
      victim.thaw();
      // Its connections lead nowhere any more: it cannot learn by them that another one has taken over.
      await setTimeout(leaseMs / 3);
      proxy.drop();
      proxy.release();
      return true;
    case "freeze while called": {
      const { service } = victims;
      const isCaught = await within(3_000, service.ask("holdCallOf", victim.name, z.string()));
      victim.freeze();
      await service.ask("letGo", null, nothing);
      if (isCaught !== null) await setTimeout(beyondLease(length));
      victim.thaw();
      return isCaught !== null;
    }
    case "freeze in transaction": {
      const isCaught = await victim.trap(commit, "hold", 3_000, () => victim.freeze());
      if (!isCaught) return false;
      await setTimeout(beyondLease(length));
      proxy.release();
      victim.thaw();
      return true;
    }
    case "cut off":
    case "cut off one way": {
      const oneWay: Way = length < 0.5 ? "to server" : "to client";
      proxy.hold(kind === "cut off" ? undefined : [oneWay]);
      await setTimeout(choice < 0.2 ? length * leaseMs : beyondLease(length));
      if (choice < 0.6) proxy.drop();
      proxy.release();
      return true;
    }
    case "delay":
      // From 0.05 s to 3 s a packet, as many short ones as long ones.
      proxy.delay(50 * 60 ** choice);
      await setTimeout(10_000 + length * 8_000);
      proxy.delay(0);
      return true;
    case "cut at commit":
      return victim.trap(commit, choice < 0.5 ? "before" : "after", 3_000);
    default:
      throw new Error(`${kind} does not happen to one process`);
  }
}

/**
 * Suspends the machine of the process that has read of a new error when it has judged it and is about to store it, until
 * the other one has taken over and polled, and lets what it sent then reach PostgreSQL. When it goes on, it still believes
 * that it is active: only the fence keeps the error from being stored twice.
 */
async function suspendBeforeNews(
  victims: Victims,
  usual: Victim,
  length: number,
): Promise<boolean> {
  const { service, both, busy } = victims;
  const name = await within(10_000, service.ask("holdNews", null, z.string()));
  const caught = both.find((each) => each.name === name);
  const victim = caught && !busy.has(caught) ? caught : usual;
  return exclusively(victims, victim, async () => {
    const suspended = victim.trap(begin, "hold", 3_000, () => victim.suspend());
    await service.ask("letGo", null, nothing);
    if (!(await suspended)) return false;
    await setTimeout(leaseMs + 2 * intervalMs + length * 2_000);
    // Before it learns on another connection that another process has taken over.
    victim.proxy.releasePart();
    victim.thaw();
    await setTimeout(500);
    victim.proxy.release();
    return true;
  });
}

/** Null: it took longer. */
async function within<Value>(ms: number, waiting: Promise<Value>): Promise<Value | null> {
  return Promise.race([waiting, setTimeout(ms, null)]);
}
