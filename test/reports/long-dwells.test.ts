import { describe, expect, it } from "vitest";
import { longestOf, longDwellOf } from "../../src/reports/insights/long-dwells.ts";
import type { LongDwell } from "../../src/reports/insights/long-dwells.ts";
import type { PresentServer } from "../../src/reports/sources.ts";

const minuteMs = 60_000;
const research = { region: "us", key: "research" };

/** Occupied since 0. */
function server(more: Partial<PresentServer> = {}): PresentServer {
  return {
    sandboxId: "box",
    serverId: "a",
    serverName: "git",
    status: "occupied",
    isMissing: false,
    sinceMs: 0,
    isWitnessed: true,
    ...more,
  };
}

describe("a long stay", () => {
  const usualMs = 10 * minuteMs;
  const stayOf = (present: PresentServer, atMs = usualMs + 1): LongDwell | null =>
    longDwellOf(research, present, atMs, (name) => (name === "git" ? usualMs : null));

  it("is that of a server that is occupied for longer than is usual for its name", () => {
    const { sandboxId, serverId, serverName } = server();
    expect(stayOf(server())).toEqual({
      ...research,
      sandboxId,
      serverId,
      serverName,
      occupiedMs: usualMs + 1,
      isExact: true,
      usualMs,
    });
    expect(stayOf(server(), usualMs)).toBeNull();
    expect(stayOf(server({ isWitnessed: false }))).toMatchObject({ isExact: false });
  });

  it.each<[string, Partial<PresentServer>]>([
    ["is not occupied", { status: "idle" }],
    ["is missing from the last listing", { isMissing: true }],
    ["has a name of which nothing is usual", { serverName: "jira" }],
    ["has no name", { serverName: null }],
  ])("is none where the server %s", (_, more) => {
    expect(stayOf(server(more))).toBeNull();
  });
});

describe("the longest stays", () => {
  const stay = (serverId: string, occupiedMs: number, usualMs: number): LongDwell => ({
    ...research,
    sandboxId: "box",
    serverId,
    serverName: "git",
    occupiedMs,
    isExact: true,
    usualMs,
  });

  it("are those that exceed what is usual by the largest factor, as many as asked for", () => {
    const stays = [stay("a", 50, 40), stay("b", 9, 3), stay("c", 60, 30), stay("d", 8, 7)];
    expect(longestOf(stays, 3).map(({ serverId }) => serverId)).toEqual(["b", "c", "a"]);
  });
});
