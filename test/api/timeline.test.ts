import { expect, it } from "vitest";
import { timeline } from "../../src/api/timeline.ts";

it("a server that moves between sandboxes is explained with the sandbox of each change", () => {
  const change = {
    target: { region: "us", key: "research" },
    serverId: "a",
    serverName: "github",
    dwellMs: null,
    observation: null,
    atMs: 1_000,
    cursor: "1_0",
  };
  const changes = [
    { ...change, sandboxId: "B", from: "absent" as const, to: "error" as const },
    { ...change, sandboxId: "A", from: "error" as const, to: "absent" as const, atMs: 2_000 },
  ];
  const server = { serverId: "a", serverName: "github", listed: [] };
  const nothing = { incidents: [], silences: [], windows: [], tellings: [], attempts: [] };
  const events = timeline({ server, changes, ...nothing }, [], 3_000);
  expect(events.map(({ text }) => text)).toEqual([
    "absent -> error in sandbox B of us/research",
    "error -> absent in sandbox A of us/research",
  ]);
});
