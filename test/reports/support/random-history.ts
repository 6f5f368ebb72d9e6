import * as fc from "fast-check";
import { statuses } from "../../../src/fleet/model.ts";
import { recordHistory } from "../../support/recorded-history.ts";
import type {
  RecordedHistory,
  RecordedTarget,
  Seen,
  ListedServer,
} from "../../support/recorded-history.ts";

const minuteMs = 60_000;

const servers = [
  { id: "a", sandbox: "one", name: "git" },
  { id: "b", sandbox: "one", name: "git" },
  { id: "c", sandbox: "two", name: "jira" },
  { id: "a", sandbox: "three" },
] as const;

const pollMoves = fc.record({
  elapsedMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 10 * minuteMs }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 6 * 60 * minuteMs }) },
    { weight: 1, arbitrary: fc.constantFrom(5 * minuteMs, 60 * minuteMs, 3 * 1_440 * minuteMs) },
  ),
  kind: fc.constantFrom("all", "all", "all", "all", "some", "failed"),
  listed: fc.array(fc.option(fc.constantFrom(...statuses), { nil: null }), {
    minLength: servers.length,
    maxLength: servers.length,
  }),
  restarts: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
} as const);

export const targets = [
  { region: "eu", key: "ops" },
  { region: "us", key: "ops" },
  { region: "us", key: "research" },
] as const;

/** Of each target its polls. */
export const moves = fc.tuple(
  ...targets.map(() => fc.array(pollMoves, { minLength: 1, maxLength: 40 })),
);
export type Moves = typeof moves extends fc.Arbitrary<infer T> ? T : never;

/** Plays polls from a moment on. Gives when the last one was, which is of all targets. */
export function play(moved: Moves, startMs: number): { history: RecordedHistory; endMs: number } {
  const history = recordHistory();
  const polled: RecordedTarget[] = [];
  let endMs = startMs;
  for (const [index, target] of targets.entries()) {
    const recorded = history.add(target);
    let atMs = startMs;
    for (const { elapsedMs, kind, listed, restarts } of moved[index] ?? []) {
      atMs += elapsedMs;
      if (restarts) recorded.restart();
      recorded.poll(atMs, toPolled(kind, listed));
    }
    endMs = Math.max(endMs, atMs);
    polled.push(recorded);
  }
  for (const recorded of polled) recorded.poll(endMs, { kind: "failed" });
  return { history, endMs };
}

function toPolled(kind: Seen["kind"], listed: readonly (ListedServer["status"] | null)[]): Seen {
  if (kind === "failed") return { kind };
  const seen = servers.flatMap((server, index): ListedServer[] => {
    const status = listed[index];
    // Ids are unique in a sandbox only, but here they are the key.
    return status ? [{ ...server, id: `${server.sandbox}/${server.id}`, status }] : [];
  });
  return { kind, servers: seen };
}
