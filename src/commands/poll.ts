import type { Config } from "../config/config.ts";
import { statuses, targetName } from "../core/model.ts";
import { countServers } from "../core/snapshot/snapshot.ts";
import { eachStatus } from "../core/snapshot/tallies.ts";
import { createDaemon } from "../daemon.ts";
import { createLogger } from "../platform/logger.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { inMemory } from "../store/database.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { readConfig } from "./read-config.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface PollOptions {
  readonly config: string;
  readonly json?: boolean;
}

/**
 * Polls every target once and prints what was seen. It keeps nothing and alerts nobody, so it can
 * be used beside a running daemon; the key's rate limit is then shared without either knowing.
 *
 * @throws {CommandError} when a target could not be seen
 */
export async function poll(options: PollOptions, terminal: Terminal): Promise<void> {
  const config = readConfig(options.config, terminal);
  const daemon = await createDaemon(lookOnly(config), {
    log: createLogger({ level: "silent", format: "json" }),
  });
  try {
    await daemon.pollOnce();
    terminal.out(options.json ? toJson(daemon.targets) : toTables(daemon.targets));
    const blind = daemon.targets.filter((watched) => !isSeen(watched));
    if (blind.length > 0) {
      throw new CommandError(
        blind
          .map(
            ({ target, state }) => `${targetName(target)}: ${explain(state.progress.lastFailure)}`,
          )
          .join("\n"),
        exitCodes.failed,
      );
    }
  } finally {
    await daemon.stop();
  }
}

function lookOnly(config: Config): Config {
  return {
    ...config,
    store: { path: inMemory },
    alerts: { ...config.alerts, rules: [], receivers: [], maintenance: [] },
  };
}

function toTables(targets: readonly WatchedTarget[]): string {
  const summary = targets.map((watched) => {
    const { target, state } = watched;
    const seen = isSeen(watched);
    const servers = countServers(state.snapshot);
    const counts = statuses.map((status) => (seen ? String(servers[status]) : "-"));
    const note = seen
      ? state.progress.lastComplete
        ? "ok"
        : "partial"
      : (state.progress.lastFailure ?? "");
    return [target.region, target.key, note, String(state.snapshot.serverCount), ...counts];
  });
  const servers = targets.flatMap(({ target, state }) =>
    Array.from(state.snapshot.servers(), (server) => [
      target.region,
      target.key,
      server.sandboxId,
      server.serverId,
      server.serverName ?? "",
      server.status,
    ]),
  );
  const parts = [renderTable(["region", "key", "poll", "servers", ...statuses], summary)];
  if (servers.length > 0) {
    parts.push(renderTable(["region", "key", "sandbox", "server", "name", "status"], servers));
  }
  return parts.join("\n");
}

function toJson(targets: readonly WatchedTarget[]): string {
  const seen = targets.map((watched) => toJsonTarget(watched));
  return `${JSON.stringify({ targets: seen }, null, 2)}\n`;
}

function toJsonTarget(watched: WatchedTarget): object {
  const { target, state } = watched;
  return {
    ...target,
    up: isSeen(watched),
    failure: state.progress.lastFailure,
    complete: state.progress.lastComplete,
    sandboxes: Object.fromEntries(eachStatus(state.snapshot.sandboxTally)),
    servers: Array.from(state.snapshot.servers(), (server) => ({
      sandbox_id: server.sandboxId,
      server_id: server.serverId,
      server_name: server.serverName,
      status: server.status,
      benchmark: server.benchmark,
      tags: server.tags,
    })),
  };
}

function isSeen({ polled, state }: WatchedTarget): boolean {
  return polled && state.progress.failuresInARow === 0;
}

function explain(reason: string | null): string {
  switch (reason) {
    case "timeout":
      return "no whole answer in time (poll.timeout)";
    case "network":
      return "the service cannot be reached; check the region's base_url and the network";
    case "auth":
      return "the service refuses the key; check its api_key";
    case "rate_limited":
      return "the service asks for patience, or poll.rate_limit left no room";
    case "server_error":
      return "the service failed (5xx)";
    case "http_error":
      return "an answer that is neither a listing nor a known error; check the region's base_url";
    case "invalid_body":
      return "the answer is no listing; check the region's base_url";
    case "too_large":
      return "the listing is larger than poll.max_body, or holds more objects than can be read";
    default:
      return "not seen";
  }
}
