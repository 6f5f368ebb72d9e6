import type { Config } from "../../config/config.ts";
import { composeAcknowledged } from "../../alerts/acknowledgement.ts";
import { judgePoll } from "../../alerts/judge.ts";
import type { JudgeOptions, PollOutcome } from "../../alerts/judge.ts";
import type { Target } from "../../fleet/model.ts";
import { createPoolWatch } from "../../alerts/pool-watch.ts";
import { nothingKnown, isFullyObserved } from "../../alerts/target-state.ts";
import { emptySnapshot } from "../../fleet/snapshot.ts";
import type { ListedSandbox } from "../../fleet/snapshot.ts";
import { watchTarget } from "../../polling/watched-target.ts";
import type { WatchedTarget } from "../../polling/watched-target.ts";
import { createPaperOutbox } from "./test-outbox.ts";
import type { SentMessage } from "./test-outbox.ts";
import { testInterventions } from "./test-interventions.ts";
import type { RuleTest } from "./schema.ts";
import { atPoll } from "./timeline.ts";

/** A test whose servers and targets are all sent apart by region and key. */
export interface PlacedTest extends Omit<RuleTest, "servers" | "targets" | "every" | "until"> {
  /** Between two polls of a target, and from the first one to the last. Milliseconds. */
  readonly every: number;
  readonly until: number;
  readonly servers: readonly (RuleTest["servers"][number] & Target)[];
  readonly targets: readonly (RuleTest["targets"][number] & Target)[];
}

/**
 * Runs the very core of sandwatch through a test's timelines, on time that only the test moves: all
 * targets are polled at the same moments, the first time at 0. A target without a timeline of its
 * own always answers.
 *
 * @returns every message up to and at the test's end, in the order of time
 */
export function runRuleTest(
  test: PlacedTest,
  { alerts, poll: { goneAfter } }: Pick<Config, "alerts" | "poll">,
  targets: readonly Target[],
): readonly SentMessage[] {
  const { rules, receivers, maintenance } = alerts;
  const outbox = createPaperOutbox(receivers, test.start);
  const interventions = testInterventions(test, maintenance);
  let incidents = 0;
  const judge: JudgeOptions = {
    rules,
    goneAfter,
    interventions,
    newIncidentId: () => `incident-${++incidents}`,
    notifies: outbox.wants,
  };
  const composed = composeAcknowledged(rules, outbox.wants);
  const watched = targets.map((target) => watchFromNothing(target, test.start));
  const poolRules = rules.filter((rule) => rule.on === "pool");
  const pools = createPoolWatch({ rules: poolRules, targets, openIncidents: [], clocks: [] });

  const pollOne = (one: WatchedTarget, poll: number): void => {
    const { target } = one;
    const at = { utcMs: test.start + poll * test.every, monotonicMs: poll * test.every };
    const verdict = judgePoll(one.state, outcomeOf(test, one, poll), at, judge);
    one.accept(verdict);
    const { snapshot } = verdict;
    const ofPools = pools.judge(
      { target, at, snapshot, whole: isFullyObserved(verdict.progress) },
      judge,
    );
    ofPools.accept();
    outbox.add([...verdict.incidents.outbox, ...ofPools.outcome.incidents.outbox]);
  };

  const acknowledge = (atMs: number): void => {
    const places = [
      ...watched.map(({ target, state }) => ({ target, open: state.incidents })),
      { target: null, open: pools.incidents },
    ];
    for (const { target, open } of places) {
      for (const { incident, author } of interventions.acknowledge(open.values(), atMs)) {
        const said = { incidentId: incident.id, author, note: null, atMs: test.start + atMs };
        outbox.add(composed(incident, said, target));
      }
    }
  };

  const acknowledged = test.acknowledge.map(({ at }) => at).toSorted((one, other) => one - other);
  for (let poll = 0; poll * test.every <= test.until; poll += 1) {
    const atMs = poll * test.every;
    for (const one of watched) pollOne(one, poll);
    const nextMs = atMs + test.every;
    for (const at of acknowledged.filter((each) => each >= atMs && each < nextMs)) {
      outbox.sendUpTo(at - 1);
      acknowledge(at);
    }
    outbox.sendUpTo(Math.min(test.until, nextMs - 1));
  }
  return outbox.sent;
}

function watchFromNothing(target: Target, nowUtcMs: number): WatchedTarget {
  return watchTarget({ id: 0, target, ...nothingKnown }, emptySnapshot, {
    staleAfter: 1,
    restoredForMs: Number.POSITIVE_INFINITY,
    nowUtcMs,
  });
}

function outcomeOf(test: PlacedTest, { target }: WatchedTarget, poll: number): PollOutcome {
  const own = test.targets.find((each) => isAt(each, target));
  const word = (own && atPoll(own.timeline, poll)) ?? "ok";
  if (word !== "ok" && word !== "partial") return { kind: "failed", reason: word };
  const sandboxes = sandboxesAt(test, target, poll);
  const listing = { sandboxes, texts: sandboxes.map(() => null), complete: word === "ok" };
  return { kind: "listed", listing };
}

/** A sandbox is listed as long as one of its servers is. */
function sandboxesAt(test: PlacedTest, target: Target, poll: number): readonly ListedSandbox[] {
  const listed = test.servers.flatMap((server) => {
    const word = isAt(server, target) ? atPoll(server.timeline, poll) : undefined;
    return word === undefined || word === "gone" ? [] : [{ ...server, status: word }];
  });
  const sandboxes = Map.groupBy(listed, ({ sandbox }) => sandbox);
  return Array.from(sandboxes, ([id, servers]) => ({
    id,
    status: "occupied",
    benchmark: null,
    servers: servers.map(({ server, name = null, status, benchmark = null, tags }) => ({
      id: server,
      name,
      status,
      benchmark,
      tags,
    })),
  }));
}

function isAt(one: Target, other: Target): boolean {
  return one.region === other.region && one.key === other.key;
}
