import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { statuses, targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { emptySnapshot } from "../fleet/snapshot.ts";
import type { ListedSandbox } from "../fleet/snapshot.ts";
import { systemClock } from "../lib/clock.ts";
import { createRetryBudget, retryShare } from "../lib/retry.ts";
import { userAgent } from "../lib/version.ts";
import { callWithRetries } from "../polling/call.ts";
import { createKeyLimits } from "../polling/key-limits.ts";
import { intervalOf } from "../polling/ticker.ts";
import { createServiceClient } from "../service/client.ts";
import { CommandError } from "./exit-codes.ts";
import { adviceFor } from "./failure-advice.ts";
import type { Failed } from "./failure-advice.ts";
import { configOption, readConfig } from "./options.ts";
import { jsonText } from "./output.ts";
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
    .action(async ({ config, json }: PollOptions) => {
      const polls = await pollAll(readConfig(config, terminal));
      terminal.out(json ? jsonText({ targets: polls.map(pollView) }) : pollsText(polls));
      const failures = polls.flatMap(({ target, failure }) =>
        failure ? [`${targetName(target)}: ${failure.detail}. ${adviceFor(failure)}`] : [],
      );
      if (failures.length > 0) throw new CommandError(failures.join("\n"));
    });
}

interface PollResult {
  readonly target: Target;
  /** Empty after a failed poll. */
  readonly sandboxes: readonly ListedSandbox[];
  readonly complete: boolean;
  /** Why the listing is partial. */
  readonly partial: string | null;
  readonly failure: Failed | null;
}

/** Beside a running daemon neither counts the calls of the other within the rate limit. */
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
  const { signal } = new AbortController();
  const deadline = { deadlineMs: clock.now().monotonicMs + intervalOf(schedule), signal };
  const polls = config.keys.flatMap((key) =>
    key.regions.map(async (region): Promise<PollResult> => {
      const target = { region, key: key.name };
      const call = { region, apiKey: key.apiKey, before: emptySnapshot, poll: 0 };
      const outcome = await callWithRetries(deps, target, deadline, (attempt) =>
        service.listSandboxes({ ...call, ...attempt }),
      );
      if (outcome.kind === "ok") {
        const { listing, partial } = outcome.value;
        return { target, ...listing, partial, failure: null };
      }
      const failure: Failed = outcome.kind === "failed" ? { problem: null, ...outcome } : notSent;
      return { target, sandboxes: [], complete: false, partial: null, failure };
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

function pollsText(polls: readonly PollResult[]): string {
  const counts = statuses.map((status) => [
    status,
    ({ servers, failure }: PollView) =>
      failure === null ? servers.filter((server) => server.status === status).length : "-",
  ]);
  const targets = polls.map(pollView);
  const servers = targets.flatMap((each) =>
    each.servers.map((server) => ({ ...server, region: each.region, key: each.key })),
  );
  const summary = renderTable(targets, {
    region: "region",
    key: "key",
    poll: ({ failure, complete }) => failure ?? (complete ? "ok" : "partial"),
    servers: (target) => target.servers.length,
    ...Object.fromEntries(counts),
  });
  const table = renderTable(servers, {
    region: "region",
    key: "key",
    sandbox: "sandbox_id",
    server: "server_id",
    name: "server_name",
    status: "status",
  });
  const partial = targets
    .filter((target) => target.partial !== null)
    .map((target) => `${targetName(target)}: the listing is partial: ${target.partial}\n`);
  const parts = [summary, servers.length > 0 ? table : "", partial.join("")];
  return parts.filter((part) => part !== "").join("\n");
}

type PollView = ReturnType<typeof pollView>;

function pollView({ target, sandboxes, complete, partial, failure }: PollResult) {
  return {
    ...target,
    up: failure === null,
    failure: failure?.reason ?? null,
    failure_detail: failure?.detail ?? null,
    failure_status: failure?.status ?? null,
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
  };
}
