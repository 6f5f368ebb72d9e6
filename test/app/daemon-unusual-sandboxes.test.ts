import { expect, it } from "vitest";
import { listSandboxes } from "../../src/api/operations/sandboxes.ts";
import { answerJson, startPeer } from "../service/peer.ts";
import type { Alert } from "../support/webhook-peer.ts";
import { watchWorld } from "../support/watched-world.ts";

/** A sandbox or server as a listing has it. A status that is missing has no field. */
interface Item {
  readonly id: string;
  readonly status?: unknown;
  readonly servers?: readonly Item[];
}

async function watchListings() {
  let listed: readonly Item[] = [];
  const { baseUrl } = await startPeer((_, response) => {
    const ids = new Set(listed.map(({ id }) => id));
    const sandboxes = listed.map(({ id, servers = [], ...stated }) => ({
      local_sandbox_id: id,
      created_at: "2026-11-18T09:30:00Z",
      ...stated,
      servers: servers.map((server) => ({ server_name: "github", ...server })),
    }));
    answerJson(response, { local_sandboxes: sandboxes, total_count: ids.size });
  });
  const world = await watchWorld({ baseUrl, poll: { every: "5s", gone_after: 2 }, servers: 0 });
  return {
    world,
    /** What receivers are notified of by one more poll, in any order. */
    poll: async (...next: readonly Item[]): Promise<readonly string[]> => {
      listed = next;
      const before = world.alerts.length;
      await world.poll();
      return world.alerts.slice(before).map(messageText).toSorted();
    },
    statuses: async (): Promise<Readonly<Record<string, string>>> => {
      const { sandboxes } = await world.daemon().api(listSandboxes, {});
      return Object.fromEntries(sandboxes.map(({ sandbox_id: id, status }) => [id, status]));
    },
  };
}

function messageText({ type, data: { incidents, truncated } }: Alert): string {
  const [first] = incidents;
  const name = [first?.sandbox_id, first?.server_id].filter(Boolean).join("/");
  const reason = first?.resolved_reason ?? "";
  return `${type.replace("incident.", "")} ${incidents.length + truncated} ${first?.subject} ${name} ${reason}`.trim();
}

it("a sandbox whose status is an unknown word is unknown, which is reported and resolves nothing", async () => {
  const { poll, statuses, world } = await watchListings();
  await poll({ id: "A", status: "idle" });
  expect(await poll({ id: "A", status: "error" })).toEqual(["firing 1 sandbox A"]);
  for (const status of ["busy", 7, null]) {
    expect(await poll({ id: "A", status })).toEqual([]);
    expect(await statuses()).toEqual({ A: "unknown" });
  }
  const drift = world.log.filter(({ event }) => event === "drift.seen").map(({ msg }) => msg);
  expect(drift).toEqual([
    expect.stringContaining(
      'local_sandboxes[].status has a value that the interface does not have ("busy")',
    ),
    expect.stringContaining("local_sandboxes[].status has the wrong type (whole number)"),
  ]);
  expect(await poll({ id: "A", status: "idle" })).toEqual(["resolved 1 sandbox A recovered"]);
  await poll({ id: "B", status: "busy", servers: [{ id: "a", status: "idle" }] });
  expect(await statuses()).toMatchObject({ B: "unknown" });
});

it("a server that moves between sandboxes inhibits each while it is in error there", async () => {
  const { poll, world } = await watchListings();
  const server = { id: "a", status: "error" };
  const failed = { status: "error", servers: [server] };
  const left = { id: "A", status: "error" };
  expect(await poll({ id: "A", ...failed }, { id: "B", status: "idle" })).toEqual([
    "firing 1 server A/a",
  ]);
  expect(await poll(left, { id: "B", ...failed })).toEqual(["firing 1 server B/a"]);
  expect(await poll(left, { id: "B", ...failed })).toEqual([
    "firing 1 sandbox A",
    "resolved 1 server A/a gone",
  ]);
  await world.restart();
  expect(await poll({ id: "A", status: "idle" }, { ...failed, id: "B", servers: [] })).toEqual([
    "resolved 1 sandbox A recovered",
  ]);
  expect(await poll({ id: "A", status: "idle" }, { ...failed, id: "B", servers: [] })).toEqual([
    "firing 1 sandbox B",
    "resolved 1 server B/a gone",
  ]);
});

it("who has stated a status speaks for itself after a restart", async () => {
  const { poll, statuses, world } = await watchListings();
  await poll({ id: "A", servers: [{ id: "a", status: "occupied" }] });
  await world.restart();
  expect(await statuses()).toEqual({ A: "occupied" });
  const alone = { id: "A", status: "error", servers: [{ id: "a" }] };
  expect(await poll(alone)).toEqual(["firing 1 sandbox A"]);
  await world.restart();
  // The server has stated one before, so its sandbox does not speak for it.
  expect(await poll(alone)).toEqual([]);
  expect(await poll({ id: "A", servers: [{ id: "a", status: "idle" }] })).toEqual([]);
  expect(await statuses()).toEqual({ A: "unknown" });
});

it("a sandbox of 10,000 servers is one message, and is inhibited by the last of them", async () => {
  const { poll, world } = await watchListings();
  const servers = (last: string): readonly Item[] =>
    Array.from({ length: 10_000 }, (_, at) => ({
      id: `${at}`,
      status: at === 9_999 ? last : "idle",
    }));
  await poll({ id: "A", status: "idle", servers: servers("idle") });
  expect(await poll({ id: "A", status: "error", servers: servers("error") })).toEqual([
    "firing 1 server A/9999",
  ]);
  expect(await poll({ id: "A", status: "error", servers: servers("idle") })).toEqual([
    "firing 1 sandbox A",
    "resolved 1 server A/9999 recovered",
  ]);
  expect(world.alerts.map(({ data: { summary } }) => summary)).toContain(
    "sandbox A in error in us/research since 09:30 UTC (10,000 servers: 10,000 github)",
  );
});
