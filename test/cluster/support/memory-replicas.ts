import type { OwnedUnit, Replica } from "../../../src/fleet/replicas.ts";
import type { ReplicaStore } from "../../../src/cluster/replica-store.ts";
import { delay, type Clock } from "../../../src/lib/clock.ts";

type Row = { -readonly [Field in keyof Replica]: Replica[Field] };

/** What replicas share, in memory. Its clock is the given one, an hour ahead. */
export function createMemoryReplicas(clock: Clock) {
  const replicas = new Map<string, Row>();
  const units = new Map<string, OwnedUnit>();
  const generations = new Map<string, number>();
  const listeners = new Set<(topic: string) => void>();
  let joined = 0;
  const nowMs = (): number => clock.now().utcMs + 3_600_000;
  const isLive = (id: string): boolean => (replicas.get(id)?.expiresAtMs ?? 0) > nowMs();
  const remove = (id: string | null): void => {
    if (id === null) return;
    replicas.delete(id);
    for (const unit of units.values()) if (unit.replica === id) units.delete(unit.name);
  };

  return {
    replicas,
    units,
    /** The units of each replica, by its address. */
    owned(): Readonly<Record<string, readonly string[]>> {
      const all = [...units.values()];
      return Object.fromEntries(
        Array.from(replicas.values(), ({ id, address }) => {
          const own = all.filter(({ replica }) => replica === id).map(({ name }) => name);
          return [address, own.toSorted()];
        }),
      );
    },
    /** As one process sees it. */
    open() {
      let id: string | null = null;
      const state = {
        isAway: false,
        isClaimRefused: false,
        isJoinRefused: false,
        /** Releases are carried out, and not answered. */
        isReleaseUnanswered: false,
        /** How long the answers take. */
        renewalMs: 0,
        claimMs: 0,
        leaveMs: 0,
        noticeMs: 0,
        renewals: 0,
        claims: 0,
        interruptions: 0,
      };
      const reach = async (): Promise<void> => {
        if (state.isAway) throw new Error("the database cannot be reached");
      };
      const answer = async <Value>(value: Value, afterMs: number): Promise<Value> => {
        if (afterMs > 0) await delay(clock, afterMs);
        return value;
      };
      const store: ReplicaStore = {
        async join({ address, version, configuration, leaseMs }) {
          await reach();
          if (state.isJoinRefused) throw new Error("too many clients");
          remove(id);
          id = `replica-${(joined += 1)}`;
          const generation = generations.get(configuration) ?? generations.size + 1;
          generations.set(configuration, generation);
          const expiresAtMs = nowMs() + leaseMs;
          const startedAtMs = nowMs();
          const takesUnits = generation === generations.size;
          const kept = { id, address, version, configuration, generation, takesUnits };
          replicas.set(id, { ...kept, startedAtMs, expiresAtMs });
          return id;
        },
        async renew(leaseMs) {
          await reach();
          state.renewals += 1;
          const row = replicas.get(id ?? "");
          if (!row || !isLive(row.id)) return null;
          row.expiresAtMs = nowMs() + leaseMs;
          const all = Array.from(replicas.values(), (each) => ({ ...each }));
          const view = { nowMs: nowMs(), replicas: all, units: [...units.values()] };
          return answer(view, state.renewalMs);
        },
        async claim(wanted) {
          await reach();
          state.claims += 1;
          if (state.isClaimRefused) throw new Error("lock timeout");
          if (id === null || !isLive(id)) return { claimed: [], takenOver: [] };
          const [replica, sinceMs] = [id, nowMs()];
          for (const each of replicas.keys()) if (!isLive(each)) replicas.delete(each);
          const taking = [...replicas.values()].filter(({ takesUnits }) => takesUnits);
          const own = taking.find((each) => each.id === id);
          if (!own || taking.some(({ generation }) => generation > own.generation))
            return { claimed: [], takenOver: [] };
          const ownerOf = (name: string): string => units.get(name)?.replica ?? "";
          const claimed = wanted.filter((name) => ownerOf(name) === id || !isLive(ownerOf(name)));
          const takenOver = claimed.filter((name) => units.has(name) && ownerOf(name) !== id);
          for (const name of claimed) units.set(name, { name, replica, sinceMs });
          return answer({ claimed, takenOver }, state.claimMs);
        },
        async release(released) {
          await reach();
          for (const name of released) if (units.get(name)?.replica === id) units.delete(name);
          if (state.isReleaseUnanswered) throw new Error("connection lost");
        },
        async takeUnits(takes) {
          await reach();
          const row = replicas.get(id ?? "");
          if (row) row.takesUnits = takes;
        },
        async leave() {
          await reach();
          remove(id);
          id = null;
          await answer(null, state.leaveMs);
        },
        onNotice: (listener) => void listeners.add(listener),
        interrupt: () => void (state.interruptions += 1),
        async notice(topic) {
          await reach();
          for (const listener of listeners) queueMicrotask(() => listener(topic));
          await answer(null, state.noticeMs);
        },
      };
      return { store, state };
    },
  };
}
