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
  /** When a daemon starts, and what the next minutes bring it. */
  readonly opensAtMinute: number;
  readonly atMinute: number;
  readonly acknowledgeForMs?: number;
  /** All who are notified by then. */
  readonly firing: readonly string[];
}

/** What happens on each day, from when a server goes into error. */
const course: readonly Moment[] = [
  { name: "fires", opensAtMinute: -1, atMinute: 0, firing: ["oncall"] },
  {
    name: "is acknowledged",
    opensAtMinute: 4,
    atMinute: 5,
    acknowledgeForMs: 25 * minuteMs,
    firing: ["oncall"],
  },
  { name: "is escalated", opensAtMinute: 20, atMinute: 40, firing: ["oncall", "lead"] },
  {
    name: "is escalated again, and hours begin",
    opensAtMinute: 50,
    atMinute: 100,
    firing: ["oncall", "lead", "boss", "office"],
  },
];

/**
 * Lets a server be in error for hours, day after day, by clocks that are set ahead. On each day, each daemon is killed later by a
 * statement in what it does: fire, be acknowledged, escalate, notify a receiver whose hours begin, and resolve. The next one
 * goes on at the same moment, until all get through.
 *
 * @returns who was notified of the incidents of the days, and what was wrong; both as lines
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
  let next = spawnVictim(settings);
  let days = 0;
  const expectNotified = (when: string, found: readonly string[], expected: readonly string[]) => {
    if (found.join() === names.filter((name) => expected.includes(name)).join()) return;
    faults.push(`statement ${statement}: ${when}, notified: ${found.join()}`);
  };
  /** Two daemons do the same: the first is killed, and the second goes on. @returns whether the first got through */
  const pass = async (
    { name, opensAtMinute, atMinute, acknowledgeForMs }: Omit<Moment, "firing">,
    onOpen: () => void,
  ): Promise<boolean> => {
    const [first, second] = [next, spawnVictim(settings)];
    next = spawnVictim(settings);
    signal.throwIfAborted();
    const atMs = days * dayMs + atMinute * minuteMs;
    await first.open(days * dayMs + opensAtMinute * minuteMs);
    expectNotified(`before it ${name}`, notified(days, "firing"), firingNow);
    onOpen();
    const survived = await first.killAt(statement, atMs, acknowledgeForMs);
    await second.open(atMs);
    await second.killAt(Number.MAX_SAFE_INTEGER, atMs, acknowledgeForMs);
    return survived;
  };
  let firingNow: readonly string[] = [];
  for (let survived = false; !survived; days += 1, statement += 1) {
    survived = true;
    firingNow = [];
    for (const moment of course) {
      const gotThrough = await pass(moment, () => show("error"));
      survived &&= gotThrough;
      firingNow = moment.firing;
      expectNotified(`where it ${moment.name}`, notified(days, "firing"), firingNow);
    }
    const end = { name: "resolves", opensAtMinute: 110, atMinute: 130 };
    const gotThrough = await pass(end, () => show("idle"));
    survived &&= gotThrough;
    expectNotified("where it resolves", notified(days, "resolved"), names);
  }
  const refused = Array.from(peers.values()).flatMap((peer) => peer.refused);
  return { days, faults: [...faults, ...refused] };
}
