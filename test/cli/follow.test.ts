import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { addChanges } from "../../src/cli/changes.ts";
import { addIncidents } from "../../src/cli/incidents.ts";
import { openStore } from "../../src/store/store.ts";
import { answerJson, startPeer } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";
import { serveUs } from "./serve-us.ts";

type Step = () => Promise<unknown>;

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

function shows(world: WatchedWorld, server: number, status: string): Step {
  return () => {
    world.show(server, status);
    return world.poll();
  };
}

async function polledWorld(): Promise<WatchedWorld> {
  const world = await watchWorld();
  await world.poll();
  return world;
}

const inColumns = (lines: readonly string[], ...columns: readonly number[]): readonly string[] =>
  lines.map((line) => {
    const cells = line.split(/ {2,}/);
    return line.startsWith("!") ? line : columns.map((column) => cells[column]).join(" ");
  });

describe("changes --follow", () => {
  it("prints the last changes, oldest first, and then each new one once, in one table", async () => {
    const world = await polledWorld();
    const steps = [
      shows(world, 0, "occupied"),
      () => Promise.resolve(),
      async () => {
        await shows(world, 0, "idle")();
        await shows(world, 1, "error")();
      },
    ];
    const lines = await followed(
      addChanges,
      ["--limit", "2", "--url", await world.address()],
      steps,
    );
    expect(inColumns(lines, 6, 7)).toEqual([
      "from to",
      "absent idle",
      "absent idle",
      "idle occupied",
      "occupied idle",
      "idle error",
    ]);
    const begins = lines.slice(1).map((line) => line.indexOf(world.target.key));
    expect(new Set(begins)).toEqual(new Set([lines[0]?.indexOf("key")]));
  });

  it("prints a JSON object a line with --json, of what is selected only", async () => {
    const world = await polledWorld();
    const steps = [shows(world, 0, "occupied"), shows(world, 1, "error"), shows(world, 0, "idle")];
    const args = ["--json", "--from-status", "occupied,error", "--url", await world.address()];
    const lines = await followed(addChanges, args, steps);
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { from: "occupied", to: "idle", server_id: world.serverIds[0], stay_seconds: 10 },
    ]);
  });

  it("continues after a restart of the daemon, with what was stored meanwhile", async () => {
    const world = await polledWorld();
    const gate = await startGate(world);
    const steps = [
      shows(world, 0, "occupied"),
      async () => gate.close(),
      () => Promise.resolve(),
      async () => {
        await world.restart();
        await shows(world, 0, "error")();
      },
      async () => gate.open(),
      shows(world, 0, "idle"),
    ];
    const lines = await followed(addChanges, ["--limit", "1", "--url", gate.url], steps);
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
  const world = await polledWorld();
  const acknowledge = async (): Promise<void> => {
    const { api } = world.daemon();
    const [incident] = (await api(listIncidents, { state: "firing" })).incidents;
    await api(acknowledgeIncident, { id: incident?.id ?? "", author: "ann" });
  };
  const steps = [shows(world, 0, "error"), acknowledge, shows(world, 0, "idle")];
  const lines = await followed(addIncidents, ["--url", await world.address()], steps);
  expect(inColumns(lines, 1, 3)).toEqual([
    "state rule",
    "firing server-error",
    "firing (acknowledged by ann) server-error",
    "resolved (recovered) server-error",
  ]);
});

it("--follow ends when another sandwatch comes to the configured address", async () => {
  const listen = await freeAddress();
  const { config, store } = writeConfig({
    regions: { asia: { base_url: "http://127.0.0.1:1" } },
    http: { listen },
  });
  await openStore(store).close();
  const steps = [() => Promise.resolve(), () => serveUs(["research"], listen)];
  await expect(followed(addIncidents, ["--config", config], steps)).rejects.toThrow(
    `The daemon at http://${listen} monitors none of the configured targets`,
  );
});

/** An address at which the world's present daemon answers while the gate is open. */
async function startGate(world: WatchedWorld) {
  let isOpen = true;
  const { baseUrl } = await startPeer((request, response) => {
    if (isOpen) void pass(request.url ?? "", response);
    else request.destroy();
  });
  const pass = async (path: string, response: ServerResponse): Promise<void> => {
    const answer = await fetch(new URL(path, await world.address()));
    answerJson(response, await answer.json(), answer.status);
  };
  return {
    url: baseUrl,
    open: () => void (isOpen = true),
    close: () => void (isOpen = false),
  };
}
