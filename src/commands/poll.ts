import type { Config } from "../config/config.ts";
import { statuses, targetName } from "../core/model.ts";
import { eachServer } from "../fleet/snapshot.ts";
import { countByStatus } from "../fleet/tallies.ts";
import { createDaemon } from "../daemon.ts";
import { createLogger } from "../platform/logger.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { inMemory } from "../store/sqlite/database.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { explainPoll } from "./poll-failure.ts";
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
    terminal.out(options.json ? toJson(daemon.targets) : toText(daemon.targets));
    const blind = daemon.targets.filter((watched) => !isSeen(watched));
    if (blind.length > 0) {
      throw new CommandError(
        blind
          .map(
            ({ target, state, detail }) =>
              `${targetName(target)}: ${explainPoll(state.progress.lastFailure, detail)}`,
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

function toText(targets: readonly WatchedTarget[]): string {
  const partial = targets.flatMap((watched) => {
    const why = whyPartial(watched);
    return why === null ? [] : [`${targetName(watched.target)}: the listing is partial: ${why}\n`];
  });
  return [toTables(targets), partial.join("")].filter((part) => part !== "").join("\n");
}

/** Null: the last poll failed, or its listing is complete. */
function whyPartial(watched: WatchedTarget): string | null {
  return isSeen(watched) ? (watched.detail?.text ?? null) : null;
}

function toTables(targets: readonly WatchedTarget[]): string {
  const summary = targets.map((watched) => {
    const { target, state } = watched;
    const seen = isSeen(watched);
    const { servers } = state.snapshot.tallies;
    const counts = statuses.map((status) => (seen ? String(servers[status]) : "-"));
    const note = seen
      ? state.progress.lastComplete
        ? "ok"
        : "partial"
      : (state.progress.lastFailure ?? "");
    return [target.region, target.key, note, String(countByStatus(servers)), ...counts];
  });
  const servers = targets.flatMap(({ target, state }) =>
    Array.from(eachServer(state.snapshot), ({ sandbox, server }) => [
      target.region,
      target.key,
      sandbox.id,
      server.id,
      server.name ?? "",
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
    failure_detail: isSeen(watched) ? null : (watched.detail?.text ?? null),
    failure_status: watched.detail?.status ?? null,
    complete: state.progress.lastComplete,
    partial: whyPartial(watched),
    sandboxes: state.snapshot.tallies.sandboxes,
    servers: Array.from(eachServer(state.snapshot), ({ sandbox, server }) => ({
      sandbox_id: sandbox.id,
      server_id: server.id,
      server_name: server.name,
      status: server.status,
      benchmark: server.benchmark,
      tags: server.tags,
    })),
  };
}

function isSeen({ polled, state }: WatchedTarget): boolean {
  return polled && state.progress.failuresInARow === 0;
}
