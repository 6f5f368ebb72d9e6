import type { Dispatcher } from "undici";
import type { HistoryContext } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import type { Config } from "../config/config.ts";
import { judgeAndCommit, type CurrentSuppressions } from "../alerts/current-suppressions.ts";
import type { AlertOptions, IncidentOutcome } from "../alerts/incident-engine.ts";
import { judgeReceiver } from "../alerts/judge-receivers.ts";
import { createNotifier } from "../notify/notifier.ts";
import { createOutbound } from "../notify/outbound.ts";
import type { DeliveryObserver } from "../notify/receiver.ts";
import { createReceiver } from "../notify/receivers/create-receiver.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import { userAgent } from "../lib/version.ts";
import type { Store } from "../store/store.ts";
import type { ReportSources } from "../reports/report-sources.ts";
import { readReport, type PageRequest } from "../web/pages/read-report.ts";
import { renderReport } from "../web/pages/report-page.ts";
import { createScheduledReports } from "./scheduled-reports.ts";
import type { Chore } from "./upkeep.ts";

interface NotificationsDeps {
  readonly alerts: Config["alerts"];
  readonly scheduledReports: Config["reports"];
  readonly reports: ReportSources;
  readonly externalUrl: string | null;
  readonly store: Store;
  /** Closes the receivers after the deliveries to them. */
  readonly opening: AsyncDisposableStack;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly observe: DeliveryObserver;
  readonly createDispatcher?: (() => Dispatcher) | undefined;
  readonly healthProblem: () => Promise<string | null>;
  readonly judge: Omit<AlertOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  /** What became of incidents of receivers, after it was committed. */
  readonly onIncidents: (outcome: IncidentOutcome) => void;
  readonly onRun: (receiver: string) => void;
  readonly onReposted: (receiver: string) => void;
}

const deliveryGraceMs = 5_000;

/** The receivers and the delivery to them. */
export async function openNotifications(deps: NotificationsDeps) {
  const { alerts, store, opening, clock, log, observe, suppressions, createDispatcher } = deps;
  const history: HistoryContext = { reports: deps.reports, clock };
  const readHistory = createApi(history);
  const { networks, route } = alerts.outbound;
  const outbound = createOutbound({ clock, userAgent, networks, route, createDispatcher });
  opening.defer(() => outbound.close());
  const receivers = alerts.receivers.map((settings) => {
    const { healthProblem, onReposted, externalUrl } = deps;
    const sending = { outbound, clock, log, observe, externalUrl };
    const common = {
      ...sending,
      notifiedAlerts: store.notified,
      messageThreads: store.messageThreads,
      healthProblem,
      onReposted,
      renderReport: async (request: PageRequest) =>
        renderReport(await readReport(readHistory, request)),
    };
    const receiver = createReceiver(settings, common);
    opening.defer(() => receiver.close?.());
    return { ...settings, receiver };
  });
  const notifier = createNotifier({
    ...deps,
    outbox: store.outbox,
    giveUpAfterMs: new Map(receivers.map(({ name, giveUpAfterMs }) => [name, giveUpAfterMs])),
  });
  notifier.add(receivers.filter(({ type }) => type !== "heartbeat"));
  opening.defer(() => notifier.stop({ graceMs: deliveryGraceMs }));

  /** Judges the receivers again, also while nothing is delivered to them. */
  const review: Chore = {
    what: "reviewing incidents of receivers",
    // The configuration may have changed.
    isDueAtStart: true,
    async step() {
      const atMs = clock.now().utcMs;
      const outcomes = await judgeAndCommit(suppressions, (current) => {
        const judge = { ...deps.judge, suppressions: current.at(clock.now().utcMs) };
        return store.incidentsWithoutTarget.judgeReceivers((state) =>
          judgeReceiver(state, { kind: "time_passed" }, atMs, judge),
        );
      });
      outcomes.forEach(deps.onIncidents);
      if (outcomes.some(({ outbox }) => outbox.length > 0)) notifier.wake();
      return false;
    },
  };

  const retryTimes = notifier.freshTimes;
  const onOutbox = () => notifier.wake();
  const sending = { ...history, store, log, retryTimes, onOutbox };
  const scheduled = createScheduledReports(deps.scheduledReports, sending);
  await scheduled.adopt();
  return {
    notifier,
    chores: [review, ...scheduled.chores],
    reportContext: { ...sending, reportSending: scheduled.sending },
    start(): void {
      notifier.start();
      for (const { receiver } of receivers) receiver.start?.();
    },
  };
}
