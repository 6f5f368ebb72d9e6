import type { Drift } from "../../src/fleet/drift.ts";
import { ok } from "node:assert/strict";
import { createMetrics } from "../../src/metrics/metrics.ts";
import type { Metrics, MetricsOptions, ScrapeRequest } from "../../src/metrics/metrics.ts";
import { listing, serverError, startMs, targetDown, watchFleet } from "../support/fleet.ts";
import { answered, ranProbe } from "../support/probes.ts";
import type { WatchedFleet } from "../support/fleet.ts";

export interface MeteredFleet extends WatchedFleet {
  readonly metrics: Metrics;
  /** The exposition, by default the whole of it as text. */
  readonly render: (request?: Partial<ScrapeRequest>) => Promise<string>;
}

/** A watched target and its metrics, which count every poll as in the daemon. */
export function meterFleet(
  options: Partial<MetricsOptions> = {},
  fleet: WatchedFleet = watchFleet(),
): MeteredFleet {
  const metrics = createMetrics({
    targets: [fleet.watched],
    probes: [],
    regions: ["us", "eu"],
    polledRegions: ["us"],
    operations: ["list_sandboxes", "get_user"],
    rules: [serverError, targetDown],
    receivers: ["oncall"],
    connected: new Map([["chat", true]]),
    keys: [{ name: "research", labels: new Map() }],
    readSuppressions: () => ({
      acknowledgedBy: new Map(),
      silences: { active: 0, pending: 0 },
      windows: [{ name: "weekly", isOpen: false }],
    }),
    deliveryFailureReasons: ["timeout", "expired"],
    refusalReasons: ["role", "busy"],
    build: { version: "1.2.3", revision: "abc" },
    perServer: true,
    readOutbox: () => Promise.resolve([]),
    readIncidentsWithoutTarget: () => Promise.resolve([]),
    readReload: () => ({ successful: true, successAtMs: startMs }),
    readActivity: () => ({ takeOvers: 0, mayActForMs: Infinity }),
    checkStore: async () => {},
    readUnreadable: () => [],
    readLoops: () => [
      { loop: "polls", lastRunAtMs: startMs, nextRunAtMs: startMs, intervalMs: 30_000 },
    ],
    onUnread: (error) => {
      throw error;
    },
    ...options,
  });
  return {
    metrics,
    watched: fleet.watched,
    poll(outcome, seconds) {
      const verdict = fleet.poll(outcome, seconds);
      metrics.polls.polled(fleet.watched, outcome === "failed" ? "timeout" : null, 250);
      metrics.polls.committed(fleet.watched, verdict, 2);
      return verdict;
    },
    async render(request) {
      const scrape = await metrics.scrape({ syntax: "text", collect: [], ...request });
      ok(scrape.kind === "exposition");
      return joinPieces(scrape.pieces);
    },
  };
}

/** The families of a fleet to which everything happened once that a metric shows. */
export async function eventfulFamilies(
  options: Partial<MetricsOptions> = {},
): Promise<ReadonlyMap<string, Family>> {
  const probe = ranProbe();
  probe.run({ ...answered, universes: 5, lastUsedAtMs: 5_000 });
  const { metrics, poll, render } = meterFleet({
    probes: [probe.watched],
    readUnreadable: () => [["pages", 1]],
    readOutbox: () =>
      Promise.resolve([{ receiver: "oncall", pending: 2, dead: 1, oldestCausedAtMs: 5_000 }]),
    readActivity: () => ({ takeOvers: 2, mayActForMs: 12_500 }),
    ...options,
  });
  poll(listing({ a: "idle" }));
  poll(listing({ a: "error" }));
  poll("failed");
  const call = { region: "us", operation: "list_sandboxes", code: "200", durationMs: 40 };
  metrics.service.requested(call);
  metrics.service.deviated(deviationOf("total_count", 3));
  metrics.delivery.attemptFailed("oncall", "timeout");
  metrics.delivery.delivered("oncall", 1.5);
  return parseExposition(await render());
}

/** The value of the first sample with these labels. */
export async function valueOf(
  { render }: MeteredFleet,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number | undefined> {
  return parseExposition(await render())
    .get(name.replace(/_(sum|count)$/, ""))
    ?.samples.find(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    )?.value;
}

/** Keeps each piece before the next one is asked for, as a reader must. */
export function joinPieces(pieces: Iterable<Uint8Array>): string {
  return Buffer.concat(Array.from(pieces, (piece) => Buffer.from(piece))).toString();
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/**
 * Reads OpenMetrics as if it were the text format, refusing what only the latter allows: then one
 * can be compared with the other.
 */
export function parseOpenMetrics(exposition: string): ReadonlyMap<string, Family> {
  const [body = "", ...more] = exposition.split("# EOF\n");
  if (more.length !== 1 || more[0] !== "") throw new SyntaxError("does not end in one EOF");
  if (body.includes("\n\n")) throw new SyntaxError("has an empty line");
  const counters = Array.from(body.matchAll(/^# TYPE (\S+) counter$/gm), ([, name = ""]) => name);
  const misnamed = counters.find((name) => name.endsWith("_total"));
  if (misnamed !== undefined) throw new SyntaxError(`${misnamed} is no name of a family`);
  const named = body.replaceAll(/^# (HELP|TYPE) (\S+)/gm, (line, _, name: string) =>
    counters.includes(name) ? `${line}_total` : line,
  );
  const bounds = Array.from(named.matchAll(/\ble="([^"]*)"/g), ([, bound = ""]) => bound);
  const inexact = bounds.find((bound) => !/^(\d+\.\d+|\d(\.\d+)?e[-+]\d+|\+Inf)$/.test(bound));
  if (inexact !== undefined) throw new SyntaxError(`${inexact} is no float`);
  return parseExposition(named.replaceAll(/\ble="(\d+)\.0"/g, 'le="$1"'));
}

/** Reads the text format 0.0.4, refusing what is not well-formed or comes twice. */
export function parseExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith("\n")) throw new SyntaxError("the last line does not end");
  const families = new Map<string, Family & { samples: Sample[] }>();
  const helps = new Map<string, string>();
  const series = new Set<string>();
  let current: (Family & { samples: Sample[] }) | undefined;
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === "HELP") helps.set(name, rest);
    else if (keyword === "TYPE") {
      if (families.has(name)) throw new SyntaxError(`${name} comes twice`);
      current = { name, type: rest, help: helps.get(name) ?? "", samples: [] };
      families.set(name, current);
    } else {
      const sample = parseSample(line);
      const own = current && sample.name.replace(/_(bucket|sum|count)$/, "") === current.name;
      if (!current || (sample.name !== current.name && !own)) {
        throw new SyntaxError(`not within its family: ${line}`);
      }
      const key = `${sample.name} ${JSON.stringify(sample.labels, Object.keys(sample.labels).toSorted())}`;
      if (series.has(key)) throw new SyntaxError(`twice: ${line}`);
      series.add(key);
      current.samples.push(sample);
    }
  }
  return families;
}

const sampleLine = /^([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\]|\\["\\n])*",?)+)\})? (\S+)$/;

function parseSample(line: string): Sample {
  const [whole, name = "", list = "", value = ""] = sampleLine.exec(line) ?? [];
  if (whole === undefined) throw new SyntaxError(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  for (const [, label = "", text = ""] of list.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[label] = text.replaceAll(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
  }
  return { name, labels, value: Number(value.replace("+Inf", "Infinity")) };
}

/** Drift of one field of the listing. */
export function deviationOf(field: string, count: number): Drift {
  const deviation = { field, problem: "unknown_field", count, example: null } as const;
  return { region: "us", operation: "list_sandboxes", deviations: [deviation] };
}
