import { expect, it } from "vitest";
import { listReplicas, viewReplicas } from "../../src/api/operations/replicas.ts";
import { FencedError, StoreUnavailableError } from "../../src/store/store-error.ts";
import { createApi } from "../../src/api/operation.ts";
import { unitOfKey } from "../../src/cluster/assignment.ts";
import type { Replica } from "../../src/fleet/replicas.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { renderOverview } from "../../src/web/pages/overview.ts";
import { runCommand } from "../support/run-command.ts";
import { startMs, watchFleet } from "../support/fleet.ts";
import { watchWorld } from "../support/watched-world.ts";
import { runOn, storeWith } from "../store/support/store-files.ts";
import { emptyStatus } from "../web/support/serve-web.ts";

const replica = (id: string, more: Partial<Replica> = {}): Replica => ({
  id,
  address: `https://${id}.example.com`,
  version: "1.0.0",
  configuration: "digest",
  generation: 2,
  takesUnits: true,
  startedAtMs: startMs - 120_000,
  expiresAtMs: startMs + 10_000,
  ...more,
});

const unit = (name: string, owner: string, sinceMs = startMs - 60_000) => ({
  name,
  replica: owner,
  sinceMs,
});

const at = { root: "", zone: "UTC", nowMs: startMs };

it("replicas are listed with their units and targets, and which of them is behind or gone", async () => {
  const world = await watchWorld({});
  const { targets } = world.daemon();
  const keyUnit = unitOfKey("research");
  const cluster = {
    nowMs: startMs,
    replicas: [
      replica("a"),
      replica("b", { generation: 1 }),
      // It is stopping.
      replica("d", { takesUnits: false }),
      replica("c", { expiresAtMs: startMs }),
    ],
    units: [unit(keyUnit, "a"), unit("upkeep", "a"), unit("receiver:oncall", "c")],
  };
  const { replicas, notes } = viewReplicas(cluster, targets);
  expect(
    replicas.map(({ id, live, configuration, targets: n }) => [id, live, configuration, n]),
  ).toEqual([
    ["a", true, "current", targets.length],
    ["b", true, "older", 0],
    ["d", true, "current", 0],
    ["c", false, "older", 0],
  ]);
  expect(replicas[0]).toMatchObject({
    address: "https://a.example.com",
    started_at: new Date(startMs - 120_000).toISOString(),
    lease_ends_at: new Date(startMs + 10_000).toISOString(),
    units: [
      { unit: keyUnit, keys: ["research"], since: new Date(startMs - 60_000).toISOString() },
      { unit: "upkeep", keys: [] },
    ],
  });
  expect(notes).toEqual([]);
  const orphaned = viewReplicas({ ...cluster, units: [unit(keyUnit, "c")] }, targets);
  expect(orphaned.notes).toEqual(["1 target has no live replica at present"]);

  const page = runAtOnce(renderOverview({ ...emptyStatus, replicas }, [], { mayAct: true }, at));
  for (const text of ["https://a.example.com", "older configuration", "lease ended"])
    expect(page).toContain(text);
  expect(runAtOnce(renderOverview(emptyStatus, [], { mayAct: true }, at))).not.toContain(
    "Replicas",
  );
});

it("the overview shows what each replica owns since when, keys by their names", () => {
  const keys = ["research", "staging", "production"];
  const targets = keys.map((key) => watchFleet({ region: "us", key }).watched);
  const { replicas } = viewReplicas(
    {
      nowMs: startMs,
      replicas: [replica("a"), replica("b"), replica("idle")],
      units: [
        ...keys.map((key, index) => unit(unitOfKey(key), "a", startMs - 60_000 + index)),
        unit("pool:us-full/us/*", "b"),
        unit("receiver:<oncall>", "b"),
        unit("receiver:mail", "b", startMs - 7_200_000),
        unit("region:us", "b"),
        unit("upkeep", "b"),
        // The replica has an older configuration, with a key that this one has not.
        unit("key:7", "b"),
      ],
    },
    targets,
  );
  const page = runAtOnce(renderOverview({ ...emptyStatus, replicas }, [], { mayAct: true }, at));
  const [details = ""] = /(?<=<details id="replica-units">).*?(?=<\/details>)/s.exec(page) ?? [];
  const rows = Array.from(details.matchAll(/<(h3|tr)>(.*?)<\/\1>/gs), ([, , row = ""]) =>
    row
      .split(/<\/t[hd]>/)
      .map((cell) => cell.replaceAll(/<[^>]+>/g, "").trim())
      .join("|"),
  );
  const head = "Unit|Names|Since|";
  expect(rows).toEqual([
    "https://a.example.com",
    head,
    "key|production, research, staging|60 s ago|",
    "https://b.example.com",
    head,
    "key|key:7|60 s ago|",
    "pool|us-full/us/*|60 s ago|",
    "receiver|mail|2 h ago|",
    "receiver|&lt;oncall&gt;|60 s ago|",
    "region|us|60 s ago|",
    "upkeep||60 s ago|",
  ]);
});

it.each([
  new StoreUnavailableError("PostgreSQL cannot be reached"),
  new FencedError("PostgreSQL cannot be reached"),
])("what the store cannot do now may be tried again: %o", async (away) => {
  const operation = { ...listReplicas, handle: () => Promise.reject(away) };
  await expect(createApi({})(operation, {})).rejects.toMatchObject({
    kind: "unavailable",
    message: "PostgreSQL cannot be reached",
    retryAfterMs: 10_000,
  });
});

it("a store on SQLite has none", async () => {
  const world = await watchWorld({});
  expect(await world.daemon().api(listReplicas, {})).toEqual({ replicas: [], notes: [] });
  expect(await runOn(await storeWith("us"), "replicas")).toMatchObject({
    code: 0,
    out: expect.stringContaining("There are no replicas"),
  });
  expect(await runCommand(["replicas"])).toMatchObject({ code: 2 });
});
