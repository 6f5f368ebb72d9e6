import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { acknowledgeIncident } from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { addChanges } from "../../src/cli/changes.ts";
import { addIncidents } from "../../src/cli/incidents.ts";
import { openStore } from "../../src/store/store.ts";
import { answerJson, startPeer } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveUs } from "./serve-us.ts";

type Step = () => unknown;

/** The lines that a command prints that follows while the steps happen, one between two of its calls. */
async function followed(
  add: typeof addChanges,
  args: readonly string[],
  steps: readonly Step[],
): Promise<readonly string[]> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const left = [...steps];
  const pause = async (): Promise<void> => {
    const step = left.shift();
    if (step) await step();
    else stop();
    // What waits for the stop runs first.
    await setImmediate();
  };
  const lines: string[] = [];
  const terminal = {
    out: (text: string) => void lines.push(...text.trimEnd().split("\n").filter(Boolean)),
    err: (text: string) => void lines.push(`! ${text.trimEnd()}`),
    isInteractive: false,
  };
  const program = new Command();
  add(program, terminal, { stopped, pause });
  const [command] = program.commands;
  await program.parseAsync([command?.name() ?? "", "--follow", ...args], { from: "user" });
  return lines;
}

async function polledWorld() {
  const world = await watchWorld();
  await world.poll();
  /** A poll in which some servers show other statuses. */
  const poll = (...statuses: readonly (string | undefined)[]) => {
    for (const [server, status] of statuses.entries()) if (status) world.show(server, status);
    return world.poll();
  };
  return { world, poll, url: await world.address() };
}

const inColumns = (lines: readonly string[], ...columns: readonly number[]): readonly string[] =>
  lines.map((line) => {
    const cells = line.split(/ {2,}/);
    return line.startsWith("!") ? line : columns.map((column) => cells[column]).join(" ");
  });

const ofServers = ["--subject", "server"];

describe("changes --follow", () => {
  it("prints the last changes, oldest first, and then each new one once, in one table", async () => {
    const { world, poll, url } = await polledWorld();
    const twoPolls = async () => {
      await poll("idle");
      await poll(undefined, "error");
    };
    const steps = [() => poll("occupied"), () => {}, twoPolls];
    const lines = await followed(addChanges, [...ofServers, "--limit", "2", "--url", url], steps);
    const first = ["from to", "absent idle", "absent idle"];
    const then = ["idle occupied", "occupied idle", "idle error"];
    expect(inColumns(lines, 6, 7)).toEqual([...first, ...then]);
    const begins = lines.slice(1).map((line) => line.indexOf(world.target.key));
    expect(new Set(begins)).toEqual(new Set([lines[0]?.indexOf("key")]));
  });

  it("prints a JSON object a line with --json, of what is selected only", async () => {
    const { world, poll, url } = await polledWorld();
    const steps = [() => poll("occupied"), () => poll(undefined, "error"), () => poll("idle")];
    const args = [...ofServers, "--json", "--from-status", "occupied,error", "--url", url];
    const lines = await followed(addChanges, args, steps);
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { from: "occupied", to: "idle", server_id: world.serverIds[0], stay_seconds: 10 },
    ]);
  });

  it("continues after a restart of the daemon, with what was stored meanwhile", async () => {
    const { world, poll } = await polledWorld();
    /** The daemon's address changes with a restart; this one answers while it is open. */
    let isOpen = true;
    const pass = async (path: string, response: ServerResponse): Promise<void> => {
      const answer = await fetch(new URL(path, await world.address()));
      answerJson(response, await answer.json(), answer.status);
    };
    const { baseUrl } = await startPeer((request, response) => {
      if (isOpen) void pass(request.url ?? "", response);
      else request.destroy();
    });
    const restart = async () => {
      await world.restart();
      await poll("error");
    };
    const steps: readonly Step[] = [
      () => poll("occupied"),
      () => void (isOpen = false),
      () => {},
      restart,
      () => void (isOpen = true),
      () => poll("idle"),
    ];
    const lines = await followed(
      addChanges,
      [...ofServers, "--limit", "1", "--url", baseUrl],
      steps,
    );
    expect(inColumns(lines, 6, 7)).toEqual([
      "from to",
      "absent idle",
      "idle occupied",
      "! sandwatch does not respond; waiting.",
      "! sandwatch responds again.",
      "occupied error",
      "error idle",
    ]);
  });

  it("fails where the port of the daemon is not known", async () => {
    const { config } = writeConfig();
    await expect(followed(addChanges, ["--config", config], [])).rejects.toThrow("--url");
  });
});

it("incidents --follow prints an incident each time that it changes", async () => {
  const { world, poll, url } = await polledWorld();
  const acknowledge = async () => {
    const { api } = world.daemon();
    const [incident] = (await api(listIncidents, { state: "firing" })).incidents;
    await api(acknowledgeIncident, { id: incident?.id ?? "", author: "ann" });
  };
  const steps = [() => poll("error"), acknowledge, () => poll("idle")];
  const lines = await followed(addIncidents, ["--url", url], steps);
  expect(inColumns(lines, 1, 3)).toEqual([
    "state rule",
    "firing server-error",
    "firing (acknowledged by ann) server-error",
    "resolved server-error",
  ]);
});

it("--follow ends when another sandwatch comes to the configured address", async () => {
  const listen = await freeAddress();
  const regions = { asia: { base_url: "http://127.0.0.1:1" } };
  const { config, store } = writeConfig({ regions, http: { listen } });
  await openStore(store).close();
  const steps = [() => {}, () => serveUs(["research"], listen)];
  await expect(followed(addIncidents, ["--config", config], steps)).rejects.toThrow(
    `The daemon at http://${listen} monitors none of the configured targets`,
  );
});
