import type { PoolRule } from "../draw/rules.ts";
import type { ByStatus } from "../history.ts";
import type { ScenarioTarget } from "../scenario.ts";
import { byStatus, sum } from "./buckets.ts";
import { distinct, follow } from "./check-incidents.ts";
import { violation, type Evidence, type Violation } from "./evidence.ts";
import { advance, initialState, type Finding, type State, type Step } from "./incident-model.ts";
import { poolObservationsOf, targetEvents, type PoolObservation } from "./pool-observations.ts";
import { noTime, plus, type Span } from "./span.ts";
import type { TargetHistory } from "./target-history.ts";

/** What a poll says of a pool. */
type PoolFinding =
  | Finding
  /** The pool has no server: it is judged only while it has an incident. */
  | { readonly ifOpen: Finding }
  /** Nothing: the pool is not judged. */
  | "none";

interface PoolState extends State {
  /** The process that judged it last. */
  readonly life: number;
  /** For how long all targets were observed since it was judged. */
  readonly unjudged: Span;
}

/** The notifications of pools are those that the stored listings of all their targets call for. */
export function checkPools(
  evidence: Evidence,
  histories: ReadonlyMap<string, TargetHistory>,
  rule: PoolRule,
): readonly Violation[] {
  const notified = evidence.incidents.filter((each) => each.rule === rule.name);
  const judged = { ...rule, flap: null };
  const known = new Set<string>();
  const scopes = Map.groupBy(evidence.scenario.targets, (target) => scopeOf(rule, target));
  const found = Array.from(scopes).flatMap(([scope, targets]) => {
    const members = targets.flatMap(({ name }) => {
      const history = histories.get(name);
      return history ? [targetEvents(evidence, history)] : [];
    });
    const observations = poolObservationsOf(evidence, members);
    const names = new Set(observations.flatMap((each) => [...each.names]));
    const serverNames = rule.by.includes("server_name") ? [...names] : [null];
    return serverNames.flatMap((serverName) => {
      const pool = `${scope} ${serverName}`;
      known.add(pool);
      const own = notified.filter((incident) => incident.pool === pool);
      const followed = {
        name: `pool ${rule.name} ${pool}`,
        rule: judged,
        observations,
        notified: own,
      };
      const first: PoolState = { ...initialState, life: 0, unjudged: noTime };
      return follow(evidence, followed, first, (states, step, observation) => {
        const findings = findingsOf(rule, serverName, observation);
        return states.flatMap((state) =>
          findings.flatMap((finding) => judge(state, finding, observation, step)),
        );
      });
    });
  });
  const invented = notified.filter(({ pool }) => pool === null || !known.has(pool));
  return [
    ...found,
    ...invented.map(({ id, pool }) => violation(`${rule.name}: ${id} of no pool (${pool})`, id)),
  ];
}

/** As messages name it. */
function scopeOf({ by }: PoolRule, { region, key }: ScenarioTarget): string {
  return `${by.includes("region") ? region : null} ${by.includes("key") ? key : null}`;
}

function judge(
  state: PoolState,
  poolFinding: PoolFinding,
  observation: PoolObservation,
  step: Pick<Step, "at" | "rule" | "expected">,
): readonly PoolState[] {
  const { life } = observation;
  const unjudged = plus(state.unjudged, observation);
  const isOpen = state.incident !== null;
  const finding =
    typeof poolFinding === "string" ? poolFinding : isOpen ? poolFinding.ifOpen : "none";
  if (finding === "none") return [{ ...state, unjudged }];
  const observed = { ...observation, ...unjudged };
  const full = { ...step, observation: observed, finding, goneAfter: 1, silenced: [false] };
  const judged = advance(state, full).map((each) => ({ ...each, life, unjudged: noTime }));
  // The time of an earlier process may count as judged.
  return finding === "unstated" && state.life !== life ? [...judged, { ...state, life }] : judged;
}

/** What a poll can say of a pool. */
function findingsOf(
  rule: PoolRule,
  serverName: string | null,
  { sums, names, judged, mayBeLost }: PoolObservation,
): readonly PoolFinding[] {
  const isAddedTo = serverName === null ? names.size > 0 : names.has(serverName);
  const findings = sums.flatMap((counts): readonly PoolFinding[] => {
    if (counts === null) return ["none"];
    const own = Object.entries(counts).filter(
      ([name]) => serverName === null || name === serverName,
    );
    const pooled = byStatus((status) => sum(own.map(([, count]) => count[status])));
    const finding = holds(rule, pooled);
    if (isAddedTo) return [finding];
    if (sum(Object.values(pooled)) === 0) return [{ ifOpen: finding }];
    return judged.map((isJudged) => (isJudged ? "none" : finding));
  });
  return distinct(mayBeLost ? [...findings, "none"] : findings);
}

/** Whether the condition holds, whatever the status of the servers is whose status is unknown. */
function holds({ measure, side, limit }: PoolRule, pooled: ByStatus<number>): Finding {
  const answers = new Set<boolean>();
  const { unknown } = pooled;
  const all = sum(Object.values(pooled));
  for (let idle = 0; idle <= unknown; idle++) {
    for (let occupied = 0; occupied + idle <= unknown; occupied++) {
      const error = unknown - idle - occupied;
      const value = {
        servers: all,
        idle: pooled.idle + idle,
        // Without servers there is no ratio, and the condition does not hold.
        occupied_ratio: (pooled.occupied + occupied) / all,
        error_ratio: (pooled.error + error) / all,
      }[measure];
      answers.add(side === "above" ? value > limit : value < limit);
    }
  }
  if (answers.size > 1) return "unstated";
  return answers.has(true) ? "holds" : "clears";
}
