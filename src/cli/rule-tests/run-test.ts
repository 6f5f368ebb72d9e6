import { restoreSuppressions } from "../../api/suppressions.ts";
import { composeAcknowledged, type Acknowledgement } from "../../alerts/acknowledgement.ts";
import { composeMessages } from "../../alerts/compose-messages.ts";
import { subjectFacts, type Incident } from "../../alerts/incident.ts";
import { judgeRegion, type RegionTarget } from "../../alerts/judge-region.ts";
import { judgePoll } from "../../alerts/judge.ts";
import type { JudgeOptions, PollOutcome } from "../../alerts/judge.ts";
import type { Notification, OutboxItem, StoredOutboxItem } from "../../alerts/notification.ts";
import { holdIncidents } from "../../alerts/target-state.ts";
import { isFullyObserved, nothingKnown } from "../../alerts/target-state.ts";
import type { Config } from "../../config/config.ts";
import { configuredTargets } from "../../config/configured-targets.ts";
import { notifiedReceivers } from "../../config/notified-receivers.ts";
import { targetName } from "../../fleet/model.ts";
import type { Target } from "../../fleet/model.ts";
import { emptySnapshot } from "../../fleet/snapshot.ts";
import type { ListedSandbox } from "../../fleet/snapshot.ts";
import { countByStatus } from "../../fleet/tallies.ts";
import { watchPools } from "../../polling/watched-pools.ts";
import { watchTarget, type WatchedTarget } from "../../polling/watched-target.ts";
import type { PlacedTest } from "./load-tests.ts";
import type { RuleTest } from "./schema.ts";

/** A message as a receiver would have got it. Times are milliseconds from the first poll. */
export interface SentMessage {
  readonly atMs: number;
  readonly notification: Omit<Notification, "id">;
}

/** What a poll or an acknowledgement adds to the outbox. */
interface Added {
  readonly atMs: number;
  readonly items: readonly StoredOutboxItem[];
}

/** Applies the rules to a test's timelines, in simulated time, and gives its messages in the order of time. */
export async function runRuleTest(
  test: PlacedTest,
  config: Config,
): Promise<readonly SentMessage[]> {
  const { rules, receivers, maintenance } = config.alerts;
  const targets = configuredTargets(config);
  const silences = silencesOf(test);
  const acknowledged: Acknowledgement[] = [];
  const read = () => Promise.resolve({ version: 0, silences, acknowledgements: acknowledged });
  const suppressions = await restoreSuppressions({ suppressions: { read } }, maintenance, {
    now: () => ({ utcMs: test.start, monotonicMs: 0 }),
  });
  let incidents = 0;
  const options = {
    rules,
    goneAfter: config.poll.goneAfter,
    newIncidentId: () => `incident-${++incidents}`,
    receivers: notifiedReceivers(config),
  };
  const composeAcknowledgement = composeAcknowledged(rules, options.receivers);
  const fresh = { staleAfter: 1, restoredForMs: Number.POSITIVE_INFINITY, nowUtcMs: test.start };
  const watched = targets.map((target) =>
    watchTarget({ id: 0, target, ...nothingKnown }, emptySnapshot, fresh),
  );
  const poolRules = rules.filter((rule) => rule.on === "pool");
  const pools = watchPools({ rules: poolRules, targets, openIncidents: [], clocks: [] });
  const regions = Map.groupBy(watched, ({ target }) => target.region)
    .entries()
    .map(([region, members]) => ({ region, members, held: holdIncidents([]) }))
    .toArray();

  const added: Added[] = [];
  let seq = 0;
  const add = (atMs: number, items: readonly OutboxItem[]): void => {
    added.push({ atMs, items: items.map((item) => ({ ...item, seq: ++seq })) });
  };
  const pollAll = (poll: number): void => {
    const atMs = poll * test.every;
    const at = { utcMs: test.start + atMs, monotonicMs: atMs };
    const judge: JudgeOptions = { ...options, suppressions: suppressions.at(at.utcMs) };
    for (const each of watched) {
      const { target, state } = each;
      const verdict = judgePoll(state, outcomeOf(test, target, poll), at, judge);
      each.accept(verdict);
      const { snapshot, progress } = verdict;
      const polled = { target, at, snapshot, whole: isFullyObserved(progress) };
      const ofPools = pools.judge(pools.observe(polled), judge);
      pools.accept(ofPools);
      add(atMs, [...verdict.incidents.outbox, ...ofPools.outcome.incidents.outbox]);
    }
  };
  /** After the polls of all its targets. */
  const judgeRegions = (poll: number): void => {
    const atMs = poll * test.every;
    const utcMs = test.start + atMs;
    const judge = { ...options, suppressions: suppressions.at(utcMs) };
    for (const { region, members, held } of regions) {
      const state = { region, targets: members.map(regionTarget), ...held };
      const { incidents: outcome, down } = judgeRegion(state, utcMs, judge);
      held.apply(outcome);
      suppressions.setRegionDown(region, down);
      add(atMs, outcome.outbox);
    }
  };
  const acknowledge = async (named: RuleTest["acknowledge"][number]): Promise<void> => {
    const { at: atMs, by: author } = named;
    const { acknowledgedBy } = suppressions.at(test.start + atMs);
    const open = [
      ...watched.map(({ target, state }) => ({ target, incidents: state.incidents })),
      { target: null, incidents: pools.incidents },
      ...regions.map(({ held }) => ({ target: null, incidents: held.incidents })),
    ];
    for (const { target, incidents: ofTarget } of open) {
      for (const incident of ofTarget.values()) {
        const { id: incidentId } = incident;
        if (!isNamed(named, incident) || acknowledgedBy.has(incidentId)) continue;
        const until = { endsAtMs: null, endedBy: null };
        const given = { incidentId, author, note: null, atMs: test.start + atMs, ...until };
        acknowledged.push(given);
        add(atMs, composeAcknowledgement(incident, given, target));
      }
    }
    await suppressions.reload();
  };

  const acknowledgements = test.acknowledge.toSorted((one, other) => one.at - other.at);
  for (let poll = 0; poll * test.every <= test.until; poll += 1) {
    pollAll(poll);
    judgeRegions(poll);
    for (const each of acknowledgements) {
      if (Math.floor(each.at / test.every) === poll) await acknowledge(each);
    }
  }
  return receivers
    .flatMap((settings) => messagesTo(settings, added, test))
    .toSorted((one, other) => one.atMs - other.atMs);
}

function silencesOf({ silences, start }: PlacedTest) {
  return silences.map(({ from, until, match }) => {
    const times = { startsAtMs: start + from, endsAtMs: start + until };
    return { id: "", match, author: "the test", reason: "", ...times };
  });
}

function regionTarget({ target, state }: WatchedTarget): RegionTarget {
  const {
    failuresInARow,
    failingSinceMs: sinceMs,
    lastPollAtMs: lastMs,
    lastFailure: reason,
    lastStatus: status,
  } = state.progress;
  const isFailing = sinceMs !== null && lastMs !== null && reason !== null;
  const failure = isFailing ? { sinceMs, lastMs, reason, status } : null;
  return {
    target,
    failuresInARow,
    failure,
    servers: countByStatus(state.snapshot.tallies.servers),
  };
}

function isNamed(
  { rule, server, sandbox }: RuleTest["acknowledge"][number],
  { rule: owner, subject, phase }: Incident,
): boolean {
  if (owner !== rule || phase.name !== "firing" || phase.notifiedAtMs === null) return false;
  const { sandboxId, serverId } = subjectFacts(null, subject);
  return isOr(server, serverId) && isOr(sandbox, sandboxId);
}

/** Whether it is as asked for, where something is asked for. */
export function isOr<T>(asked: T | undefined, found: T | null): boolean {
  return asked === undefined || asked === found;
}

/** Composes messages when they are due, as the worker of a receiver does. */
function messagesTo(
  settings: Config["alerts"]["receivers"][number],
  added: readonly Added[],
  { start, until }: PlacedTest,
): readonly SentMessage[] {
  const sent: SentMessage[] = [];
  const groupTimes = new Map<string, number>();
  let open: readonly StoredOutboxItem[] = [];
  /** UTC milliseconds. */
  let dueAtMs = Number.POSITIVE_INFINITY;
  for (const [index, { items }] of added.entries()) {
    const own = items.filter(({ receiver }) => receiver === settings.name);
    open = [...open, ...own];
    dueAtMs = Math.min(dueAtMs, ...own.map(({ causedAtMs }) => causedAtMs));
    const untilMs = Math.min(until, (added[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) - 1);
    while (dueAtMs <= start + untilMs) {
      const nowMs = dueAtMs;
      const { messages, nextDueAtMs } = composeMessages(open, settings, nowMs, groupTimes);
      const composed = new Set(messages.flatMap(({ itemSeqs }) => itemSeqs));
      open = open.filter(({ seq }) => !composed.has(seq));
      for (const { notification, groupNames } of messages) {
        for (const name of groupNames) groupTimes.set(name, nowMs);
        sent.push({ atMs: nowMs - start, notification });
      }
      dueAtMs = nextDueAtMs ?? Number.POSITIVE_INFINITY;
    }
  }
  return sent;
}

function outcomeOf(test: PlacedTest, target: Target, poll: number): PollOutcome {
  const own = test.targets.find((each) => targetName(each) === targetName(target));
  const word = (own && atPoll(own.timeline, poll)) ?? "ok";
  if (word !== "ok" && word !== "partial") return { kind: "failed", reason: word };
  const sandboxes = sandboxesAt(test, target, poll);
  const listing = { sandboxes, texts: sandboxes.map(() => null), complete: word === "ok" };
  return { kind: "listed", listing };
}

/**
 * A sandbox with a timeline states what that says. Another one states no status, and is listed as long as one of its servers
 * is.
 */
function sandboxesAt(test: PlacedTest, target: Target, poll: number): readonly ListedSandbox[] {
  const isHere = (each: Target): boolean => targetName(each) === targetName(target);
  const listed = test.servers.filter(isHere).flatMap(({ timeline, ...server }) => {
    const status = atPoll(timeline, poll);
    return !status || status === "gone" ? [] : [{ ...server, status }];
  });
  const own = test.sandboxes.filter(isHere);
  const ids = new Set([...own, ...listed].map(({ sandbox }) => sandbox));
  return [...ids].flatMap((id): readonly ListedSandbox[] => {
    const { timeline = [], benchmark = null } = own.find(({ sandbox }) => sandbox === id) ?? {};
    const word = atPoll(timeline, poll) ?? "unstated";
    if (word === "gone") return [];
    const servers = listed
      .filter(({ sandbox }) => sandbox === id)
      .map(({ server, name = null, status, benchmark: ofServer = null, tags }) => {
        return { id: server, name, status, benchmark: ofServer, tags };
      });
    const status = word === "unstated" ? null : word;
    return [{ id, status, benchmark, createdAt: null, servers }];
  });
}

function atPoll<Word>(timeline: readonly Word[], poll: number): Word | undefined {
  return timeline[Math.min(poll, timeline.length - 1)];
}
