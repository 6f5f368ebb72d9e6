import { describe, expect, it } from "vitest";
import { Webhook } from "standardwebhooks";
import type { Notification } from "../../src/core/notification.ts";
import type { Receiver } from "../../src/notify/receiver.ts";
import { createWebhookReceiver, renderWebhookBody } from "../../src/notify/receivers/webhook.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { Secret } from "../../src/platform/secret.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { webhookBodySchema } from "../support/webhook-body.ts";
import { plainWebhook } from "./support/delivery.ts";
import { openOutbound } from "./support/outbound.ts";
import { startMs, toldIncident } from "./support/items.ts";
import { notificationOf } from "./support/notifications.ts";
import {
  hang,
  startReceiverServer,
  status,
  type ReceiverServer,
} from "./support/receiver-server.ts";

const signingSecret = `whsec_${Buffer.from("a signing secret of some length").toString("base64")}`;

const notification = notificationOf({ causedAtMs: startMs - 5_000 });

const never = new AbortController().signal;

function receiverAt(
  url: Secret,
  {
    secret = null,
    clock = createFakeClock(),
  }: { secret?: Secret | null; clock?: typeof systemClock } = {},
): Receiver {
  const receiver = createWebhookReceiver(
    { ...plainWebhook, name: "oncall", url, secret },
    { clock, outbound: openOutbound(clock, { userAgent: "sandwatch/1.2.3" }) },
  );
  return receiver;
}

async function sentTo(server: ReceiverServer, options = {}): Promise<Headers> {
  await receiverAt(server.url, options).send(notification, never);
  const [request] = server.requests;
  return new Headers(Object.entries(request?.headers ?? {}).map(([k, v]) => [k, String(v)]));
}

describe("the body", () => {
  it("has the documented form", () => {
    expect(JSON.parse(renderWebhookBody(notification, startMs))).toEqual({
      type: "incident.firing",
      timestamp: "2026-11-20T09:30:00.000Z",
      data: {
        rule: "server-error",
        severity: "critical",
        group: { region: "us", key: "research" },
        summary: "1 server in error in us (research): github",
        incidents: [
          {
            id: "incident-1",
            state: "firing",
            subject: "server",
            region: "us",
            key: "research",
            sandbox_id: "sandbox-1",
            server_id: "server-1",
            server_name: "github",
            status: "error",
            previous_status: "occupied",
            started_at: "2026-11-20T09:30:00.000Z",
            resolved_at: null,
            resolved_reason: null,
          },
        ],
        truncated: 0,
      },
    });
  });

  it.each<[string, Notification]>([
    ["a firing server", notification],
    [
      "a resolved target",
      {
        ...notification,
        type: "incident.resolved",
        truncated: 3,
        incidents: [
          toldIncident({
            subject: "target",
            state: "resolved",
            sandboxId: null,
            serverId: null,
            serverName: null,
            status: null,
            previousStatus: null,
            resolvedAtMs: startMs + 1,
            resolvedReason: "recovered",
          }),
        ],
      },
    ],
    ["a test", { ...notification, type: "test", group: {}, incidents: [] }],
  ])("holds nothing but the documented fields for %s", (_, told) => {
    expect(() =>
      webhookBodySchema.parse(JSON.parse(renderWebhookBody(told, startMs))),
    ).not.toThrow();
  });
});

describe("a request", () => {
  it("names its message, its moment and its sender, and posts JSON", async () => {
    const server = await startReceiverServer();
    const headers = await sentTo(server);
    expect(headers.get("webhook-id")).toBe("msg_1");
    expect(headers.get("webhook-timestamp")).toBe(String(startMs / 1_000));
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("user-agent")).toBe("sandwatch/1.2.3");
    expect(headers.has("webhook-signature")).toBe(false);
    expect(server.requests[0]?.body).toBe(renderWebhookBody(notification, startMs));
    expect(server.requests[0]?.path).toBe("/hook/T0PSECRET?token=T0PSECRET");
  });

  it("is signed so that Standard Webhooks verifies it, and no other secret does", async () => {
    const server = await startReceiverServer();
    // The verifier compares with the real time.
    const clock = createFakeClock(systemClock.now().utcMs);
    const headers = await sentTo(server, { secret: new Secret(signingSecret), clock });
    const body = server.requests[0]?.body ?? "";
    const signed = Object.fromEntries(headers);
    expect(new Webhook(signingSecret).verify(body, signed)).toEqual(JSON.parse(body));
    const other = new Webhook(Buffer.from("another").toString("base64"));
    expect(() => other.verify(body, signed)).toThrow("No matching signature");
    expect(() => new Webhook(signingSecret).verify(`${body} `, signed)).toThrow("No matching");
  });
});

describe("an answer", () => {
  it.each([
    [200, null],
    [202, null],
    [204, null],
    [301, "redirect"],
    [307, "redirect"],
    [400, "rejected"],
    [401, "rejected"],
    [404, "rejected"],
    [408, "timeout"],
    [410, "gone"],
    [413, "rejected"],
    [422, "rejected"],
    [425, "rate_limited"],
    [429, "rate_limited"],
    [500, "server_error"],
    [503, "server_error"],
    [599, "server_error"],
  ])("of %i counts as %s", async (code, reason) => {
    const server = await startReceiverServer(status(code, { location: "/elsewhere" }));
    const result = await receiverAt(server.url).send(notification, never);
    expect(result).toEqual(
      reason === null
        ? { kind: "delivered" }
        : { kind: "failed", reason, detail: `HTTP ${code}`, retryAfterMs: null },
    );
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["120", 120_000],
    ["0", 0],
    [new Date(startMs + 90_000).toUTCString(), 90_000],
    [new Date(startMs - 90_000).toUTCString(), 0],
    ["soon", null],
    ["-5", 0],
    ["", null],
  ])("with Retry-After %j asks to wait %s ms", async (value, retryAfterMs) => {
    const server = await startReceiverServer(status(429, { "retry-after": value }));
    const result = await receiverAt(server.url).send(notification, never);
    expect(result).toMatchObject({ kind: "failed", retryAfterMs });
  });

  it("that never ends is read no further than it must", async () => {
    let written = 0;
    const server = await startReceiverServer((response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
      };
      response.on("drain", more);
      more();
    });
    const result = await receiverAt(server.url).send(notification, never);
    expect(result).toEqual({ kind: "delivered" });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it("whose body breaks off still counts by its status", async () => {
    const server = await startReceiverServer((response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("half", () => response.destroy());
    });
    const result = await receiverAt(server.url).send(notification, never);
    expect(result).toEqual({ kind: "delivered" });
  });
});

describe("no answer", () => {
  it("counts as a network failure when the connection is refused", async () => {
    const port = await closedPort();
    const result = await receiverAt(new Secret(`http://127.0.0.1:${port}/T0PSECRET`)).send(
      notification,
      never,
    );
    expect(result).toMatchObject({ kind: "failed", reason: "network", detail: "ECONNREFUSED" });
    expect(JSON.stringify(result)).not.toContain("T0PSECRET");
  });

  it("counts as a network failure when the connection breaks", async () => {
    const server = await startReceiverServer((response) => void response.destroy());
    const result = await receiverAt(server.url).send(notification, never);
    expect(result).toMatchObject({ kind: "failed", reason: "network" });
    expect(JSON.stringify(result)).not.toContain("T0PSECRET");
  });

  it("ends when the signal aborts", async () => {
    const server = await startReceiverServer(hang);
    const abort = new AbortController();
    const sending = receiverAt(server.url).send(notification, abort.signal);
    await server.received(1);
    abort.abort();
    expect(await sending).toEqual({ kind: "aborted" });
  });
});

describe("a receiver that cannot be built", () => {
  it.each(["T0PSECRET", "ftp://T0PSECRET", "http://T0PSECRET:99999/"])(
    "says so without its address %#",
    (url) => {
      expect(() => receiverAt(new Secret(url))).toThrow(
        "The url of receiver oncall is no http or https address.",
      );
    },
  );

  it.each(["whsec_not base64 T0PSECRET", "whsec_", ""])(
    "says so without its signing secret %#",
    (secret) => {
      const build = (): Receiver =>
        receiverAt(new Secret("http://localhost/"), { secret: new Secret(secret) });
      expect(build).toThrow("The secret of receiver oncall is not whsec_ followed by base64.");
    },
  );
});

async function closedPort(): Promise<string> {
  const { createServer } = await import("node:net");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? String(address.port) : "0";
}
