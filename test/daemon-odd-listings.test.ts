import { expect, it } from "vitest";
import { startPeer } from "./service/peer.ts";
import { watchWorld } from "./support/watched-world.ts";
import type { WatchedWorld } from "./support/watched-world.ts";

/** A daemon that polls a service whose answer to every request is the text that the test sets. */
async function watchText(first: string) {
  const answer = { body: first };
  const { baseUrl } = await startPeer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(answer.body);
  });
  const world = await watchWorld({ baseUrl });
  return { world, answer };
}

const sandbox = (id: string, serverStatus: string): string =>
  `{"local_sandbox_id":"${id}","created_at":"2026-02-16T12:45:25Z","servers":[${server(id, serverStatus)}]}`;
const server = (sandboxId: string, status: string): string =>
  `{"id":"${sandboxId}-1","server_name":"git","status":"${status}"}`;
const sandboxes = (...items: readonly string[]): string => `"local_sandboxes":[${items.join()}]`;
const healthy = `{${sandboxes(sandbox("a", "idle"), sandbox("b", "idle"))},"total_count":2}`;

const changes = ({ log }: WatchedWorld): readonly unknown[] =>
  log
    .filter(({ event }) => event === "server.changed")
    .map(({ server_id: id, from, to }) => `${String(id)}: ${String(from)} -> ${String(to)}`);
const errorAlerts = ({ alerts }: WatchedWorld): readonly unknown[] =>
  alerts
    .filter(({ data }) => data.rule === "server-error")
    .flatMap(({ data }) => data.incidents)
    .map(({ server_id: id, state }) => [id, state]);

const odd = sandboxes(sandbox("a", "error"));
it.for([
  ["null", `{${odd},"total_count":null}`],
  ["a text", `{${odd},"total_count":"1"}`],
  ["a fraction", `{${odd},"total_count":1.5}`],
  ["too large for a number", `{${odd},"total_count":1e400}`],
  ["negative", `{${odd},"total_count":-1}`],
  ["another number", `{${odd},"total_count":2}`],
  ["absent", `{${odd}}`],
  ["an object", `{${odd},"total_count":{"value":1}}`],
  ["null and comes first", `{"total_count":null,${odd}}`],
  ["repeated, the last time as null", `{"total_count":1,${odd},"total_count":null}`],
] as const)(
  "a listing whose total_count is %s is used but proves nothing about what it lacks",
  async ([, body]) => {
    const { world, answer } = await watchText(healthy);
    await world.poll();
    answer.body = body;
    await world.poll(4);
    expect(errorAlerts(world)).toEqual([["a-1", "firing"]]);
    expect(changes(world)).toEqual([
      "a-1: absent -> idle",
      "b-1: absent -> idle",
      "a-1: idle -> error",
    ]);
    const metrics = await world.metrics();
    expect(metrics).toContain('sandwatch_target_up{region="us",key="research"} 1\n');
    expect(metrics).toContain(
      'sandwatch_schema_deviations_total{region="us",operation="list_sandboxes",field="total_count"} 4\n',
    );
    expect(metrics).toMatch(/sandwatch_poll_failures_total\{.*reason="invalid_body"\} 0\n/);
  },
);

it.for([
  ["comes first", `{"total_count":1,${odd}}`],
  ["is repeated, the last time right", `{"total_count":null,${odd},"total_count":1}`],
  ["is written as 1.0", `{${odd},"total_count":1.0}`],
] as const)("a listing whose total_count %s is complete", async ([, body]) => {
  const { world, answer } = await watchText(healthy);
  await world.poll();
  answer.body = body;
  await world.poll(2);
  expect(errorAlerts(world)).toEqual([["a-1", "firing"]]);
  expect(changes(world)).toContain("b-1: idle -> absent");
});
