import { receiverRule } from "../alerts/judge-receivers.ts";
import { matchesAny, severities } from "../alerts/rule.ts";
import { silenceFacts, silences, type SilenceMatch } from "../alerts/silence.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import { nearestName } from "../config/nearest-name.ts";
import { targetName } from "../fleet/model.ts";
import { findServer, type Sandbox } from "../fleet/snapshot.ts";
import { batches, paced } from "../lib/iterables.ts";
import type { StoredIncident } from "../store/incidents.ts";
import type { ListCursor } from "../store/sql-helpers.ts";
import type { FleetContext, Needs } from "./context.ts";

/** Further known names are only counted. */
const mostListed = 20;

/**
 * Notes on the names of a match that the configuration does not have. They are no errors: what is stored
 * may be older than the configuration.
 */
export function matchNotes(
  { rules, targets, probes }: FleetContext,
  match: SilenceMatch,
): readonly string[] {
  const known = {
    rule: [...rules, receiverRule].map(({ name }) => name),
    severity: severities,
    region: targets.map(({ target }) => target.region),
    key: targets.map(({ target }) => target.key),
    probe: probes.map(({ subject }) => subject.probe),
  };
  return (["rule", "severity", "region", "key", "probe"] as const).flatMap((field) =>
    unknownNames(field, match[field] ?? [], known[field]),
  );
}

/** A note on each pattern that matches no known name. */
export function unknownNames(
  what: string,
  patterns: readonly string[],
  known: readonly string[],
): readonly string[] {
  const names = [...new Set(known)];
  const more = names.length > mostListed ? ` and ${names.length - mostListed} more` : "";
  const list = names.length === 0 ? "none" : names.slice(0, mostListed).join(", ") + more;
  return patterns
    .filter((pattern) => !names.some((name) => matchesAny([pattern], name)))
    .map((pattern) => {
      const nearest = nearestName(pattern, names);
      const hint = nearest === null ? "" : `; did you mean ${JSON.stringify(nearest)}?`;
      return `no ${what} is called ${JSON.stringify(pattern)}; known: ${list}${hint}`;
    });
}

const incidentsAtOnce = 1_000;

/** How many firing incidents a silence matches. */
export async function countMatched(
  { store, targets }: Needs<"store" | "targets">,
  match: SilenceMatch,
): Promise<number> {
  const snapshots = new Map(
    targets.map(({ target, state }) => [targetName(target), state.snapshot]),
  );
  let count = 0;
  let before: ListCursor | null = null;
  for (;;) {
    const query = { phases: ["firing"] as const, limit: incidentsAtOnce, before };
    const page: readonly StoredIncident[] = await store.incidents.page(query);
    for (const { incident, target } of page) {
      const { rule: name, severity, subject } = incident;
      const snapshot = target && snapshots.get(targetName(target));
      const server =
        snapshot && subject.kind === "server"
          ? findServer(snapshot, subject.sandboxId, subject.serverId)
          : undefined;
      if (silences(match, silenceFacts({ name, severity }, target, subject, server))) count += 1;
    }
    const last = page.at(-1)?.incident;
    if (!last || page.length < incidentsAtOnce) return count;
    before = { atMs: last.startedAtMs, id: last.id };
  }
}

/** The fields of sandboxes and their servers that a silence can match. */
const listedFields = [
  ["sandbox_id", ({ id }) => [id]],
  ["server_id", ({ servers }) => servers.map(({ id }) => id)],
  ["server_name", ({ servers }) => servers.map(({ name }) => name)],
  ["benchmark", ({ benchmark, servers }) => [benchmark, ...servers.map((each) => each.benchmark)]],
  ["tag", ({ servers }) => servers.flatMap(({ tags }) => tags)],
] as const satisfies readonly (readonly [
  keyof SilenceMatch,
  (sandbox: Sandbox) => readonly (string | null)[],
])[];

const sandboxesAtOnce = 500;

/** Notes on the patterns that match no known server or sandbox. Empty while none is known. */
export async function listedNotes(
  match: SilenceMatch,
  targets: readonly Pick<WatchedView, "state">[],
): Promise<readonly string[]> {
  if (targets.every(({ state }) => state.snapshot.sandboxes.length === 0)) return [];
  let unmatched = listedFields.flatMap(([field, textsOf]) =>
    (match[field] ?? []).map((pattern) => ({ field, pattern, textsOf })),
  );
  for (const { state } of targets) {
    for await (const some of paced(batches(state.snapshot.sandboxes, sandboxesAtOnce))) {
      if (unmatched.length === 0) return [];
      unmatched = unmatched.filter(
        ({ pattern, textsOf }) =>
          !some.some((sandbox) =>
            textsOf(sandbox).some((text) => text !== null && matchesAny([pattern], text)),
          ),
      );
    }
  }
  return unmatched.map(
    ({ field, pattern }) =>
      `no known server or sandbox has the ${field} ${JSON.stringify(pattern)}; only * is a wildcard, for any characters`,
  );
}
