import { expect, it } from "vitest";
import { Secret } from "../../src/platform/secret.ts";
import type { PersistentCall } from "../../src/polling/persistent-call.ts";
import { createCallOperation } from "../../src/probing/call-operation.ts";
import { answerJson, createTestClient, startPeer } from "../service/peer.ts";
import { research } from "../support/fleet.ts";
import { login } from "../support/probes.ts";

it("a call takes from its first request on, whatever retries follow", async () => {
  const peer = await startPeer((_, response) => {
    clock.advance(1_000);
    answerJson(response, { userId: "u", createdAt: "then", lastUsedAt: null });
  });
  const { client, clock } = createTestClient(peer.baseUrl);
  const { signal } = new AbortController();
  const twice: PersistentCall = async (_target, _turn, attempt) => {
    clock.advance(30_000);
    await attempt({ signal, mayResend: () => false, onSent() {} });
    clock.advance(500);
    return attempt({ signal, mayResend: () => false, onSent() {} });
  };
  const turn = { apiKey: new Secret("T0PSECRET"), deadlineMs: Infinity, signal };
  const run = await createCallOperation(client, twice, clock)(login, research, turn);
  expect(run).toMatchObject({ outcome: { kind: "read" }, durationMs: 2_500 });
});

it("a listing of which fields are expected is held as a whole, and its sandboxes are counted alike", async () => {
  const box = { local_sandbox_id: "a", created_at: "then", status: "idle", servers: [] };
  const boxes = [box, { ...box, status: "error" }, { ...box, local_sandbox_id: "" }, 7];
  const listing = {
    local_sandboxes: [...boxes, { ...box, local_sandbox_id: "b" }],
    total_count: 5,
  };
  const peer = await startPeer((_, response) => answerJson(response, listing));
  const { client, clock } = createTestClient(peer.baseUrl);
  const { signal } = new AbortController();
  const once: PersistentCall = (_target, _turn, attempt) =>
    attempt({ signal, mayResend: () => false, onSent() {} });
  const call = createCallOperation(client, once, clock);
  const turn = { apiKey: new Secret("T0PSECRET"), deadlineMs: Infinity, signal };
  const fields = [{ path: ["total_count"], must: { be: "equal", to: 5 } as const }];
  const sandboxes = { operation: "list_sandboxes", id: null } as const;
  const counted = await call({ ...sandboxes, expect: { fields: [] } }, research, turn);
  expect(counted?.outcome).toMatchObject({ kind: "read", content: null, listed: 2 });
  const whole = await call({ ...sandboxes, expect: { fields } }, research, turn);
  expect(whole?.outcome).toMatchObject({ kind: "read", content: listing, listed: 2 });
});

it("a call for which there is no room took no time that says anything", async () => {
  const peer = await startPeer(() => {});
  const { client, clock } = createTestClient(peer.baseUrl);
  const never: PersistentCall = () => Promise.resolve({ kind: "not_sent", reason: "rate_limited" });
  const { signal } = new AbortController();
  const turn = { apiKey: new Secret("T0PSECRET"), deadlineMs: Infinity, signal };
  const run = await createCallOperation(client, never, clock)(login, research, turn);
  expect(run).toMatchObject({ outcome: { kind: "not_sent" }, durationMs: null });
  expect(peer.paths).toEqual([]);
});
