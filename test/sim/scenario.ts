import { createDice, type Dice } from "./draw/dice.ts";
import { drawProbes, type ScenarioProbe } from "./draw/probes.ts";
import { drawPagerduty, drawReceivers, drawStages } from "./draw/receivers.ts";
import type { ExtraReceiver, ScenarioReceiver, Stages } from "./draw/receivers.ts";
import { drawRouting } from "./draw/routing.ts";
import {
  drawPoolRules,
  drawProbeRules,
  drawRules,
  drawSandboxRules,
  type ScenarioRule,
} from "./draw/rules.ts";
import { drawSchedule, type PollSchedule } from "./draw/schedule.ts";

export interface ScenarioTarget {
  readonly name: string;
  readonly region: string;
  readonly key: string;
  /** Server ids by sandbox id. */
  readonly sandboxes: ReadonlyMap<string, readonly string[]>;
}

/** Opens every N hours by the clocks of a zone, at a minute. */
export interface MaintenanceWindow {
  readonly name: string;
  readonly start: { readonly minute: number; readonly everyHours: number };
  readonly timeZone: string;
  readonly durationMs: number;
  readonly rules: readonly string[];
}

/** What is the same from a run's beginning to its end. Milliseconds. */
export interface Scenario {
  readonly seed: number;
  /** What the wall clock shows at first. */
  readonly startUtcMs: number;
  /** The usual distance between two polls. */
  readonly intervalMs: number;
  /** Null: a poll once in each interval. */
  readonly schedule: PollSchedule | null;
  readonly timeoutMs: number;
  /** What the service allows each key. */
  readonly rateLimit: { readonly requests: number; readonly perMs: number };
  readonly goneAfter: number;
  readonly targets: readonly ScenarioTarget[];
  readonly rules: readonly ScenarioRule[];
  readonly probes: readonly ScenarioProbe[];
  /** The rules of a process that starts later; null: the same. */
  readonly later: { readonly fromMs: number; readonly rules: readonly ScenarioRule[] } | null;
  readonly receivers: readonly ScenarioReceiver[];
  /** Its events state which incidents fire. */
  readonly pagerduty: ExtraReceiver | null;
  readonly stages: Stages;
  readonly maintenance: readonly MaintenanceWindow[];
  readonly service: {
    /** It encodes bodies as the request accepts it. */
    readonly encodes: boolean;
    /** Servers get other names now and then. */
    readonly renames: boolean;
    /** One server moves from sandbox to sandbox. */
    readonly moves: boolean;
    /** Sandboxes state a status, too, or in the place of their servers. */
    readonly sandboxes: boolean;
  };
  readonly heartbeat: { readonly everyMs: number } | null;
  /** From here on no more faults. */
  readonly calmMs: number;
  readonly endMs: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** An infrequently polled world would take long. */
const longestScheduledMs = day;

/** Longer than any `Retry-After` of a receiver, and than the longest wait between attempts. */
const calmForMs = 90 * minute;

/** With a stepped wall clock still shorter than the day after which a notification is dead-lettered. */
export const longestOutageMs = 4 * hour;

export const listingPath = "/local-sandbox";
export const serviceOrigin = (region: string): string => `https://${region}.service.test`;
export const receiverOrigin = (receiver: string): string => `https://${receiver}.receiver.test`;
export const apiKeyOf = (key: string): string => `simulated-${key}`;

export function drawScenario(seed: number): Scenario {
  const dice = createDice(seed, "scenario");
  const drawnMs = dice.pick([0.5, 1, 2, 5, 10, 20]) * minute;
  const scheduled = drawSchedule(dice.fork("schedule"), drawnMs);
  const intervalMs = scheduled?.schedule.intervalMs ?? drawnMs;
  const known = drawReceivers(dice.fork("receivers"), intervalMs);
  const names = known.map(({ name }) => name);
  const polls = dice.between(50, 160);
  const calmMs = Math.min(polls * intervalMs, scheduled ? longestScheduledMs : Infinity);
  const rateLimit = drawRateLimit(dice.fork("limit"));
  const probes = scheduled ? [] : drawProbes(dice.fork("probes"), intervalMs, rateLimit);
  const hasSandboxes = dice.fork("sandboxes").chance(0.6);
  const unrouted: readonly ScenarioRule[] = [
    ...drawRules(dice.fork("rules"), intervalMs, names),
    ...drawPoolRules(dice.fork("pool rules"), intervalMs, names),
    ...drawProbeRules(dice.fork("probe rules"), probes, names),
    ...(hasSandboxes ? drawSandboxRules(dice.fork("sandbox rules"), intervalMs, names) : []),
  ];
  const moves = dice.fork("moves").chance(0.3);
  const targets = drawTargets(dice.fork("targets"), unrouted, moves, hasSandboxes);
  const startUtcMs = scheduled?.startUtcMs ?? Date.UTC(2026, 10, 20, 9, 30);
  const { receivers, rules, stages } = drawRouting(
    dice.fork("routing"),
    {
      receivers: known,
      rules: unrouted,
      stages: drawStages(dice.fork("stages"), known, unrouted, calmMs),
    },
    targets,
    { startUtcMs, intervalMs, calmMs },
  );
  return {
    seed,
    startUtcMs,
    intervalMs,
    schedule: scheduled?.schedule ?? null,
    timeoutMs: 10 * second,
    rateLimit,
    probes,
    goneAfter: dice.between(1, 3),
    targets,
    rules,
    later: drawLater(dice.fork("later"), rules, calmMs),
    receivers,
    pagerduty: drawPagerduty(dice.fork("pagerduty"), rules),
    stages,
    maintenance: drawMaintenance(dice.fork("maintenance"), rules),
    service: {
      encodes: dice.fork("encodes").chance(0.3),
      renames: dice.fork("renames").chance(0.3),
      moves,
      sandboxes: hasSandboxes,
    },
    heartbeat: dice.fork("heartbeat").pick([null, { everyMs: minute }, { everyMs: 5 * minute }]),
    calmMs,
    endMs: calmMs + calmForMs + 6 * intervalMs,
  };
}

function drawRateLimit(dice: Dice): Scenario["rateLimit"] {
  return dice.pick([
    { requests: 2, perMs: second },
    { requests: 2, perMs: second },
    { requests: 1, perMs: 5 * second },
    { requests: 4, perMs: 15 * second },
  ]);
}

function drawMaintenance(dice: Dice, rules: readonly ScenarioRule[]): readonly MaintenanceWindow[] {
  if (dice.chance(0.7)) return [];
  const names = rules
    .filter(({ on }) => on === "server" || on === "sandbox")
    .map(({ name }) => name);
  return [
    {
      name: "deploy",
      start: { minute: dice.between(0, 59), everyHours: dice.pick([1, 3, 6]) },
      timeZone: dice.pick(["UTC", "Asia/Kolkata", "America/New_York"]),
      durationMs: dice.pick([5, 20, 45]) * minute,
      rules: dice.chance(0.5) ? names : names.slice(0, 1),
    },
  ];
}

/** A key whose polls follow closely on those of `research`, so that they are committed together. */
const nearbyKey = "agents-287263";

/** A region of more than three targets, where several can fail without the others. */
const manyKeys = ["batch", "crawl", "eval", "nightly"];

/** The server that moves from sandbox to sandbox. */
export const roamer = "roamer";

function drawTargets(
  dice: Dice,
  rules: readonly ScenarioRule[],
  moves: boolean,
  hasSandboxes: boolean,
): readonly ScenarioTarget[] {
  const regions = dice.pick([["us"], ["us"], ["us", "eu"]]);
  const drawn = dice.pick([["research"], ["research"], ["research", nearbyKey]]);
  const isMore = dice.fork("more keys").chance(0.5) && regions.length + drawn.length < 4;
  const isJudged = regions.length === 1 && rules.some(({ on }) => on === "region");
  const isLarge = isJudged && dice.fork("large regions").chance(0.15);
  const keys = [...drawn, ...(isLarge ? manyKeys : isMore ? ["batch"] : [])];
  return regions.flatMap((region) =>
    keys.map((key) => {
      const sandboxes = new Map<string, readonly string[]>();
      const isSmall = manyKeys.includes(key) && isLarge;
      for (let box = isSmall ? 1 : dice.between(1, 2); box > 0; box--) {
        const servers = Array.from({ length: dice.between(1, 3) }, (_, at) => `${box}-${at}`);
        sandboxes.set(`box-${box}`, moves ? [...servers, roamer] : servers);
      }
      if (hasSandboxes && dice.fork(`bare ${region} ${key}`).chance(0.5)) sandboxes.set("bare", []);
      return { name: `${region}/${key}`, region, key, sandboxes };
    }),
  );
}

/** One rule on servers is removed or changed. */
function drawLater(dice: Dice, rules: readonly ScenarioRule[], calmMs: number): Scenario["later"] {
  if (dice.chance(0.6)) return null;
  const [first, ...others] = rules.filter((rule) => rule.on === "server");
  if (!first) return null;
  const changed = dice.pick([first, ...others]);
  const becomes = dice.chance(0.5)
    ? []
    : [{ ...changed, keepFiringMs: changed.keepFiringMs + 1_000 }];
  return {
    fromMs: Math.round(dice.random() * calmMs),
    rules: rules.flatMap((rule) => (rule === changed ? becomes : [rule])),
  };
}
