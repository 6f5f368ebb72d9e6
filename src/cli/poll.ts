import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { statusOfServer } from "../fleet/snapshot.ts";
import { statuses, targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { emptySnapshot } from "../fleet/snapshot.ts";
import type { ListedSandbox } from "../fleet/snapshot.ts";
import { systemClock } from "../lib/clock.ts";
import { createRetryBudget, retryShare } from "../lib/retry.ts";
import { userAgent } from "../lib/version.ts";
import { callWithRetries } from "../polling/call-with-retries.ts";
import { KeyLimits } from "../polling/key-limits.ts";
import { intervalOf } from "../polling/ticker.ts";
import { createServiceClient } from "../service/client.ts";
import { pollTargets } from "../api/operations/targets.ts";
import type { TargetView } from "../api/operations/targets.ts";
import { apiCommand } from "./api-command.ts";
import { callOperation } from "./call-api.ts";
import type { ApiOptions } from "./call-api.ts";
import { statusCell } from "./cells.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { adviceFor } from "./failure-advice.ts";
import type { Failed } from "./failure-advice.ts";
import { lookOf, type Look } from "./look.ts";
import { readConfig, usualConfig } from "./options.ts";
import { jsonText, show } from "./output.ts";
import { renderTable, type Cell, type Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addPoll(program: Command, terminal: Terminal): void {
  apiCommand(
    program.command("poll"),
    "poll every target once and print the result; stores nothing and notifies nobody, unless --now is given",
  )
    .option("--verbose", "also list the servers")
    .option("--now", "let the running daemon poll at once, and store and notify as usual")
    .option("--region <names>", "with --now: only these regions, separated by commas")
    .option("--key <names>", "with --now: only these keys, separated by commas")
    .action(async ({ now, region, key, json, verbose, ...options }) => {
      if (now) return pollNow({ ...options, json }, { region, key }, terminal);
      const { url } = options;
      const config = options.config ?? (url === undefined ? usualConfig() : undefined);
      if (region !== undefined || key !== undefined) {
        throw wrongUse("--region and --key need --now.");
      }
      if (config === undefined) throw wrongUse(configUse);
      const polls = await pollAll(readConfig(config, terminal));
      const targets = polls.map(({ view }) => view);
      terminal.out(
        json ? jsonText({ targets }) : pollsText(targets, verbose === true, lookOf(terminal)),
      );
      const failures = polls.flatMap(({ view, failed }) =>
        failed ? [`${targetName(view)}: ${failed.detail}. ${adviceFor(failed)}`] : [],
      );
      if (failures.length > 0) throw new CommandError(failures.join("\n"));
    });
}

const configUse =
  "Give --config FILE, or set SANDWATCH_CONFIG: without --now, poll calls the service itself, with the addresses and keys of a configuration. With --now, the daemon at --url or SANDWATCH_URL polls.";

async function pollNow(
  options: ApiOptions,
  request: { readonly region?: string; readonly key?: string },
  terminal: Terminal,
): Promise<void> {
  const view = await callOperation(options, terminal, pollTargets, request);
  const columns: Columns<TargetView> = {
    region: "region",
    key: "key",
    poll: (target) =>
      pollCell(target.last_failure_reason && failureOf(target), target.partial !== null),
    ...Object.fromEntries(
      statuses.map((status) => [
        status,
        ({ up, servers }: TargetView) => (up === true ? servers[status] : "-"),
      ]),
    ),
  };
  show(view, options, terminal, ({ targets }) =>
    [...partialTexts(targets), renderTable(targets, columns, lookOf(terminal))].join(""),
  );
  const failures = view.targets
    .filter(({ up }) => up !== true)
    .map((target) => `${targetName(target)}: ${failureOf(target)}.`);
  if (failures.length > 0) throw new CommandError(failures.join("\n"));
}

function failureOf({ last_failure_detail: detail, last_failure_reason: reason }: TargetView) {
  return detail ?? reason ?? "not polled";
}

/** Beside a running daemon neither counts the calls of the other within the rate limit. */
async function pollAll(config: Config) {
  const { timeoutMs, maxBodyBytes, rateLimit, schedule } = config.poll;
  const clock = systemClock;
  const { regions } = config;
  const service = createServiceClient({ regions, timeoutMs, maxBodyBytes, userAgent, clock });
  const limits = new KeyLimits(clock, rateLimit);
  const deps = { limits, clock, random: Math.random, budget: createRetryBudget(retryShare) };
  const { signal } = new AbortController();
  const deadline = { deadlineMs: clock.now().monotonicMs + intervalOf(schedule), signal };
  const polls = config.keys.flatMap((key) =>
    key.regions.map(async (region) => {
      const target = { region, key: key.name };
      const call = { region, apiKey: key.apiKey, before: emptySnapshot, poll: 0 };
      const outcome = await callWithRetries(deps, target, deadline, (attempt) =>
        service.listSandboxes({ ...call, ...attempt }),
      );
      if (outcome.kind === "ok") return { view: viewOf(target, outcome.value), failed: null };
      const failed: Failed = outcome.kind === "failed" ? { problem: null, ...outcome } : notSent;
      return { view: viewOf(target, noListing, failed), failed };
    }),
  );
  try {
    return await Promise.all(polls);
  } finally {
    await service.close();
  }
}

/** The key's rate limit left no token before the deadline. */
const notSent: Failed = {
  reason: "rate_limited",
  status: null,
  detail: "nothing was sent",
  problem: null,
};

interface Listed {
  readonly listing: { readonly sandboxes: readonly ListedSandbox[]; readonly complete: boolean };
  /** Why the listing is partial. */
  readonly partial: string | null;
}

const noListing: Listed = { listing: { sandboxes: [], complete: false }, partial: null };

type PollView = ReturnType<typeof viewOf>;

function viewOf(target: Target, { listing, partial }: Listed, failed: Failed | null = null) {
  return {
    ...target,
    up: failed === null,
    failure: failed?.reason ?? null,
    failure_detail: failed?.detail ?? null,
    failure_status: failed?.status ?? null,
    complete: listing.complete,
    partial,
    sandboxes: listing.sandboxes.length,
    servers: listing.sandboxes.flatMap((sandbox) =>
      sandbox.servers.map(({ id, name, status, benchmark, tags }) => ({
        sandbox_id: sandbox.id,
        server_id: id,
        server_name: name,
        status: statusOfServer(status, false, sandbox.status),
        benchmark,
        tags,
      })),
    ),
  };
}

/** @param failure its detail, of which what comes before the first colon says what happened */
function pollCell(failure: string | null, isPartial: boolean): Cell {
  if (failure !== null) return { text: failure.replace(/: .*$/, ""), color: "red" };
  return isPartial ? { text: "partial", color: "yellow" } : "ok";
}

/** The summary is last, where a person looks first. */
function pollsText(targets: readonly PollView[], isVerbose: boolean, look: Look): string {
  const counts = statuses.map((status) => [
    status,
    ({ servers, up }: PollView) =>
      up ? servers.filter((server) => server.status === status).length : "-",
  ]);
  const columns: Columns<PollView> = {
    region: "region",
    key: "key",
    poll: ({ failure, failure_detail: detail, complete }) => pollCell(detail ?? failure, !complete),
    servers: ({ servers, up }) => (up ? servers.length : "-"),
    ...Object.fromEntries(counts),
  };
  const summary = renderTable(targets, columns, look);
  const servers = (isVerbose ? targets : []).flatMap(({ region, key, servers: listed }) =>
    listed.map((server) => ({ region, key, ...server })),
  );
  const serverColumns: Columns<(typeof servers)[number]> = {
    status: ({ status }) => statusCell(status),
    region: "region",
    key: "key",
    name: "server_name",
    server: "server_id",
    sandbox: "sandbox_id",
  };
  const table = renderTable(servers, serverColumns, look);
  return [...(servers.length > 0 ? [table, "\n"] : []), ...partialTexts(targets), summary].join("");
}

function partialTexts(
  targets: readonly (Target & { readonly partial: string | null })[],
): readonly string[] {
  return targets
    .filter(({ partial }) => partial !== null)
    .map((target) => `${targetName(target)}: the listing is partial: ${target.partial}\n\n`);
}
