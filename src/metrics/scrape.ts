import type { Registry } from "prom-client";
import type { Target } from "../fleet/model.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import { asError } from "../lib/as-error.ts";
import { endings, familyHeader, toSyntax } from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";
import { toPieces } from "./pieces.ts";
import { serverFamilies, serverLines } from "./server-families.ts";
import type { TargetCounts } from "./target-counts.ts";
import { takeTarget, targetFamilies } from "./target-families.ts";

export interface ScrapeRequest {
  readonly syntax: ExpositionSyntax;
  /** Names of the families to expose; none stands for all. */
  readonly collect: readonly string[];
}

export type Scrape =
  /**
   * Every target as of one moment, rendered while it is iterated. A piece
   * is good until the next one is asked for: then its bytes are overwritten.
   */
  | { readonly kind: "exposition"; readonly pieces: Iterable<Uint8Array> }
  | { readonly kind: "refused"; readonly reason: string };

export interface ScrapeParts {
  readonly registry: Registry;
  /** Its metrics depend on one another: they are collected all or none. */
  readonly processRegistry: Registry;
  readonly targets: readonly WatchedView[];
  readonly countsOf: (target: Target) => TargetCounts;
  /** Whether the families of servers are exposed at all. */
  readonly perServer: boolean;
  readonly onUnread: (error: Error) => void;
}

export type Scraper = (request: ScrapeRequest) => Promise<Scrape>;

export function createScraper(parts: ScrapeParts): Scraper {
  const { registry, processRegistry, targets, countsOf, perServer, onUnread } = parts;
  const ofProcess = namesOf(processRegistry);
  const ofServers = serverFamilies.map(({ name }) => name);
  const ofTargets = targetFamilies.map(({ name }) => name);
  const known = new Set([...namesOf(registry), ...ofProcess, ...ofTargets, ...ofServers]);

  const refusal = (collect: readonly string[]): string | null => {
    const unknown = collect.find((name) => !known.has(name));
    if (unknown !== undefined) return `there is no metric family ${JSON.stringify(unknown)}`;
    const off = perServer ? undefined : collect.find((name) => ofServers.includes(name));
    return off === undefined
      ? null
      : `the metric family ${JSON.stringify(off)} is turned off by metrics.per_server`;
  };

  /** Those of the families that can be read. */
  const collectRegistry = async (names: readonly string[]): Promise<readonly string[]> => {
    const texts = await Promise.allSettled(
      names.map((name) => registry.getSingleMetricAsString(name)),
    );
    const errors = texts.flatMap((text) => (text.status === "rejected" ? [text.reason] : []));
    for (const error of new Set<unknown>(errors)) onUnread(asError(error));
    return texts.flatMap((text) => (text.status === "fulfilled" ? [text.value] : []));
  };

  const collectProcess = async (wanted: ReadonlySet<string>): Promise<readonly string[]> => {
    const texts = await Promise.all(
      ofProcess.map((name) => processRegistry.getSingleMetricAsString(name)),
    );
    return texts.filter((_, index) => wanted.has(ofProcess[index] ?? ""));
  };

  return async ({ syntax, collect }) => {
    const reason = refusal(collect);
    if (reason !== null) return { kind: "refused", reason };
    const wanted = collect.length === 0 ? known : new Set(collect);
    // All that changes is taken at the same moment: only the store is waited for.
    const taken = targets.map((view) => takeTarget(view, countsOf(view.target)));
    const [own, process] = await Promise.all([
      collectRegistry(namesOf(registry).filter((name) => wanted.has(name))),
      ofProcess.some((name) => wanted.has(name)) ? collectProcess(wanted) : [],
    ]);
    const texts = function* (): Iterable<string> {
      for (const { name, help, type, lines } of targetFamilies) {
        if (!wanted.has(name)) continue;
        yield familyHeader(syntax, name, help, type);
        for (const target of taken) yield lines(target, name, syntax);
      }
      for (const text of [...own, ...process]) yield toSyntax(syntax, text);
      const families = serverFamilies.filter(({ name }) => perServer && wanted.has(name));
      yield* serverLines(
        taken.filter(({ withheld }) => !withheld),
        families,
        syntax,
      );
      yield endings[syntax];
    };
    return { kind: "exposition", pieces: toPieces(texts()) };
  };
}

/** Each family as a whole: the name of a counter ends in `_total`. */
function namesOf(registry: Registry): readonly string[] {
  return registry.getMetricsAsArray().map(({ name }) => name);
}
