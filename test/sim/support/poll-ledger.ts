import type { Verdict } from "../../../src/core/judge.ts";
import { targetName } from "../../../src/core/model.ts";
import type { Target } from "../../../src/core/model.ts";
import type { TargetProgress } from "../../../src/core/target-state.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Life, Sighting } from "../history.ts";

/** A poll that a process wanted to be kept. */
export interface OfferedPoll {
  readonly life: number;
  readonly utcMs: number;
  readonly monotonicMs: number;
  /** What its listing showed; null: it failed. */
  readonly sighting: Sighting | null;
  /** Whether a request was sent: if not, as the key is refused, time passed but no poll is counted. */
  readonly sent: boolean;
  /** Whether it was kept; null: the process died before it knew. */
  kept: boolean | null;
}

/** Notes what is offered to the store, and finds out what of it was kept. */
export interface PollLedger {
  /** Between a process and its store. */
  watch(store: Store): Store;
  /** By target. Only once the store was read after the last process. */
  readonly polls: ReadonlyMap<string, readonly OfferedPoll[]>;
  /** What can not be: so many polls are in the store, and so many were told to be. */
  readonly faults: readonly string[];
}

export function createPollLedger(
  lives: () => readonly Life[],
  sightings: () => readonly Sighting[],
): PollLedger {
  const polls = new Map<string, OfferedPoll[]>();
  const faults: string[] = [];
  const names = new Map<number, string>();

  const countKept = (own: readonly OfferedPoll[]): number =>
    own.filter(({ sent, kept }) => sent && kept === true).length;

  const meet = (id: number, target: Target, { attempted, lastPollAtMs }: TargetProgress): void => {
    const polled = attempted.polls;
    const name = targetName(target);
    names.set(id, name);
    const own = polls.get(name) ?? [];
    polls.set(name, own);
    const told = countKept(own);
    const open = own.filter(({ kept }) => kept === null);
    // A process has one poll of a target under way: of several that died with theirs each is settled.
    for (const each of open) each.kept = each.sent ? polled > told : lastPollAtMs === each.utcMs;
    const counted = countKept(own);
    if (counted !== polled) faults.push(`${name}: ${polled} polls are kept, not ${counted}`);
  };

  const offer = (name: string, life: number, { at, progress }: Verdict): OfferedPoll => {
    const isListed = progress.failuresInARow === 0;
    const sighting = sightings().findLast((each) => each.target === name && each.life === life);
    const { utcMs, monotonicMs } = at;
    const seen = isListed ? (sighting ?? null) : null;
    const sent = progress.attempted.polls > countKept(polls.get(name) ?? []);
    return { life, utcMs, monotonicMs, sighting: seen, sent, kept: null };
  };

  return {
    polls,
    faults,
    watch(store) {
      const life = lives().length;
      const isAlive = (): boolean => (lives()[life - 1]?.endMoment ?? null) === null;
      return {
        ...store,
        targets: {
          ...store.targets,
          async all() {
            const all = await store.targets.all();
            for (const { id, target, progress } of all) meet(id, target, progress);
            return all;
          },
          async addAll(targets) {
            const added = await store.targets.addAll(targets);
            for (const { id, target, progress } of added) meet(id, target, progress);
            return added;
          },
        },
        async commitPoll(targetId, verdict) {
          const name = names.get(targetId) ?? "";
          const poll = offer(name, life, verdict);
          polls.get(name)?.push(poll);
          try {
            await store.commitPoll(targetId, verdict);
            if (isAlive()) poll.kept = true;
          } catch (error) {
            if (isAlive()) poll.kept = false;
            throw error;
          }
        },
      };
    },
  };
}
