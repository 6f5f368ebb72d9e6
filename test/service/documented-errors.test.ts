import { expect, test } from "vitest";
import type { Drift } from "../../src/fleet/drift.ts";
import { answerJson, type ClientUnderTest, createTestClient, startPeer } from "./peer.ts";

/** What counts as drift when the service answers so. */
async function driftOf(
  ask: (under: ClientUnderTest) => Promise<unknown>,
  status: number,
  body: unknown,
): Promise<readonly Drift[]> {
  const peer = await startPeer((_request, response) => answerJson(response, body, status));
  const drifts: Drift[] = [];
  await ask(createTestClient(peer.baseUrl, { onDrift: (drift) => drifts.push(drift) }));
  return drifts;
}

const badId = { detail: [{ loc: ["path", "userId", 0], msg: "bad", type: "string_type" }] };
test.for([
  [422, badId],
  [422, {}],
  [422, { detail: [] }],
  [400, { detail: "Bad request" }],
  [401, { detail: "Not authenticated" }],
  [403, { detail: "Invalid API key" }],
  [404, { detail: "User not found" }],
  [429, { detail: "Too many requests" }],
  [500, { detail: "Internal Server Error" }],
  [503, "<html>"],
] as const)("a %i with the body %j belongs to the interface", async ([status, body]) => {
  expect(await driftOf(({ client, call }) => client.getUser(call, "u1"), status, body)).toEqual([]);
});

test.for([400, 401, 403, 422, 429, 500])("a %i of a listing is no drift", async (status) => {
  const body = status === 422 ? {} : { detail: "no" };
  const drifts = await driftOf(({ client, call }) => client.listSandboxes(call), status, body);
  expect(drifts).toEqual([]);
});
