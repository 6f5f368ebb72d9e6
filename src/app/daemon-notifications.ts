import type { HistoryContext } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import { judgeReceiver } from "../alerts/judge-receivers.ts";
import { createNotifier } from "../notify/notifier.ts";
import { createOutbound } from "../notify/outbound.ts";
import type { DeliveryObserver } from "../notify/receiver.ts";
import { createReceiver } from "../notify/receivers/create-receiver.ts";
import { userAgent } from "../lib/version.ts";
import { readReport, type PageRequest } from "../web/pages/read-report.ts";
import { renderReport } from "../web/pages/report-page.ts";
import { storedSources } from "../reports/report-sources.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { keyLabels } from "../alerts/notification.ts";
import type { DaemonCore } from "./daemon-core.ts";
import { createScheduledReports } from "./scheduled-reports.ts";
import type { Chore } from "./upkeep.ts";
import type { WatchedFleet } from "./watched-fleet.ts";

interface NotificationsDeps extends DaemonCore {
  readonly find: WatchedFleet["find"];
  readonly observe: DeliveryObserver;
  readonly healthProblem: () => Promise<string | null>;
}

const deliveryGraceMs = 5_000;

/** The receivers and the delivery to them. */
export function openNotifications(deps: NotificationsDeps) {
  const { config, store, opening, clock, log, observe, suppressions, createDispatcher } = deps;
  const { commits, runs, healthProblem, find } = deps;
  const { alerts } = config;
  const mayAct = store.leadership.mayAct.bind(store.leadership);
  const labelsOf = keyLabels(config);
  const reports = storedSources(store, configuredTargets(config), find, labelsOf);
  const history: HistoryContext = { reports, clock };
  const readHistory = createApi(history);
  const { networks, route } = alerts.outbound;
  const outbound = createOutbound({ clock, userAgent, mayAct, networks, route, createDispatcher });
  opening.defer(() => outbound.close());
  const common = {
    outbound,
    clock,
    log,
    observe,
    externalUrl: config.http.externalUrl,
    labelsOf,
    notifiedAlerts: store.notified,
    messageThreads: store.messageThreads,
    healthProblem,
    runs,
    renderReport: async (request: PageRequest) =>
      renderReport(await readReport(readHistory, request)),
  };
  const configured = alerts.receivers.map((settings) => ({
    ...settings,
    receiver: createReceiver(settings, common),
  }));
  const giveUpAfterMs = new Map(configured.map((each) => [each.name, each.giveUpAfterMs]));
  const notifier = createNotifier(
    { ...deps, mayAct, labelsOf, outbox: store.outbox, giveUpAfterMs },
    configured.filter(({ type }) => type !== "heartbeat"),
  );
  commits.onOutbox(notifier.wake);

  /** Judges receivers again, also while nothing is delivered to them. Incidents of removed ones end. */
  const review: Chore = {
    what: "reviewing incidents of receivers",
    // The configuration may have changed.
    isDueAtStart: true,
    async step() {
      const atMs = clock.now().utcMs;
      const judge = { ...deps.judge, suppressions: suppressions.at(atMs) };
      const outcomes = await store.incidentsWithoutTarget.judgeReceivers((state) =>
        judgeReceiver(state, { kind: "time_passed" }, atMs, judge),
      );
      for (const incidents of outcomes) await commits.publish({ target: null, incidents, atMs });
      return false;
    },
  };

  const retryTimes = notifier.freshTimes;
  const sending = { ...history, store, log, retryTimes };
  const onOutbox = () => notifier.wake();
  const scheduled = createScheduledReports(config.reports, { ...sending, onOutbox });
  return {
    notifier,
    outbound,
    review,
    scheduled,
    reportContext: { ...sending, commits, reportSending: scheduled.sending },
    start(): void {
      notifier.start();
      for (const { receiver } of configured) receiver.start?.();
    },
    /** Lets attempts in flight end for some seconds, unless this process may not act any more. */
    async stop(): Promise<void> {
      await notifier.stop({ graceMs: mayAct() ? deliveryGraceMs : 0 });
      await Promise.all(configured.map(async ({ receiver }) => receiver.close?.()));
    },
  };
}
