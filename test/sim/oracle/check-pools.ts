import type { ByStatus, History } from "../history.ts";
import type { ScenarioPoolRule } from "../pool-rules.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import { advance, noCourse } from "./course.ts";
import type { Course, Look } from "./course.ts";
import { distinct, mostFollowed } from "./check-servers.ts";
import { expect } from "./expected.ts";
import { poolSightsOf } from "./pool-sights.ts";
import type { PoolSight } from "./pool-sights.ts";
import { noTime, plus } from "./span.ts";
import type { Span } from "./span.ts";
import { byStatus, targetEvents } from "./target-events.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** The servers that are alike in what a rule pools by; null stands for all. */
interface Pool {
  readonly region: string | null;
  readonly key: string | null;
  readonly serverName: string | null;
}

/** Whether a rule is judged for a pool at a poll, and what it says then. */
type PoolLook =
  | Look
  /** It is judged only while it has an incident: it holds no server. */
  | { readonly ifOpen: Look }
  /** The poll says nothing of it. */
  | "none";

/** That what was told of pools is what the accepted listings of all their targets call for. */
export function checkPools(
  scenario: Scenario,
  history: History,
  rule: ScenarioPoolRule,
  told: readonly ToldIncident[],
): readonly Violation[] {
  const events = new Map(
    scenario.targets.map((target) => [target, targetEvents(scenario, history, target)]),
  );
  const scopes = Map.groupBy(scenario.targets, ({ region, key }) =>
    JSON.stringify([
      rule.by.includes("region") ? region : null,
      rule.by.includes("key") ? key : null,
    ]),
  );
  const known = new Set<string>();
  const found = Array.from(scopes.values()).flatMap((targets) => {
    const members = targets.map((target) => events.get(target) ?? []);
    const sights = poolSightsOf(history, members);
    return poolsOf(rule, targets, sights).flatMap((pool) => {
      known.add(textOf(pool));
      const own = told.filter((incident) => incident.pool === textOf(pool));
      return checkPool(scenario, history, { rule, pool, sights, told: own });
    });
  });
  const invented = told.filter(({ pool }) => pool === null || !known.has(pool));
  return [
    ...found,
    ...invented.map(({ id, pool }) => violation(`${rule.name}: ${id} of no pool (${pool})`, id)),
  ];
}

/** As messages name it. */
function textOf({ region, key, serverName }: Pool): string {
  return `${region} ${key} ${serverName}`;
}

function poolsOf(
  { by }: ScenarioPoolRule,
  targets: readonly ScenarioTarget[],
  sights: readonly PoolSight[],
): readonly Pool[] {
  const [first] = targets;
  if (!first) return [];
  const region = by.includes("region") ? first.region : null;
  const key = by.includes("key") ? first.key : null;
  const names = new Set(sights.flatMap((sight) => [...sight.names]));
  if (!by.includes("server_name")) return [{ region, key, serverName: null }];
  return Array.from(names, (serverName) => ({ region, key, serverName }));
}

function checkPool(
  scenario: Scenario,
  history: History,
  {
    rule,
    pool,
    sights,
    told,
  }: {
    readonly rule: ScenarioPoolRule;
    readonly pool: Pool;
    readonly sights: readonly PoolSight[];
    readonly told: readonly ToldIncident[];
  },
): readonly Violation[] {
  const seen = sights.map((sight) => sight.seen);
  const followed = { ...rule, flap: null };
  const expected = expect(scenario, history, { rule: followed, seen, told });
  const name = `${rule.name} ${textOf(pool)}`;
  const stand = (atMs: number): readonly Violation[] =>
    expected
      .takeFaults()
      .map((fault) =>
        violation(`pool ${name}: ${fault} (judged at ${atMs} ms)`, ...told.map(({ id }) => id)),
      );
  let states: readonly PoolState[] = [{ course: noCourse, life: 0, unjudged: noTime }];
  for (const [at, sight] of sights.entries()) {
    expected.takeFaults();
    if (expected.isLate(sight.seen)) break;
    const { life } = sight;
    const looks = looksAt(rule, pool, sight);
    const after = states.flatMap((state) =>
      looks.flatMap((each): readonly PoolState[] => {
        const look = lookOf(each, state);
        const { leastMs, mostMs } = plus(state.unjudged, sight.seen);
        if (look === null) return [{ ...state, unjudged: { leastMs, mostMs } }];
        const step = {
          at,
          seen: { ...sight.seen, leastMs, mostMs },
          look,
          rule: followed,
          goneAfter: 1,
          silenced: [false],
          expected,
        };
        const judged = advance(state.course, step).map((course) => ({
          course,
          life,
          unjudged: noTime,
        }));
        // What passed in an earlier process is not told apart from what was judged.
        return look === "unstated" && state.life !== life
          ? [...judged, { ...state, life }]
          : judged;
      }),
    );
    states = distinct(after);
    if (states.length > mostFollowed) return [];
    if (states.length === 0) return stand(sight.seen.fromMs);
  }
  expected.takeFaults();
  return states.some(({ course }) => expected.isAll(course)) ? [] : stand(history.endMs);
}

/** Where a pool may stand under a rule. */
interface PoolState {
  readonly course: Course;
  /** The process that judged it last. */
  readonly life: number;
  /** For how long all targets were observed since it was judged. */
  readonly unjudged: Span;
}

function lookOf(look: PoolLook, { course }: PoolState): Look | null {
  if (look === "none") return null;
  if (typeof look === "string") return look;
  return course.episode === null ? null : look.ifOpen;
}

/** What a poll can say of a pool. */
function looksAt(
  rule: ScenarioPoolRule,
  { serverName }: Pool,
  { sums, names, judged }: PoolSight,
): readonly PoolLook[] {
  const isAddedTo = serverName === null ? names.size > 0 : names.has(serverName);
  const looks = sums.flatMap((sum): readonly PoolLook[] => {
    if (sum === null) return ["none"];
    const counts = Array.from(sum).flatMap(([name, count]) =>
      serverName === null || name === serverName ? [count] : [],
    );
    const pooled = byStatus((status) => counts.reduce((total, each) => total + each[status], 0));
    const look = holds(rule, pooled);
    if (isAddedTo) return [look];
    const isEmpty = Object.values(pooled).every((count) => count === 0);
    if (isEmpty) return [{ ifOpen: look }];
    return judged.map((isJudged) => (isJudged ? "none" : look));
  });
  return [...new Map(looks.map((look) => [JSON.stringify(look), look])).values()];
}

/** Whether the condition holds, whatever the servers are in whose status is unknown. */
function holds({ measure, side, limit }: ScenarioPoolRule, pooled: ByStatus<number>): Look {
  const answers = new Set<boolean>();
  const { unknown } = pooled;
  for (let idle = 0; idle <= unknown; idle++) {
    for (let occupied = 0; occupied + idle <= unknown; occupied++) {
      const error = unknown - idle - occupied;
      const value = measured(measure, {
        idle: pooled.idle + idle,
        occupied: pooled.occupied + occupied,
        error: pooled.error + error,
      });
      answers.add(value !== null && (side === "above" ? value > limit : value < limit));
    }
  }
  if (answers.size > 1) return "unstated";
  return answers.has(true) ? "holds" : "clears";
}

function measured(
  measure: ScenarioPoolRule["measure"],
  { idle, occupied, error }: Omit<ByStatus<number>, "unknown">,
): number | null {
  const all = idle + occupied + error;
  switch (measure) {
    case "servers":
      return all;
    case "idle":
      return idle;
    case "occupied_ratio":
      return all === 0 ? null : occupied / all;
    case "error_ratio":
      return all === 0 ? null : error / all;
  }
}
