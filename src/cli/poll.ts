import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { statuses, targetName } from "../fleet/model.ts";
import type { FailureReason, Target } from "../fleet/model.ts";
import type { PollDetail } from "../alerts/watched-view.ts";
import { emptySnapshot } from "../fleet/snapshot.ts";
import type { ListedSandbox } from "../fleet/snapshot.ts";
import { systemClock } from "../lib/clock.ts";
import type { Secret } from "../lib/secret.ts";
import { userAgent } from "../lib/version.ts";
import { callWithRetries } from "../polling/call.ts";
import { createRetryBudget, retryShare } from "../lib/retry.ts";
import { createKeyLimits } from "../polling/key-limits.ts";
import { intervalOf } from "../polling/ticker.ts";
import { createServiceClient } from "../service/client.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { configOption } from "./options.ts";
import { explainPoll } from "./poll-failure.ts";
import { readConfig } from "./read-config.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

interface PollOptions {
  readonly config: string;
  readonly json?: boolean;
}

export function addPoll(program: Command, terminal: Terminal): void {
  program
    .command("poll")
    .description("poll every target once and print the result; stores nothing and notifies nobody")
    .addOption(configOption())
    .option("--json", "print JSON")
    .action((options: PollOptions) => poll(options, terminal));
}

/** Beside a running daemon neither counts the calls of the other within the rate limit. */
async function poll(options: PollOptions, terminal: Terminal): Promise<void> {
  const polls = await pollAll(readConfig(options.config, terminal));
  terminal.out(options.json ? toJson(polls) : toText(polls));
  const failures = polls.flatMap(({ target, failure }) =>
    failure ? [`${targetName(target)}: ${explainPoll(failure.reason, failure.detail)}`] : [],
  );
  if (failures.length > 0) throw new CommandError(failures.join("\n"), exitCodes.failed);
}

interface PollResult {
  readonly target: Target;
  /** Empty after a failed poll. */
  readonly sandboxes: readonly ListedSandbox[];
  readonly complete: boolean;
  /** Why the listing is partial. */
  readonly partial: string | null;
  readonly failure: { readonly reason: FailureReason; readonly detail: PollDetail } | null;
}

async function pollAll(config: Config): Promise<readonly PollResult[]> {
  const { timeoutMs, maxBodyBytes, rateLimit, schedule } = config.poll;
  const clock = systemClock;
  const { regions } = config;
  const service = createServiceClient({ regions, timeoutMs, maxBodyBytes, userAgent, clock });
  const deps = {
    limits: createKeyLimits(clock, rateLimit),
    clock,
    random: Math.random,
    budget: createRetryBudget(retryShare),
  };
  const apiKeys = new Map(config.keys.map(({ name, apiKey }) => [name, apiKey]));
  const { signal } = new AbortController();
  const deadlineMs = clock.now().monotonicMs + intervalOf(schedule);
  const pollTarget = async (target: Target, apiKey: Secret): Promise<PollResult> => {
    const call = { region: target.region, apiKey, before: emptySnapshot, poll: 0 };
    const outcome = await callWithRetries(deps, target, { deadlineMs, signal }, (attempt) =>
      service.listSandboxes({ ...call, ...attempt }),
    );
    if (outcome.kind === "ok") {
      const { listing, partial } = outcome.value;
      const { sandboxes, complete } = listing;
      return { target, sandboxes, complete, partial, failure: null };
    }
    const failure =
      outcome.kind === "failed"
        ? {
            reason: outcome.reason,
            detail: {
              text: outcome.detail,
              status: outcome.status,
              problem: outcome.problem ?? null,
            },
          }
        : notSent;
    return { target, sandboxes: [], complete: false, partial: null, failure };
  };
  try {
    return await Promise.all(
      configuredTargets(config).flatMap((target) => {
        const apiKey = apiKeys.get(target.key);
        return apiKey ? [pollTarget(target, apiKey)] : [];
      }),
    );
  } finally {
    await service.close();
  }
}

/** The key's rate limit left no room before the deadline. */
const notSent = {
  reason: "rate_limited",
  detail: { text: "nothing was sent", status: null, problem: null },
} as const;

function toText(polls: readonly PollResult[]): string {
  const summary = polls.map(({ target, sandboxes, complete, failure }) => {
    const servers = sandboxes.flatMap((sandbox) => sandbox.servers);
    const counts = statuses.map((status) =>
      failure ? "-" : String(servers.filter((server) => server.status === status).length),
    );
    const state = failure ? failure.reason : complete ? "ok" : "partial";
    return [target.region, target.key, state, String(servers.length), ...counts];
  });
  const servers = polls.flatMap(({ target, sandboxes }) =>
    sandboxes.flatMap((sandbox) =>
      sandbox.servers.map((server) => [
        target.region,
        target.key,
        sandbox.id,
        server.id,
        server.name ?? "",
        server.status,
      ]),
    ),
  );
  const partial = polls.flatMap(({ target, partial: why }) =>
    why === null ? [] : [`${targetName(target)}: the listing is partial: ${why}\n`],
  );
  const serverTable = renderTable(
    ["region", "key", "sandbox", "server", "name", "status"],
    servers,
  );
  return [
    renderTable(["region", "key", "poll", "servers", ...statuses], summary),
    ...(servers.length > 0 ? [serverTable] : []),
    ...(partial.length > 0 ? [partial.join("")] : []),
  ].join("\n");
}

function toJson(polls: readonly PollResult[]): string {
  const targets = polls.map(({ target, sandboxes, complete, partial, failure }) => ({
    ...target,
    up: failure === null,
    failure: failure?.reason ?? null,
    failure_detail: failure?.detail.text ?? null,
    failure_status: failure?.detail.status ?? null,
    complete,
    partial,
    sandboxes: sandboxes.length,
    servers: sandboxes.flatMap((sandbox) =>
      sandbox.servers.map((server) => ({
        sandbox_id: sandbox.id,
        server_id: server.id,
        server_name: server.name,
        status: server.status,
        benchmark: server.benchmark,
        tags: server.tags,
      })),
    ),
  }));
  return `${JSON.stringify({ targets }, null, 2)}\n`;
}
