import { expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { Secret } from "../../src/lib/secret.ts";
import { isSignedByPagerduty } from "../../src/notify/receivers/pagerduty-webhook.ts";
import {
  ann,
  pagerAt,
  startPagerdutyService,
  webhookSecret,
} from "../support/pagerduty-service.ts";
import type { SendOptions } from "../support/pagerduty-service.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveStandby } from "../web/support/serve-standby.ts";

const otherSecret = "another-secret-of-32-characters-";

/** A daemon with an incident, which only tokens let anybody acknowledge, and PagerDuty behind a standby. */
async function start() {
  let at = "";
  const pagerduty = await startPagerdutyService(
    () => Promise.resolve(at),
    () => world.clock.now().utcMs,
  );
  const pager = pagerAt(pagerduty.server.origin);
  const { type, routing_key, url } = pager;
  const receivers = [pager, { name: "deaf", type, routing_key, url }];
  const rules = [{ name: "err", on: "server", status: "error" }];
  const world = await watchWorld({
    alerts: { rules, receivers },
    http: { auth: { tokens: [{ name: "ops", role: "admin", token: "T0PSECRET-of-ops-123" }] } },
  });
  world.show(0, "error");
  await world.poll();
  at = await world.address();
  const acknowledged = async () => {
    const { incidents } = await world.daemon().api(listIncidents, {});
    return incidents.map(({ acknowledged_by: by }) => by);
  };
  const serveBehindStandby = async () => {
    at = (await serveStandby(at)).address;
  };
  return { world, pagerduty, acknowledged, serveBehindStandby };
}

it.each<[string, SendOptions, status: number]>([
  ["another secret", { secrets: [otherSecret] }, 401],
  ["no signature", { signature: "" }, 401],
  ["a version that is not known", { signature: "v2=00" }, 401],
  ["a signature that is no hexadecimal number", { signature: "v1=zz" }, 401],
  ["another name", { receiver: "nobody" }, 401],
  ["the name of a receiver without a secret", { receiver: "deaf" }, 401],
  ["a body that is no event", { body: "{}" }, 400],
  ["a body that is no JSON", { body: "\0" }, 400],
  ["a body without end", { body: " ".repeat(256 * 1_024 + 1) }, 413],
  ["an id that is none", { data: { id: 1 } }, 400],
])("a webhook with %s is refused and changes nothing", async (_, options, status) => {
  const { world, pagerduty, acknowledged } = await start();
  const answer = await pagerduty.send("incident.acknowledged", ann, options);
  expect(answer.status).toBe(status);
  expect(await acknowledged()).toEqual([null]);
  const refused = world.log.filter(({ event }) => event === "http.refused");
  expect(refused.map((line) => line["reason"])).toEqual(status === 401 ? ["signature"] : []);
  expect(JSON.stringify(world.log)).not.toContain(webhookSecret);
});

it("a webhook is accepted if one of its signatures is right, without a token", async () => {
  const { pagerduty, acknowledged } = await start();
  const secrets = [otherSecret, webhookSecret];
  expect((await pagerduty.send("incident.acknowledged", ann, { secrets })).status).toBe(200);
  expect(await acknowledged()).toEqual(["ann (PagerDuty)"]);
});

it("a standby passes webhooks on to the active process, as they were signed", async () => {
  const { pagerduty, acknowledged, serveBehindStandby } = await start();
  await serveBehindStandby();
  const wrong = await pagerduty.send("incident.acknowledged", ann, { secrets: [otherSecret] });
  expect(wrong.status).toBe(401);
  expect((await pagerduty.send("incident.acknowledged", ann)).status).toBe(200);
  expect(await acknowledged()).toEqual(["ann (PagerDuty)"]);
});

it("the signature of PagerDuty is that of its documentation", () => {
  // The known HMAC-SHA256 of this text and key; in hexadecimal, by https://developer.pagerduty.com/docs/verifying-webhook-signatures.
  const secret = new Secret("key");
  const body = Buffer.from("The quick brown fox jumps over the lazy dog");
  const right = "v1=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
  expect(isSignedByPagerduty(body, right, secret)).toBe(true);
  expect(
    isSignedByPagerduty(body, `v1=00, ${right.toUpperCase().replace("V1", "v1")}`, secret),
  ).toBe(true);
  expect(isSignedByPagerduty(body, Array(11).fill("v1=00").join(",") + right, secret)).toBe(false);
});
