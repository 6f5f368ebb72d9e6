import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import { spawnVictim } from "./kill-victims.ts";
import type { VictimSettings } from "./victim.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const target = { region: "us", key: "research" } as const;

interface Moment {
  readonly name: string;
  readonly atMinute: number;
  /** When the next daemon takes over. Default: at the same time. */
  readonly takenOverAtMinute?: number;
  /** Somebody acknowledges the incident, until this minute. */
  readonly acknowledgedUntilMinute?: number;
  /** All who are notified by then. */
  readonly firing: readonly string[];
}

/** What happens on each day, from when a server goes into error. */
const course: readonly Moment[] = [
  { name: "fires", atMinute: 0, firing: ["oncall"] },
  // The first step is due after 15 minutes.
  {
    name: "is acknowledged",
    atMinute: 5,
    takenOverAtMinute: 20,
    acknowledgedUntilMinute: 30,
    firing: ["oncall"],
  },
  { name: "is escalated", atMinute: 40, firing: ["oncall", "lead"] },
  {
    name: "is escalated again, and hours begin",
    atMinute: 100,
    firing: ["oncall", "lead", "boss", "office"],
  },
];

/** Behind these, a daemon only rolls up the hours of the day that has passed. */
const lastStatement = 40;

/**
 * Lets a server be in error for hours, day after day, by clocks that are set ahead. On each day, each daemon is killed later by a
 * statement in what it does: notify, acknowledge, escalate, notify a receiver whose hours begin, and resolve. The next one
 * goes on.
 *
 * @returns for how many days, and what was wrong, as lines
 */
export async function killEscalators(signal: AbortSignal) {
  const simulator = createSimulator({
    seed: 3,
    clock: systemClock,
    regions: [target.region],
    keys: [{ name: target.key, apiKey: "simulated-research" }],
    servers: 1,
    pace: 0,
    rateLimit: null,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const [sandbox] = [...simulator.sandboxes(target, 0)];
  const show = (status: "error" | "idle"): void => {
    simulator.pin(target, sandbox?.sandboxId ?? "", "idle");
    simulator.pin(target, sandbox?.servers[0]?.serverId ?? "", status);
  };
  show("idle");
  const names = ["oncall", "lead", "boss", "office"];
  const peers = new Map(
    await Promise.all(names.map(async (name) => [name, await startWebhookPeer()] as const)),
  );
  const clockTime = (ms: number): string => new Date(ms).toISOString().slice(11, 16);
  const nowMs = Date.now();
  const open = [
    `mon-sun ${clockTime(nowMs + 85 * minuteMs)}-${clockTime(nowMs + 20 * 60 * minuteMs)}`,
  ];
  const escalate = [
    { after: "15m", receivers: ["lead"] },
    { after: "1h", receivers: ["boss"] },
  ];
  const rule = { name: "server-error", on: "server", status: "error" };
  const settings: VictimSettings = {
    settings: {
      regions: { us: { base_url: services.get("us") } },
      keys: [{ name: target.key, api_key: "simulated-research" }],
      poll: { every: "1h", rate_limit: { requests: 1_000, per: "1s" } },
      store: { path: join(tempFolder(), "sandwatch.db") },
      alerts: {
        rules: [{ ...rule, receivers: ["oncall", "office"], escalate }],
        receivers: Array.from(peers, ([name, { url }]) => ({
          name,
          type: "webhook",
          url,
          secret: webhookSecret,
          group_wait: "0s",
          ...(name === "office" && { hours: { open } }),
        })),
      },
    },
    outboxOutside: false,
  };

  const faults: string[] = [];
  /** The receivers that were notified of the incident of a day so far, each as often as there were ids. */
  const notified = (day: number, type: string): readonly string[] =>
    Array.from(peers).flatMap(([name, { alerts }]) => {
      const own = alerts.filter((alert) => alert.type === `incident.${type}`);
      const incidents = [
        ...new Set(alerts.flatMap(({ data }) => data.incidents.map(({ id }) => id))),
      ];
      const ofDay = own.filter(({ data }) => data.incidents[0]?.id === incidents[day]);
      return [...new Set(ofDay.map(({ webhookId }) => webhookId))].map(() => name);
    });
  let statement = 1;
  let [present, next] = [spawnVictim(settings), spawnVictim(settings)];
  let days = 0;
  const expectNotified = (when: string, found: readonly string[], expected: readonly string[]) => {
    if (found.join() === names.filter((name) => expected.includes(name)).join()) return;
    faults.push(`statement ${statement}: ${when}, notified: ${found.join()}`);
  };
  /** A daemon is killed in what a moment brings, and the next one goes on. */
  const pass = async (moment: Omit<Moment, "firing">): Promise<void> => {
    const { atMinute, takenOverAtMinute = atMinute, acknowledgedUntilMinute } = moment;
    const acknowledgeFrom = (minute: number): number | undefined =>
      acknowledgedUntilMinute && (acknowledgedUntilMinute - minute) * minuteMs;
    const aheadAt = (minute: number): number => days * dayMs + minute * minuteMs;
    signal.throwIfAborted();
    const victim = present;
    [present, next] = [next, spawnVictim(settings)];
    await victim.killAt(statement, aheadAt(atMinute), acknowledgeFrom(atMinute));
    await present.open(aheadAt(takenOverAtMinute), acknowledgeFrom(takenOverAtMinute));
  };
  await present.open();
  for (; statement <= lastStatement; days += 1, statement += 1) {
    show("error");
    for (const moment of course) {
      await pass(moment);
      expectNotified(`where it ${moment.name}`, notified(days, "firing"), moment.firing);
    }
    show("idle");
    await pass({ name: "resolves", atMinute: 130 });
    expectNotified("where it resolves", notified(days, "resolved"), names);
  }
  const refused = Array.from(peers.values()).flatMap((peer) => peer.refused);
  return { days, faults: [...faults, ...refused] };
}
