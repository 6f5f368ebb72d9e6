import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { changes } from "../../src/cli/changes.ts";
import type { ChangesOptions } from "../../src/cli/changes.ts";
import { incidents } from "../../src/cli/incidents.ts";
import type { FollowTimes } from "../../src/cli/history.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

/** Somebody who follows, and between two looks plays the next step of what happens; then stops. */
function follower(steps: readonly (() => Promise<unknown>)[]) {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const left = [...steps];
  const written: string[] = [];
  const times: FollowTimes = {
    stopped,
    async pause() {
      const step = left.shift();
      if (step) await step();
      else stop();
      // What waits for the stop hears of it first.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const terminal = {
    out: (text: string) => void written.push(...text.trimEnd().split("\n")),
    err: (text: string) => void written.push(`! ${text.trimEnd()}`),
    isInteractive: false,
  };
  return { times, terminal, written, stop };
}

function shows(world: WatchedWorld, server: number, status: string) {
  return async () => {
    world.show(server, status);
    await world.poll();
  };
}

const inColumns = (lines: readonly string[], ...columns: readonly number[]): readonly string[] =>
  lines.map((line) => {
    const cells = line.split(/ {2,}/);
    return line.startsWith("!") ? line : columns.map((column) => cells[column]).join(" ");
  });

async function followed(
  world: WatchedWorld,
  steps: readonly (() => Promise<unknown>)[],
  options: Partial<ChangesOptions> = {},
): Promise<readonly string[]> {
  const { times, terminal, written } = follower(steps);
  await changes({ url: await world.address(), follow: true, ...options }, terminal, times);
  return written;
}

describe("changes that are followed", () => {
  it("are the last few, oldest first, and then each once as it comes", async () => {
    const world = await watchWorld();
    await world.poll();
    const lines = await followed(
      world,
      [
        shows(world, 0, "occupied"),
        async () => {},
        async () => {
          await shows(world, 0, "idle")();
          await shows(world, 1, "error")();
        },
      ],
      { limit: 2 },
    );
    expect(inColumns(lines, 6, 7)).toEqual([
      "from to",
      "absent idle",
      "absent idle",
      "idle occupied",
      "occupied idle",
      "idle error",
    ]);
    // One table, however it came.
    const begins = lines.slice(1).map((line) => line.indexOf(world.target.key));
    expect(new Set(begins)).toEqual(new Set([lines[0]?.indexOf("key")]));
  });

  it("are one JSON object a line for programs, of what is asked for alone", async () => {
    const world = await watchWorld();
    await world.poll();
    const steps = [shows(world, 0, "occupied"), shows(world, 1, "error"), shows(world, 0, "idle")];
    const lines = await followed(world, steps, { json: true, fromStatus: "occupied,error" });
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { from: "occupied", to: "idle", server_id: world.serverIds[0], stay_seconds: 10 },
    ]);
  });

  it("go on over a restart of the daemon, with what came meanwhile", async () => {
    const world = await watchWorld();
    await world.poll();
    const gate = await startGate(world);
    const lines = await followed(
      world,
      [
        shows(world, 0, "occupied"),
        async () => gate.close(),
        async () => {},
        async () => {
          await world.restart();
          world.show(0, "error");
          await world.poll();
        },
        async () => gate.open(),
        shows(world, 0, "idle"),
      ],
      { limit: 1, url: gate.url },
    );
    expect(inColumns(lines, 6, 7)).toEqual([
      "from to",
      "absent idle",
      "idle occupied",
      "! sandwatch does not answer; waiting.",
      "! It answers again.",
      "occupied error",
      "error idle",
    ]);
  });

  it("need a daemon whose address can be known, and are refused what cannot be asked", async () => {
    const world = await watchWorld();
    const ended = async (options: Partial<ChangesOptions>) =>
      followed(world, [], options).catch((error: unknown) => error);
    expect(await ended({ url: "http://127.0.0.1:1" })).toMatchObject({ exitCode: 1 });
    expect(await ended({ status: "busy" })).toMatchObject({ exitCode: 2 });
    expect(await ended({ url: "nowhere" })).toMatchObject({ exitCode: 2 });
    const { times, terminal } = follower([]);
    await expect(changes({ follow: true }, terminal, times)).rejects.toMatchObject({
      exitCode: 2,
      message: "Give either --config FILE or --url ADDRESS.",
    });
  });
});

it("incidents that are followed are told whenever they are others than they were", async () => {
  const world = await watchWorld();
  await world.poll();
  const acknowledge = async (): Promise<void> => {
    const { api } = world.daemon();
    const [incident] = (await api(listIncidents, { state: "firing" })).incidents;
    await api(acknowledgeIncident, { id: incident?.id ?? "", author: "ann" });
  };
  const { times, terminal, written } = follower([
    shows(world, 0, "error"),
    acknowledge,
    shows(world, 0, "idle"),
  ]);
  await incidents({ url: await world.address(), follow: true }, terminal, times);
  expect(inColumns(written, 1, 3)).toEqual([
    "state rule",
    "firing server-error",
    "firing (acknowledged by ann) server-error",
    "resolved (recovered) server-error",
  ]);
});

/** An address at which the world's daemon answers, whichever it is, while the gate is open. */
async function startGate(world: WatchedWorld) {
  let isOpen = true;
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await fetch(new URL(request.url ?? "", await world.address()));
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  };
  const server = createServer((request, response) => {
    if (isOpen) void pass(request, response);
    else request.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => void (isOpen = true),
    close: () => void (isOpen = false),
  };
}
