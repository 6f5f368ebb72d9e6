import { expect, it } from "vitest";
import { startPeer } from "../service/peer.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

/** A daemon that polls a service whose answer to every request is the text that the test sets. */
async function watchText(first: string) {
  const answer = { body: first };
  const { baseUrl } = await startPeer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(answer.body);
  });
  const world = await watchWorld({ baseUrl });
  return { world, answer };
}

const sandbox = (id: string, status: string, odd: object = {}): object => {
  const server = { id: `${id}-1`, server_name: "git", status, ...odd };
  return { local_sandbox_id: id, created_at: "2026-02-16T12:45:25Z", servers: [server] };
};
const listing = (...items: readonly unknown[]): string =>
  JSON.stringify({ local_sandboxes: items, total_count: items.length });
const healthy = listing(sandbox("a", "idle"), sandbox("b", "idle"));

const changes = ({ log }: WatchedWorld): readonly unknown[] =>
  log
    .filter(({ event }) => event === "server.changed")
    .map(({ server_id: id, from, to }) => `${String(id)}: ${String(from)} -> ${String(to)}`);
const errorAlerts = ({ alerts }: WatchedWorld): readonly unknown[] =>
  alerts
    .filter(({ data }) => data.rule === "server-error")
    .flatMap(({ data }) => data.incidents)
    .map(({ server_id: id, state }) => [id, state]);
const lines = ({ log }: WatchedWorld, wanted: string) =>
  log.filter(({ event }) => event === wanted);

it.each(["null", "1e400", "2"])(
  "a listing whose total_count is %s is used but proves nothing about what it lacks",
  async (total) => {
    const { world, answer } = await watchText(healthy);
    await world.poll();
    answer.body = listing(sandbox("a", "error")).replace(/\d+}$/, `${total}}`);
    await world.poll(4);
    expect(errorAlerts(world)).toEqual([["a-1", "firing"]]);
    expect(changes(world)).toEqual(["a-1: idle -> error"]);
    const metrics = await world.metrics();
    expect(metrics).toContain('sandwatch_target_up{region="us",key="research"} 1\n');
    expect(metrics).toContain(
      'sandwatch_schema_deviations_total{region="us",operation="list_sandboxes",field="total_count"} 4\n',
    );
    expect(metrics).toMatch(/sandwatch_poll_failures_total\{.*reason="invalid_body"\} 0\n/);
  },
);

it.each<[object | null, string, string]>([
  [sandbox("i".repeat(2_000), "idle"), "[1].local_sandbox_id", "too_long"],
  [null, "[1]", "null"],
  [sandbox("c", "idle", { id: "x\0" }), "[1].servers[0].id", "invalid_character"],
  [
    sandbox("c", "idle", { server_name: "n".repeat(257) }),
    "[1].servers[0].server_name",
    "too_long",
  ],
])(
  "what cannot be kept is logged once, and all else is watched: %#",
  async (odd, part, problem) => {
    const { world, answer } = await watchText(healthy);
    await world.poll();
    const [a, b] = [sandbox("a", "error"), sandbox("b", "error")];
    answer.body = listing(a, odd, b);
    await world.poll(3);
    expect(errorAlerts(world)).toEqual([
      ["a-1", "firing"],
      ["b-1", "firing"],
    ]);
    expect(lines(world, "listing.item_not_kept")).toMatchObject([
      { place: `local_sandboxes${part}`, problem },
    ]);
    expect(lines(world, "listing.partial")).toMatchObject([{ not_kept: 1 }]);
    answer.body = listing(a);
    await world.poll(2);
    expect(lines(world, "listing.complete")).toHaveLength(1);
    expect(changes(world)).toContain("b-1: error -> absent");
  },
);

it("what cannot be kept is logged again only once it is another one, at any place", async () => {
  const odd = sandbox("x\0", "idle");
  const [a, b] = [sandbox("a", "idle"), sandbox("b", "idle")];
  const { world, answer } = await watchText("");
  for (const body of [
    listing(a, odd, b),
    listing(odd, b, a),
    listing(odd, b, odd),
    healthy,
    listing(a, odd, b),
  ]) {
    answer.body = body;
    await world.poll(2);
  }
  expect(lines(world, "listing.item_not_kept").map(({ place }) => place)).toEqual([
    "local_sandboxes[1].local_sandbox_id",
    "local_sandboxes[2].local_sandbox_id",
    "local_sandboxes[1].local_sandbox_id",
  ]);
  const counts = ["listing.partial", "listing.complete"].map((each) => lines(world, each).length);
  expect(counts).toEqual([2, 1]);
});

it("the status page and the API say why a listing is partial, and why a poll failed", async () => {
  const { world, answer } = await watchText(healthy.replace("2}", "null}"));
  await world.poll();
  const address = await world.address();
  const read = async (path: string): Promise<string> => (await fetch(address + path)).text();
  const targets = async (): Promise<unknown> => JSON.parse(await read("/api/v1/targets"));
  const partial = "total_count is null";
  expect(await read("/")).toContain(`up, partial: ${partial}`);
  expect(await targets()).toMatchObject({
    targets: [{ up: true, partial, last_failure_detail: null }],
  });
  answer.body = "<html>";
  await world.poll();
  const detail = "the body is not JSON (at byte 0)";
  expect(await read("/")).toContain(`down: invalid_body, ${detail}`);
  expect(await targets()).toMatchObject({
    targets: [{ up: false, partial: null, last_failure_detail: detail }],
  });
});
