import type { Status, Target } from "../../../src/fleet/model.ts";
import type { ListedSandbox, ListedServer } from "../../../src/fleet/snapshot.ts";
import type { Hold, ServerRule, TargetRule } from "../../../src/alerts/rule.ts";
import type { Listing } from "../../support/listing.ts";

export const target: Target = { region: "us", key: "research" };

export const atOnce: Hold = { kind: "duration", ms: 0 };

export function lasting(ms: number): Hold {
  return { kind: "duration", ms };
}

export function inPolls(polls: number): Hold {
  return { kind: "polls", polls };
}

export function listedServer(
  id: string,
  status: Status,
  more: Partial<ListedServer> = {},
): ListedServer {
  return { id, status, name: "github", benchmark: null, tags: [], ...more };
}

export function listedSandbox(
  id: string,
  servers: readonly ListedServer[],
  more: Partial<ListedSandbox> = {},
): ListedSandbox {
  return { id, status: "idle", benchmark: null, servers, ...more };
}

/** A complete listing of one sandbox, `box`. */
export function listingOf(...servers: readonly ListedServer[]): Listing {
  return { sandboxes: [listedSandbox("box", servers)], complete: true };
}

export function serverRule(more: Partial<ServerRule> = {}): ServerRule {
  return {
    name: "server-error",
    on: "server",
    status: "error",
    for: atOnce,
    keepFiringForMs: 0,
    remindEveryMs: null,
    flap: null,
    match: {},
    severity: "critical",
    receivers: ["oncall"],
    summaryTemplate: null,
    runbookUrlTemplate: null,
    ...more,
  };
}

export function targetRule(more: Partial<TargetRule> = {}): TargetRule {
  return {
    name: "target-down",
    on: "target",
    trouble: "failing",
    for: inPolls(3),
    keepFiringForMs: 0,
    remindEveryMs: null,
    match: {},
    severity: "warning",
    receivers: ["oncall"],
    summaryTemplate: null,
    runbookUrlTemplate: null,
    ...more,
  };
}
