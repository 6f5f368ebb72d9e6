import type { ConformanceDesk } from "../conformance/conformance-desk.ts";
import type { Acknowledgement } from "../core/acknowledgement.ts";
import { RefusedError } from "../core/refusal.ts";
import type { Rule } from "../core/rule.ts";
import type { WatchedView } from "../core/watched-view.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { firstOf } from "../platform/first-of.ts";
import { allTime } from "../store/change-history.ts";
import type { ComposeAcknowledged } from "../store/acknowledgements.ts";
import type { DeadLetters } from "../store/dead-letters.ts";
import { unreadableNotes } from "../store/row-reading.ts";
import type { Store } from "../store/store.ts";
import { createInsightsDesk } from "../reports/insights/insights-desk.ts";
import type { InsightsDesk } from "../reports/insights/insights-desk.ts";
import { createReportDesk } from "../reports/report-desk.ts";
import type { ReportDesk } from "../reports/report-desk.ts";
import type { DriftDesk } from "./drift-desk.ts";
import { draftSilence } from "./draft-silence.ts";
import { timeline } from "./explain.ts";
import { createFleetDesk } from "./fleet-desk.ts";
import type { FleetDesk } from "./fleet-desk.ts";
import { findServer } from "./find-server.ts";
import type { HeldInterventions } from "./interventions.ts";
import { createHistoryDesk, nextPlace } from "./history-desk.ts";
import type { HistoryDesk } from "./history-desk.ts";
import { createNameNotes } from "./name-notes.ts";
import { notesOfServers } from "./server-notes.ts";
import type { NotificationLetters } from "./notification-letters.ts";
import { findIncident, noSuchIncident, wholeId } from "./find-by-id.ts";
import { createProbeDesk } from "./probe-desk.ts";
import type { ProbeDesk, ProbeDeskDeps } from "./probe-desk.ts";
import * as requests from "./requests.ts";
import { readRequest } from "./requests.ts";
import type * as views from "./views.ts";
import { maintenancePrefix, timeText } from "./views.ts";
import { viewAttempt, viewNotification, viewSilence, viewWindow } from "./views.ts";

/**
 * What people ask of sandwatch about its alerts. The API and the commands ask the same desk: in this
 * process, or over HTTP that of the daemon that runs. Every request is checked here, whoever sent it.
 *
 * Each operation throws a {@link RefusedError} for what cannot be done.
 */
export interface AlertDesk extends FleetDesk, HistoryDesk, ProbeDesk, ReportDesk, InsightsDesk {
  silences(query: requests.SilencesQuery): Promise<views.SilencesView>;
  addSilence(request: requests.SilenceRequest): Promise<views.AddedSilenceView>;
  /**
   * Ends a silence now.
   *
   * @param id its id, or the beginning of it
   */
  expireSilence(id: string): Promise<views.SilenceView>;
  /** @param incident its id, or the beginning of it */
  acknowledge(
    incident: string,
    request: requests.AcknowledgeRequest,
  ): Promise<views.AcknowledgementView>;
  notifications(query: requests.NotificationsQuery): Promise<views.NotificationsView>;
  notification(seq: string): Promise<views.NotificationDetailView>;
  /** Tries to deliver again what was given up. */
  replay(which: requests.NotificationSelection): Promise<views.CountView>;
  /** Lets be what was given up. */
  discard(which: requests.NotificationSelection): Promise<views.CountView>;
  explain(query: requests.ExplainQuery): Promise<views.ExplanationView>;
}

/** All that people ask of sandwatch. */
export type Desk = AlertDesk & DriftDesk & ConformanceDesk;

export interface DeskDeps extends ProbeDeskDeps {
  readonly store: Store;
  readonly notifications: NotificationLetters;
  readonly held: HeldInterventions;
  readonly targets: readonly WatchedView[];
  readonly rules: readonly Rule[];
  /** The configured ones' names. */
  readonly receivers: readonly string[];
  /** Null: the daemon composes them when it starts. */
  readonly composeAcknowledged: ComposeAcknowledged | null;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Logger;
  /** Called after a commit that gave the outbox something to tell. */
  readonly onOutbox: () => void;
}

/** Every poll asks each open silence about each incident. */
const mostOpenSilences = 1_000;

/** What an explanation shows at most of each. */
const mostChanges = 1_000;
const mostIncidents = 200;
const mostSilences = 10_000;

export function createDesk(deps: DeskDeps): AlertDesk {
  const { store, held, clock, log } = deps;
  const names = createNameNotes({
    rules: deps.rules.map(({ name }) => name),
    receivers: deps.receivers,
    targets: deps.targets.map(({ target }) => target),
    probes: deps.probes.map(({ subject }) => subject.probe),
  });

  const notesOfSelection = (which: DeadLetters, count: number): readonly string[] => {
    if (count === 0 && "receiver" in which) return names.ofReceiver(which.receiver);
    const left = "seqs" in which ? new Set(which.seqs).size - count : 0;
    const are = left === 1 ? "is" : "are";
    return left === 0 ? [] : [`${left} of the numbers ${are} of nothing that was given up`];
  };

  return {
    ...createHistoryDesk({ store, names, clock }),
    ...createProbeDesk(deps),
    ...createReportDesk(deps),
    ...createInsightsDesk(deps),
    ...createFleetDesk(deps),

    async silences(query) {
      const { ended, limit, before } = readRequest(requests.silencesQuery, query);
      const nowMs = clock.now().utcMs;
      const page = { ended, nowMs, limit: limit + 1, before: before ?? null };
      const found = await store.silences.page(page);
      const shown = found.slice(0, limit);
      const windows = before ? [] : held.windows.flatMap((window) => viewWindow(window, nowMs));
      return {
        silences: [...windows, ...shown.map((silence) => viewSilence(silence, nowMs))],
        next: nextPlace(found, limit, ({ createdAtMs: atMs, id }) => ({ atMs, id })),
      };
    },

    async addSilence(request) {
      const createdAtMs = clock.now().utcMs;
      const checked = readRequest(requests.silenceRequest, request);
      const silence = { ...draftSilence(checked, createdAtMs), id: deps.newId(), createdAtMs };
      if (held.openSilences(createdAtMs).length >= mostOpenSilences) {
        throw new RefusedError(
          "conflict",
          `There are ${mostOpenSilences} silences already. Expire some, or match more with one.`,
        );
      }
      await store.silences.add(silence);
      held.addSilence(silence, createdAtMs);
      const view = viewSilence(silence, createdAtMs);
      log.info(
        { event: "silence.added", silence: view },
        `${silence.author} added a silence until ${view.ends_at}: ${silence.reason}`,
      );
      const notes = await notesOfServers(silence.match, deps.targets);
      return { ...view, notes: [...names.ofMatch(silence.match), ...notes] };
    },

    async expireSilence(text) {
      const nowMs = clock.now().utcMs;
      const id = wholeId(text, held.openSilences(nowMs));
      const silence = await store.silences.find(id);
      if (!silence) throw cannotExpire(id, held);
      if (silence.endsAtMs <= nowMs) {
        const endedAt = timeText(silence.endsAtMs);
        throw new RefusedError("conflict", `Silence ${id} has ended already, at ${endedAt}.`);
      }
      await store.silences.end(id, nowMs);
      held.endSilence(id, nowMs);
      log.info({ event: "silence.expired", silence_id: id }, `silence ${id} was ended`);
      return viewSilence({ ...silence, endsAtMs: nowMs }, nowMs);
    },

    async acknowledge(incident, request) {
      const { author, note = null } = readRequest(requests.acknowledgeRequest, request);
      const incidentId = await findIncident(incident, store);
      const given = { incidentId, author, note, atMs: clock.now().utcMs };
      const outcome = await store.acknowledgements.acknowledge(given, deps.composeAcknowledged);
      if (outcome.kind === "unknown") throw noSuchIncident(incident);
      if (outcome.kind === "not_firing") throw notFiring(incidentId, outcome.phase);
      if (outcome.kind === "already") return viewAcknowledgement(outcome.acknowledgement, true);
      held.acknowledge(given);
      deps.onOutbox();
      await held.prune();
      log.info(
        { event: "incident.acknowledged", incident_id: incidentId, author, note },
        `${author} acknowledged incident ${incidentId}`,
      );
      return viewAcknowledgement(given, false);
    },

    async notifications(query) {
      const { state, receiver, limit, before } = readRequest(requests.notificationsQuery, query);
      const found = await deps.notifications.list({
        ...(state.length > 0 && { states: state }),
        ...(receiver !== undefined && { receiver }),
        ...(before !== undefined && { before }),
        limit: limit + 1,
      });
      const shown = found.slice(0, limit);
      const next = found.length > limit ? shown.at(-1)?.seq : undefined;
      return {
        notifications: shown.map(viewNotification),
        next: next?.toString() ?? null,
        notes: [
          ...(found.length === 0 && receiver !== undefined ? names.ofReceiver(receiver) : []),
          ...unreadableNotes(store.unreadable, ["notifications"]),
        ],
      };
    },

    async notification(text) {
      const seq = readRequest(requests.notificationSeq, text);
      const record = await deps.notifications.find(seq);
      if (!record) {
        throw new RefusedError(
          "not_found",
          `There is no notification ${seq}, or not any more. List them for their numbers.`,
        );
      }
      if (record === "unreadable") {
        throw new RefusedError(
          "conflict",
          `Notification ${seq} cannot be read: its row in the store is damaged. Discard it by its number once it is dead.`,
        );
      }
      const attempts = await deps.notifications.attempts(seq);
      return { ...viewNotification(record), attempt_list: attempts.map(viewAttempt) };
    },

    async replay(which) {
      const letters = readRequest(requests.notificationSelection, which);
      const count = await deps.notifications.replay(letters);
      log.info({ event: "notifications.replayed", count }, `${count} notifications are sent again`);
      return { count, notes: notesOfSelection(letters, count) };
    },

    async discard(which) {
      const letters = readRequest(requests.notificationSelection, which);
      const count = await deps.notifications.discard(letters);
      log.info(
        { event: "notifications.discarded", count },
        `${count} notifications were discarded`,
      );
      return { count, notes: notesOfSelection(letters, count) };
    },

    async explain(query) {
      const { server: text } = readRequest(requests.explainQuery, query);
      const server = await findServer(text, { ...store, targets: deps.targets });
      const { serverId } = server;
      const nowMs = clock.now().utcMs;
      const about = store.changes.between({ ...allTime, direction: "desc", server: serverId });
      const lookedAt = await firstOf(about, mostChanges);
      const incidents = await store.incidents.ofServer(serverId, mostIncidents);
      const tellings = await store.tellings.about(incidents.map(({ incident }) => incident.id));
      const seqs = tellings.flatMap(({ notification }) => notification?.seq ?? []);
      const history = {
        server,
        changes: lookedAt.filter((change) => change.serverId === serverId),
        incidents,
        silences: await store.silences.page({
          ended: true,
          nowMs,
          limit: mostSilences,
          before: null,
        }),
        windows: held.windows,
        tellings,
        attempts: await store.tellings.attempts([...new Set(seqs)]),
      };
      return {
        server_id: serverId,
        server_name: server.serverName,
        listed: server.listed.map(({ target, sandbox, server: { status, since } }) => ({
          ...target,
          sandbox_id: sandbox.id,
          status,
          since: timeText(since.atMs),
        })),
        events: timeline(history, deps.rules, nowMs),
        truncated: lookedAt.length >= mostChanges || incidents.length >= mostIncidents,
      };
    },
  };
}

function cannotExpire(id: string, { windows }: HeldInterventions): RefusedError {
  const name = id.startsWith(maintenancePrefix) ? id.slice(maintenancePrefix.length) : id;
  return windows.some((window) => window.name === name)
    ? new RefusedError(
        "conflict",
        `${name} is a maintenance window: it cannot be ended here, change alerts.maintenance in the configuration.`,
      )
    : new RefusedError("not_found", `There is no silence ${id}. List them for their ids.`);
}

function notFiring(id: string, phase: "pending" | "resolved"): RefusedError {
  const why = phase === "resolved" ? "is over already" : "has not fired yet";
  return new RefusedError("conflict", `Incident ${id} ${why}: there is nothing to acknowledge.`);
}

function viewAcknowledgement(
  { incidentId, author, note, atMs }: Acknowledgement,
  already: boolean,
): views.AcknowledgementView {
  return { incident_id: incidentId, author, note, acknowledged_at: timeText(atMs), already };
}
