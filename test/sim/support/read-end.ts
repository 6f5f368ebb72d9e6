import { DatabaseSync } from "node:sqlite";
import { allTime } from "../../../src/store/changes.ts";
import { openStore } from "../../../src/store/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import { resolutions } from "../history.ts";
import type { Damage, KeptBucket, KeptHistory, Recorded, Resolution } from "../history.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";

const gapsOf = `select from_at_ms as fromMs, to_at_ms as toMs from gaps
  join targets on targets.id = gaps.target_id where region = ? and key = ? order by from_at_ms`;

/** What the product says at the end that it has of each target; the gaps of observation as they are stored. */
async function readKept(
  store: Store,
  path: string,
  targets: readonly ScenarioTarget[],
): Promise<ReadonlyMap<string, KeptHistory>> {
  const kept = new Map<string, KeptHistory>();
  using database = new DatabaseSync(path, { readOnly: true });
  for (const { name, region, key } of targets) {
    const query = { ...allTime, region: [region], key: [key] };
    const buckets = new Map<Resolution, readonly KeptBucket[]>();
    for (const resolution of resolutions) {
      const found = await bucketsIn(store.occupancy, { ...query, resolution });
      buckets.set(
        resolution,
        found.map(({ bucket }) => bucket),
      );
    }
    const changes = await collect(
      store.changes.between({ ...query, direction: "asc", observations: true }),
    );
    const gaps = database
      .prepare(gapsOf)
      .all(region, key)
      .map(({ fromMs, toMs }) => ({ fromMs: Number(fromMs), toMs: Number(toMs) }));
    kept.set(name, { gaps, buckets, changes });
  }
  return kept;
}

interface LeftOptions {
  /** What was caused later may wait still. */
  readonly waitingUtcMs: number;
  readonly damages: readonly Damage[];
}

/** What the last process left. */
export async function readEnd(
  path: string,
  { targets, stages, alertmanager }: Scenario,
  { waitingUtcMs, damages }: LeftOptions,
): Promise<Pick<Recorded, "left" | "kept">> {
  try {
    const store = openStore(path);
    const configured = new Set(stages.at(-1)?.receivers);
    if (alertmanager !== null) configured.add(alertmanager.name);
    const left = await readLeft(store, configured, { waitingUtcMs, damages });
    const kept = await readKept(store, path, targets);
    await store.close();
    return { left, kept };
  } catch (error) {
    return { left: [`a store that cannot be read: ${String(error)}`], kept: new Map() };
  }
}

/** What a receiver is owed that is not configured waits for it. */
async function readLeft(
  store: Store,
  configured: ReadonlySet<string>,
  { waitingUtcMs, damages }: LeftOptions,
): Promise<readonly string[]> {
  const figures = await store.outbox.figures();
  return [...configured].flatMap((receiver) => {
    const own = figures.find((each) => each.receiver === receiver);
    const { openItems = 0, pending = 0, dead = 0, oldestCausedAtMs = null } = own ?? {};
    // Each stays as a dead letter until somebody discards it.
    const unreadable = damages.filter(
      ({ effect }) => effect.kind === "message" && effect.receiver === receiver,
    ).length;
    const isDone = pending === 0 && dead === unreadable;
    if (isDone && (oldestCausedAtMs ?? Infinity) > waitingUtcMs) return [];
    const text = `${receiver}: ${openItems} items, ${pending} pending and ${dead} dead notifications`;
    return [`${text}, where ${unreadable} cannot be read`];
  });
}
