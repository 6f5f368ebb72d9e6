import { collectDefaultMetrics, Registry } from "prom-client";
import type { WatchedView } from "../alerts/target-view.ts";
import { asError } from "../lib/as-error.ts";
import { addTakeOvers, createDeliveryMetrics, createHttpMetrics } from "./counters.ts";
import { createPollMetrics, createServiceMetrics } from "./counters.ts";
import { endings, familyHeader, toSyntax, type ExpositionSyntax } from "./exposition-text.ts";
import { addGauges, addProcessGauges } from "./gauges.ts";
import type { GaugeOptions, ProcessGaugeOptions } from "./gauges.ts";
import { serverFamilies, serverLines } from "./server-families.ts";
import { takeTarget, targetFamilies } from "./target-families.ts";

export interface MetricsOptions extends GaugeOptions {
  readonly targets: readonly WatchedView[];
  readonly regions: Iterable<string>;
  /** Those of them that have targets. */
  readonly polledRegions: Iterable<string>;
  readonly operations: readonly string[];
  readonly deliveryFailureReasons: readonly string[];
  readonly refusalReasons: readonly string[];
  /** Whether to expose series for each server and sandbox, or aggregates alone. */
  readonly perServer: boolean;
  /** The store could not be read: a scrape lacks the families that show it. */
  readonly onUnread: (error: Error) => void;
}

export interface ScrapeRequest {
  readonly syntax: ExpositionSyntax;
  /** Names of the families to expose. Empty: all. */
  readonly collect: readonly string[];
}

type Scrape =
  /**
   * Every target as of one moment, rendered while it is iterated. A piece is valid until the next one is
   * requested: then its bytes are overwritten.
   */
  | { readonly kind: "exposition"; readonly pieces: Iterable<Uint8Array> }
  | { readonly kind: "refused"; readonly reason: string };

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Every metric of sandwatch. A family of series by target is a literal in `target-families.ts`, one by server in
 * `server-families.ts`; prom-client holds the others.
 */
export function createMetrics(options: MetricsOptions) {
  const registry = new Registry();
  const { targets, perServer, onUnread } = options;
  const polls = createPollMetrics(registry, options.polledRegions);
  const service = createServiceMetrics(registry, options.regions, options.operations);
  const { receivers, deliveryFailureReasons } = options;
  const delivery = createDeliveryMetrics(registry, receivers, deliveryFailureReasons);
  addTakeOvers(registry, () => options.readActivity().takeOvers);
  const http = createHttpMetrics(registry, options.refusalReasons);
  addGauges(registry, options);

  const processMetrics = registryOfProcess();
  const ofProcess = namesOf(processMetrics);
  const ofServers = serverFamilies.map(({ name }) => name);
  const ofTargets = targetFamilies.map(({ name }) => name);
  const known = new Set([...namesOf(registry), ...ofProcess, ...ofTargets, ...ofServers]);

  const refusal = (collect: readonly string[]): string | undefined => {
    const unknown = collect.find((name) => !known.has(name));
    if (unknown !== undefined) return `there is no metric family ${JSON.stringify(unknown)}`;
    const off = perServer ? undefined : collect.find((name) => ofServers.includes(name));
    return off && `the metric family ${JSON.stringify(off)} is turned off by metrics.per_server`;
  };

  /** Those of the families that can be read. */
  const collectOwn = async (wanted: ReadonlySet<string>): Promise<readonly string[]> => {
    const names = namesOf(registry).filter((name) => wanted.has(name));
    const texts = await Promise.allSettled(
      names.map((name) => registry.getSingleMetricAsString(name)),
    );
    const errors = texts.flatMap((text) => (text.status === "rejected" ? [text.reason] : []));
    for (const error of new Set<unknown>(errors)) onUnread(asError(error));
    return texts.flatMap((text) => (text.status === "fulfilled" ? [text.value] : []));
  };

  /** The process families depend on one another: all or none are collected. */
  const collectProcess = async (wanted: ReadonlySet<string>): Promise<readonly string[]> => {
    if (!ofProcess.some((name) => wanted.has(name))) return [];
    const texts = await Promise.all(
      ofProcess.map((name) => processMetrics.getSingleMetricAsString(name)),
    );
    return texts.filter((_, index) => wanted.has(ofProcess[index] ?? ""));
  };

  const scrape = async ({ syntax, collect }: ScrapeRequest): Promise<Scrape> => {
    const reason = refusal(collect);
    if (reason !== undefined) return { kind: "refused", reason };
    const wanted = collect.length === 0 ? known : new Set(collect);
    // All that changes is taken at the same moment: only the store is waited for.
    const taken = targets.map((view) => takeTarget(view, polls.countsOf(view)));
    const [own, process] = await Promise.all([collectOwn(wanted), collectProcess(wanted)]);
    const texts = function* (): Iterable<string> {
      for (const { name, help, type, lines } of targetFamilies) {
        if (!wanted.has(name)) continue;
        yield familyHeader(syntax, name, help, type);
        for (const target of taken) yield lines(target, name, syntax);
      }
      for (const text of [...own, ...process]) yield toSyntax(syntax, text);
      const families = serverFamilies.filter(({ name }) => perServer && wanted.has(name));
      const shown = taken.filter(({ withheld }) => !withheld);
      yield* serverLines(shown, families, syntax);
      yield endings[syntax];
    };
    return { kind: "exposition", pieces: toPieces(texts()) };
  };

  return { polls, service, delivery, http, scrape };
}

/** The metrics of a process that stands by: what concerns it alone. */
export function createWaitingMetrics(options: ProcessGaugeOptions): Pick<Metrics, "scrape"> {
  const registry = new Registry();
  addTakeOvers(registry, () => options.readActivity().takeOvers);
  addProcessGauges(registry, options);
  const all = Registry.merge([registry, registryOfProcess()]);
  return {
    async scrape({ syntax, collect }) {
      const names = namesOf(all).filter((name) => collect.length === 0 || collect.includes(name));
      const texts = await Promise.all(names.map((name) => all.getSingleMetricAsString(name)));
      const shown = [...texts.map((text) => toSyntax(syntax, text)), endings[syntax]];
      return { kind: "exposition", pieces: toPieces(shown) };
    },
  };
}

/** Each family as a whole: the name of a counter ends in `_total`. */
function namesOf(registry: Registry): readonly string[] {
  return registry.getMetricsAsArray().map(({ name }) => name);
}

/** Gauges that are named like counters, which Prometheus's linter objects to. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

let processRegistry: Registry | null = null;

/** CPU, memory and event loop. One registry per process, as its collectors cannot be stopped. */
function registryOfProcess(): Registry {
  if (processRegistry) return processRegistry;
  processRegistry = new Registry();
  // Each sample wakes the process: at 10 ms, the default, that alone took nearly a hundredth of a CPU.
  collectDefaultMetrics({ register: processRegistry, eventLoopMonitoringPrecision: 50 });
  for (const name of misnamed) processRegistry.removeSingleMetric(name);
  return processRegistry;
}

/** Large enough that sending a piece costs little, and small enough that rendering it takes a millisecond or so. */
const pieceLength = 64 * 1_024;

/**
 * Joins texts into pieces of bytes, each when it is requested. All are in one buffer: a piece is valid until the next one
 * is requested. Strings written to a socket would each be copied to memory outside of the heap, and encoding each text by
 * itself would take a tenth longer.
 */
export function* toPieces(texts: Iterable<string>): Iterable<Uint8Array> {
  let buffer = Buffer.alloc(0);
  const encode = (text: string): Uint8Array => {
    // UTF-8 takes at most three bytes for each code unit.
    if (text.length * 3 > buffer.length) buffer = Buffer.allocUnsafeSlow(text.length * 4);
    return buffer.subarray(0, buffer.write(text));
  };
  let text = "";
  for (const each of texts) {
    text += each;
    if (text.length < pieceLength) continue;
    yield encode(text);
    text = "";
  }
  if (text !== "") yield encode(text);
}
