import { restoreInterventions } from "../../api/interventions.ts";
import { composeAcknowledged } from "../../alerts/acknowledgement.ts";
import { composeMessages } from "../../alerts/compose-messages.ts";
import type { Incident } from "../../alerts/incident.ts";
import { judgePoll } from "../../alerts/judge.ts";
import type { JudgeOptions, PollOutcome } from "../../alerts/judge.ts";
import { wants } from "../../alerts/notification.ts";
import type { Notification, OutboxItem, StoredOutboxItem } from "../../alerts/notification.ts";
import { createPoolWatch } from "../../alerts/pool-watch.ts";
import { isFullyObserved, nothingKnown } from "../../alerts/target-state.ts";
import type { Config } from "../../config/config.ts";
import { configuredTargets } from "../../config/configured-targets.ts";
import { targetName } from "../../fleet/model.ts";
import type { Target } from "../../fleet/model.ts";
import { emptySnapshot } from "../../fleet/snapshot.ts";
import type { ListedSandbox } from "../../fleet/snapshot.ts";
import { watchTarget } from "../../polling/watched-target.ts";
import type { PlacedTest } from "./load-tests.ts";
import type { RuleTest } from "./schema.ts";

/** A message as a receiver would have got it. */
export interface SentMessage {
  /** Milliseconds from the first poll. */
  readonly atMs: number;
  readonly notification: Omit<Notification, "id">;
}

/**
 * Applies the rules to a test's timelines, in simulated time: all targets are polled at the same moments, the first
 * time at 0. A target without a timeline of its own always answers.
 *
 * @returns every message up to and at the test's end, in the order of time
 */
export async function runRuleTest(
  test: PlacedTest,
  config: Config,
): Promise<readonly SentMessage[]> {
  const { rules, receivers, maintenance } = config.alerts;
  const targets = configuredTargets(config);
  const outbox = createTestOutbox(receivers, test.start);
  const stored = {
    silences: { open: () => Promise.resolve(silencesOf(test)) },
    acknowledgements: { ofOpenIncidents: () => Promise.resolve([]) },
  };
  const interventions = await restoreInterventions(stored, maintenance, test.start);
  let incidents = 0;
  const judge: JudgeOptions = {
    rules,
    goneAfter: config.poll.goneAfter,
    interventions,
    newIncidentId: () => `incident-${++incidents}`,
    notifies: (receiver, type) =>
      wants(
        receivers.find(({ name }) => name === receiver),
        type,
      ),
  };
  const compose = composeAcknowledged(rules, judge.notifies);
  const options = {
    staleAfter: 1,
    restoredForMs: Number.POSITIVE_INFINITY,
    nowUtcMs: test.start,
  };
  const watched = targets.map((target) =>
    watchTarget({ id: 0, target, ...nothingKnown }, emptySnapshot, options),
  );
  const poolRules = rules.filter((rule) => rule.on === "pool");
  const pools = createPoolWatch({ rules: poolRules, targets, openIncidents: [], clocks: [] });

  const pollAll = (poll: number): void => {
    const at = { utcMs: test.start + poll * test.every, monotonicMs: poll * test.every };
    for (const each of watched) {
      const { target, state } = each;
      const verdict = judgePoll(state, outcomeOf(test, target, poll), at, judge);
      each.accept(verdict);
      const { snapshot, progress } = verdict;
      const polled = { target, at, snapshot, whole: isFullyObserved(progress) };
      const ofPools = pools.judge(polled, judge);
      ofPools.accept();
      outbox.add([...verdict.incidents.outbox, ...ofPools.outcome.incidents.outbox]);
    }
  };

  const acknowledge = ({ at, by: author, ...named }: RuleTest["acknowledge"][number]): void => {
    const open = [
      ...watched.map(({ target, state }) => ({ target, incidents: state.incidents })),
      { target: null, incidents: pools.incidents },
    ];
    for (const { target, incidents: ofOne } of open) {
      for (const incident of ofOne.values()) {
        const { id: incidentId } = incident;
        if (!isNamed(named, incident) || interventions.acknowledgedBy(incidentId)) continue;
        const given = { incidentId, author, note: null, atMs: test.start + at };
        interventions.acknowledge(given);
        outbox.add(compose(incident, given, target));
      }
    }
  };

  const acknowledgements = test.acknowledge.toSorted((one, other) => one.at - other.at);
  for (let poll = 0; poll * test.every <= test.until; poll += 1) {
    pollAll(poll);
    const nextMs = (poll + 1) * test.every;
    for (const each of acknowledgements) {
      if (each.at < poll * test.every || each.at >= nextMs) continue;
      outbox.sendUpTo(each.at - 1);
      acknowledge(each);
    }
    outbox.sendUpTo(Math.min(test.until, nextMs - 1));
  }
  return outbox.sent.toSorted((one, other) => one.atMs - other.atMs);
}

function silencesOf({ start, silences }: PlacedTest) {
  return silences.map(({ from, until, match }) => ({
    id: "",
    match,
    author: "",
    reason: "",
    startsAtMs: start + from,
    endsAtMs: start + until,
  }));
}

function isNamed(
  { rule, server }: Pick<RuleTest["acknowledge"][number], "rule" | "server">,
  { rule: owner, subject, phase }: Incident,
): boolean {
  if (owner !== rule || phase.name !== "firing" || phase.notifiedAtMs === null) return false;
  return server === undefined || (subject.kind === "server" && subject.serverId === server);
}

/** Composes messages when they are due, as the workers of the receivers do. */
function createTestOutbox(receivers: Config["alerts"]["receivers"], startMs: number) {
  const sent: SentMessage[] = [];
  let seq = 0;
  const workers = receivers.map((settings) => ({
    settings,
    open: [] as readonly StoredOutboxItem[],
    groupTimes: new Map<string, number>(),
    /** UTC milliseconds. */
    dueAtMs: Number.POSITIVE_INFINITY,
  }));
  return {
    sent,
    add(items: readonly OutboxItem[]): void {
      for (const worker of workers) {
        for (const item of items) {
          if (item.receiver !== worker.settings.name) continue;
          worker.open = [...worker.open, { ...item, seq: ++seq }];
          worker.dueAtMs = Math.min(worker.dueAtMs, item.causedAtMs);
        }
      }
    },
    /** @param atMs milliseconds from the first poll */
    sendUpTo(atMs: number): void {
      for (const worker of workers) {
        while (worker.dueAtMs <= startMs + atMs) {
          const { settings, open, groupTimes, dueAtMs: nowMs } = worker;
          const { messages, nextDueAtMs } = composeMessages(open, settings, nowMs, groupTimes);
          const composed = new Set(messages.flatMap(({ itemSeqs }) => itemSeqs));
          worker.open = open.filter(({ seq: each }) => !composed.has(each));
          for (const { notification, groupNames } of messages) {
            for (const name of groupNames) groupTimes.set(name, nowMs);
            sent.push({ atMs: nowMs - startMs, notification });
          }
          worker.dueAtMs = nextDueAtMs ?? Number.POSITIVE_INFINITY;
        }
      }
    },
  };
}

function outcomeOf(test: PlacedTest, target: Target, poll: number): PollOutcome {
  const own = test.targets.find((each) => isAt(each, target));
  const word = (own && atPoll(own.timeline, poll)) ?? "ok";
  if (word !== "ok" && word !== "partial") return { kind: "failed", reason: word };
  const sandboxes = sandboxesAt(test, target, poll);
  const listing = { sandboxes, texts: sandboxes.map(() => null), complete: word === "ok" };
  return { kind: "listed", listing };
}

/** A sandbox is listed as long as one of its servers is. */
function sandboxesAt(test: PlacedTest, target: Target, poll: number): readonly ListedSandbox[] {
  const listed = test.servers.flatMap(({ timeline, ...server }) => {
    const status = isAt(server, target) ? atPoll(timeline, poll) : undefined;
    return status === undefined || status === "gone" ? [] : [{ ...server, status }];
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
  return targetName(one) === targetName(other);
}

function atPoll<Word>(timeline: readonly Word[], poll: number): Word | undefined {
  return timeline[Math.min(poll, timeline.length - 1)];
}
