import type { Registry } from "prom-client";
import type { WatchedView } from "../core/watched-view.ts";
import { asError } from "../platform/as-error.ts";
import { collectFamilies, familyLines, familyNames } from "./aggregate-text.ts";
import { endings } from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";
import { toPieces } from "./pieces.ts";
import { serverFamilies, serverSeries } from "./server-series.ts";
import { takeFamily } from "./target-family.ts";
import type { TargetFamily } from "./target-family.ts";

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
  readonly targetFamilies: readonly TargetFamily[];
  /** Whether the families of servers are exposed at all. */
  readonly perServer: boolean;
  readonly targets: readonly WatchedView[];
  /** What the registry shows that is not in memory. */
  readonly stored: readonly StoredFamilies[];
  readonly onUnread: (error: Error) => void;
}

export interface StoredFamilies {
  readonly families: readonly string[];
  /** Brings them up to date. */
  readonly refresh: () => Promise<void>;
}

export type Scraper = (request: ScrapeRequest) => Promise<Scrape>;

export function createScraper(parts: ScrapeParts): Scraper {
  const { registry, processRegistry, targetFamilies, perServer, targets } = parts;
  const own = familyNames(registry);
  const ofProcess = familyNames(processRegistry);
  const ofServers = serverFamilies.map(({ name }) => name);
  const ofTargets = targetFamilies.map(({ name }) => name);
  const known = new Set([...own, ...ofProcess, ...ofTargets, ...ofServers]);

  const refusal = (collect: readonly string[]): string | null => {
    const unknown = collect.find((name) => !known.has(name));
    if (unknown !== undefined) return `there is no metric family ${JSON.stringify(unknown)}`;
    const off = perServer ? undefined : collect.find((name) => ofServers.includes(name));
    return off === undefined
      ? null
      : `the metric family ${JSON.stringify(off)} is turned off by metrics.per_server`;
  };

  return async ({ syntax, collect }) => {
    const reason = refusal(collect);
    if (reason !== null) return { kind: "refused", reason };
    const wanted = new Set(collect);
    const isWanted = (name: string): boolean => wanted.size === 0 || wanted.has(name);

    const unread = await refresh(parts, isWanted);
    // From here on nothing is waited for until all that changes was taken hold of: the aggregates
    // and the series of servers tell of the same moment.
    const families = serverFamilies.filter(({ name }) => perServer && isWanted(name));
    const shown = families.length === 0 ? [] : targets.filter(({ withheld }) => !withheld);
    const series = shown.map(({ target, state }) => ({ target, snapshot: state.snapshot }));
    const taken = targetFamilies
      .filter(({ name }) => isWanted(name))
      .map((family) => takeFamily(family, syntax));
    const collecting = [
      collectFamilies(registry, (name) => isWanted(name) && !unread.has(name)),
      collectFamilies(processRegistry, () => ofProcess.some(isWanted)),
    ];
    const collected = (await Promise.all(collecting)).flat();
    const aggregates = collected.filter(({ name }) => isWanted(name));
    const texts = function* (): Iterable<string> {
      for (const family of taken) yield* family;
      for (const family of aggregates) yield* familyLines(family, syntax);
      yield* serverSeries(series, families, syntax);
      yield endings[syntax];
    };
    return { kind: "exposition", pieces: toPieces(texts()) };
  };
}

/** Gives the families that could not be brought up to date. */
async function refresh(
  { stored, onUnread }: Pick<ScrapeParts, "stored" | "onUnread">,
  isWanted: (name: string) => boolean,
): Promise<ReadonlySet<string>> {
  const wanted = stored.filter(({ families }) => families.some(isWanted));
  const outcomes = await Promise.allSettled(wanted.map((each) => each.refresh()));
  return new Set(
    wanted.flatMap(({ families }, index) => {
      const outcome = outcomes[index];
      if (outcome?.status !== "rejected") return [];
      onUnread(asError(outcome.reason));
      return families;
    }),
  );
}
