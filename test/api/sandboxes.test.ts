import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { listSandboxes, showSandbox } from "../../src/api/operations/sandboxes.ts";
import { showSandboxTimeline } from "../../src/api/operations/show-timeline.ts";
import { listTargets } from "../../src/api/operations/targets.ts";
import { startListedService } from "../support/listed-service.ts";
import { watchWorld } from "../support/watched-world.ts";
import { refusal } from "./support/api-world.ts";

async function watchSandboxes(first: Parameters<typeof startListedService>[0]) {
  const service = await startListedService(first);
  const world = await watchWorld({ baseUrl: service.baseUrl });
  await world.poll();
  return { world, service, api: world.daemon().api };
}

const few = {
  "box-1": ["idle", ["idle", "occupied"], "Atlas"],
  "box-10": ["error", ["idle"]],
  lone: ["occupied", []],
  silent: ["absent", ["idle", "error"]],
} as const;

const place = { region: "us", key: "research" };
const idsOf = (found: { readonly sandboxes: readonly { readonly sandbox_id: string }[] }) =>
  found.sandboxes.map(({ sandbox_id: id }) => id);

describe("sandboxes", () => {
  it("are listed with what they state, their age and how many servers they have in each status", async () => {
    const { api } = await watchSandboxes(few);
    const { sandboxes } = await api(listSandboxes, {});
    const none = { idle: 0, occupied: 0, error: 0, unknown: 0 };
    const usual = {
      ...place,
      since: "2026-11-20T09:30:05.000Z",
      created_at: "2026-11-18T09:30:00.000Z",
      benchmark: null,
      missing: 0,
      stale: false,
    };
    const stated = (status: string) => ({ ...usual, status, stated_status: status });
    expect(sandboxes).toEqual([
      {
        ...stated("idle"),
        sandbox_id: "box-1",
        benchmark: "Atlas",
        servers: { ...none, idle: 1, occupied: 1 },
      },
      { ...stated("error"), sandbox_id: "box-10", servers: { ...none, idle: 1 } },
      { ...stated("occupied"), sandbox_id: "lone", servers: none },
      {
        ...usual,
        status: "error",
        stated_status: null,
        sandbox_id: "silent",
        servers: { ...none, idle: 1, error: 1 },
      },
    ]);
    const { targets } = await api(listTargets, {});
    expect(targets[0]?.sandboxes).toEqual({ ...none, idle: 1, occupied: 1, error: 2 });
  });

  it("are found by id, status, benchmark, and the name and tags of their servers", async () => {
    const { api } = await watchSandboxes(few);
    const found = async (query: object) => idsOf(await api(listSandboxes, query));
    expect(await found({ sandbox: "box-1" })).toEqual(["box-1", "box-10"]);
    expect(await found({ status: "error,unknown" })).toEqual(["box-10", "silent"]);
    expect(await found({ benchmark: "Atlas" })).toEqual(["box-1"]);
    expect(await found({ server_name: "slack" })).toEqual(["box-1", "silent"]);
    // Of one server, both.
    expect(await found({ server_name: "slack", tag: "first" })).toEqual([]);
    expect(await found({ region: "us", key: "research", tag: "first", status: "idle" })).toEqual([
      "box-1",
    ]);
    const elsewhere = await api(listSandboxes, { region: "su" });
    expect(elsewhere.sandboxes).toEqual([]);
    expect(elsewhere.notes).toEqual([expect.stringContaining('no region is called "su"')]);
  });

  it("are listed a page at a time, each once, over several targets", async () => {
    const ids = Array.from({ length: 23 }, (_, at) => `box-${at}`);
    const service = await startListedService(
      Object.fromEntries(ids.map((id) => [id, ["idle", ["idle"]] as const])),
    );
    const keys = ["a", "b"];
    const world = await watchWorld({ baseUrl: service.baseUrl, keys });
    await world.poll();
    const { api } = world.daemon();
    const found: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: z.output<typeof listSandboxes.response> = await api(listSandboxes, {
        limit: 10,
        cursor,
      });
      found.push(...page.sandboxes.map(({ key, sandbox_id: id }) => `${key} ${id}`));
      cursor = page.next;
    }
    const all = keys.flatMap((key) => ids.toSorted().map((id) => `${key} ${id}`));
    expect(found).toEqual(all);
  });

  it("are shown with their servers, the worst first, and no more than asked for", async () => {
    const { api } = await watchSandboxes({
      ...few,
      full: ["idle", ["idle", "occupied", "nonsense", "error"]],
    });
    const request = { ...place, sandbox: "full" };
    const { sandbox, servers } = await api(showSandbox, request);
    expect(sandbox).toMatchObject({ sandbox_id: "full", servers: { error: 1, unknown: 1 } });
    expect(servers.map(({ server_id: id, status }) => [id, status])).toEqual([
      ["full/3", "error"],
      ["full/2", "unknown"],
      ["full/1", "occupied"],
      ["full/0", "idle"],
    ]);
    expect((await api(showSandbox, { ...request, limit: 1 })).servers).toHaveLength(1);
    expect((await api(showSandbox, { ...place, sandbox: "lone" })).servers).toEqual([]);
    for (const wrong of [{ sandbox: "box" }, { sandbox: "full", key: "other" }]) {
      const refused = api(showSandbox, { ...place, ...wrong });
      await expect(refused).rejects.toMatchObject(refusal("not_found", "lists no sandbox"));
    }
  });
});

it("the timeline of a sandbox has what it was at each time, whatever its servers were", async () => {
  const { api, world, service } = await watchSandboxes({ a: ["idle", ["occupied"]] });
  await world.poll();
  service.list({ a: ["error", ["idle"]] });
  await world.poll(2);
  world.clock.advance(2_000);
  const request = { ...place, sandbox: "a", from: "30s" };
  const { segments, truncated } = await api(showSandboxTimeline, request);
  const lengths = segments.map(
    ({ status, from, to }) => `${status} ${(Date.parse(to) - Date.parse(from)) / 1_000}`,
  );
  expect(lengths).toEqual(["unobserved 13", "idle 10", "error 7"]);
  expect(truncated).toBe(false);
  const unknown = await api(showSandboxTimeline, { ...request, sandbox: "b" });
  expect(unknown.segments.map(({ status }) => status)).not.toContain("error");
});
