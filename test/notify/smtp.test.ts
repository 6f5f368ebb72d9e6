import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { failed } from "../../src/notify/receiver.ts";
import { longestAnswerMs, longestDeliveryMs } from "../../src/notify/receivers/smtp.ts";
import { createNotifications } from "../../src/store/notifications.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { listenOnLoopback } from "../support/listen.ts";
import { oneByOne, openDelivery } from "./support/delivery.ts";
import { emailSettings, openEmail, refusal, sendEmail, signal } from "./support/email.ts";
import { fire } from "./support/items.ts";
import { notificationOf } from "./support/notifications.ts";
import { startSmtpPeer } from "./support/smtp-peer.ts";

describe("of several recipients", () => {
  const [ann = "", bob = ""] = emailSettings.to;
  const refusing = (codes: Readonly<Record<string, number>>) =>
    startSmtpPeer({
      onRcptTo({ address }, _, done) {
        const code = codes[address];
        done(code === undefined ? null : refusal(code));
      },
    });

  it.each([
    [{ [bob]: 451 }, { ...failed("server_error", `SMTP 451 for ${bob}`), takenBy: [ann] }],
    [
      { [bob]: 550 },
      { kind: "delivered", note: `not accepted for each recipient: SMTP 550 for ${bob}` },
    ],
    [
      { [ann]: 550, [bob]: 451 },
      {
        ...failed("server_error", `SMTP 550 for ${ann}; SMTP 451 for ${bob}`),
        takenBy: [`550 ${ann}`],
      },
    ],
    [{ [ann]: 550, [bob]: 553 }, failed("rejected", `SMTP 550 for ${ann}; SMTP 553 for ${bob}`)],
  ])("those that the server refuses are distinguished: %j", async (codes, expected) => {
    const { port } = await refusing(codes);
    expect(await sendEmail({ port })).toEqual(expected);
  });

  it.each([
    ["accepts it", undefined, "delivered", `not accepted for each recipient: SMTP 550 for ${ann}`],
    ["refuses it for good, too", 553, "dead", `SMTP 550 for ${ann}; SMTP 553 for ${bob}`],
  ])(
    "one that refused it for good is not asked again, and is named when the other %s",
    async (_, code, state, detail) => {
      const asked: string[] = [];
      let codes: Readonly<Record<string, number | undefined>> = { [ann]: 550, [bob]: 451 };
      const { port, emails } = await startSmtpPeer({
        onRcptTo({ address }, _session, done) {
          asked.push(address);
          const answer = codes[address];
          done(answer === undefined ? null : refusal(answer));
        },
      });
      const clock = createFakeClock();
      const { pass, insert, store } = openDelivery(
        () => [{ ...oneByOne, receiver: openEmail({ name: "oncall", port }, clock) }],
        { clock },
      );
      await insert(fire("a"));
      await pass(0);
      await pass(600_000);
      codes = { [bob]: code };
      await pass(600_000);
      expect(asked).toEqual([ann, bob, bob, bob]);
      expect(emails.map(({ to }) => to)).toEqual(code === undefined ? [[bob]] : []);
      expect((await store.states()).slice(0, 1)).toEqual([state]);
      const attempts = await createNotifications(store.kysely).attempts([1]);
      expect(attempts.map((each) => each.detail)).toEqual([
        ...Array<string>(2).fill(`SMTP 550 for ${ann}; SMTP 451 for ${bob}`),
        detail,
      ]);
    },
  );

  it("only those that do not have it are tried again, under the same id", async () => {
    const codes: Record<string, number> = { [bob]: 451 };
    const { port, emails } = await refusing(codes);
    const clock = createFakeClock();
    const { pass, insert, store, logged } = openDelivery(
      () => [{ ...oneByOne, receiver: openEmail({ name: "oncall", port }, clock) }],
      { clock },
    );
    await insert(fire("a"));
    await pass(0);
    await pass(600_000);
    codes[bob] = 550;
    await pass(600_000);
    expect(emails.map(({ to }) => to)).toEqual([[ann]]);
    delete codes[bob];
    expect(await store.states()).toEqual(["delivered"]);
    expect(logged).toEqual(["notification.retry oncall", "notification.delivered oncall"]);
    await insert(fire("b"));
    await pass(600_000);
    expect(emails.map(({ to }) => to)).toEqual([[ann], [ann, bob]]);
    const attempts = await createNotifications(store.kysely).attempts([1]);
    expect(attempts.map(({ reason, detail }) => [reason, detail])).toEqual([
      ["server_error", `SMTP 451 for ${bob}`],
      ["server_error", `SMTP 451 for ${bob}`],
      [null, `not accepted for each recipient: SMTP 550 for ${bob}`],
    ]);
  });
});

describe("a server with authentication", () => {
  it.each([
    ["PLAIN", ["PLAIN", "LOGIN"], 504],
    ["PLAIN", ["PLAIN", "LOGIN"], 534],
    ["LOGIN", ["LOGIN", "CRAM-MD5"], 504],
  ])(
    "that refuses the method %s of %j with %i gets the next one",
    async (refused, methods, code) => {
      const tried: string[] = [];
      const { port, emails } = await startSmtpPeer({
        authMethods: [...methods],
        onAuth({ method, username }, _, done) {
          tried.push(method);
          done(method === refused ? refusal(code) : null, { user: username ?? "sandwatch" });
        },
      });
      expect(await sendEmail({ port })).toEqual({ kind: "delivered" });
      expect([tried, emails.length]).toEqual([methods, 1]);
    },
  );

  it("that refuses the password is not asked by another method", async () => {
    const tried: string[] = [];
    const { port } = await startSmtpPeer({
      authMethods: ["PLAIN", "LOGIN"],
      onAuth({ method }, _, done) {
        tried.push(method);
        done(refusal(535));
      },
    });
    expect(await sendEmail({ port })).toEqual(failed("rejected", "SMTP 535"));
    expect(tried).toEqual(["PLAIN"]);
  });

  it.each([{ disabledCommands: ["AUTH"] }, { authMethods: ["XOAUTH2"] }])(
    "that offers none by password gets nothing where one is configured: %j",
    async (options) => {
      const { port, emails } = await startSmtpPeer(options);
      const failure = failed("network", "the server offers no authentication by password");
      expect(await sendEmail({ port })).toEqual(failure);
      expect(emails).toEqual([]);
    },
  );
});

describe("a server that", () => {
  it.each(["", "220 mail.example.com\r\n"])(
    "greets with %j and hangs times out after minutes",
    async (hello) => {
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.write(hello);
      });
      const port = await listenOnLoopback(server);
      const clock = createFakeClock();
      const result = openEmail({ port }, clock).send(notificationOf(), signal);
      await once(server, "connection");
      // The greeting arrives, and its answer leaves.
      await setTimeout(50);
      clock.advance(longestAnswerMs - 60_000);
      const early = await Promise.race([result, setTimeout(20, "waits")]);
      clock.advance(120_000);
      expect([early, await result]).toEqual(["waits", failed("timeout", "no answer")]);
      expect(clock.armed).toBe(0);
    },
  );

  it("sends its greeting in pieces, each within minutes, is waited for", async () => {
    const server = createServer((socket) => socket.on("error", () => {}));
    const port = await listenOnLoopback(server);
    const clock = createFakeClock();
    const result = openEmail({ port }, clock).send(notificationOf(), signal);
    const [socket]: Socket[] = await once(server, "connection");
    for (let piece = 0; piece < 5; piece += 1) {
      socket?.write("220-wait\r\n");
      await setTimeout(20);
      clock.advance(longestAnswerMs - 60_000);
    }
    expect(await Promise.race([result, setTimeout(20, "waits")])).toBe("waits");
    socket?.end("421 no\r\n");
    expect(await result).toEqual(failed("network", "ECONNECTION"));
  });

  it.each([
    [16_000, { kind: "delivered" }],
    [longestDeliveryMs - 60_000, { kind: "delivered" }],
    [longestDeliveryMs + 60_000, failed("timeout", "no answer")],
  ])("takes %i ms after the final dot gets the e-mail once", async (tookMs, expected) => {
    let accept = (): void => {};
    const has = Promise.withResolvers<void>();
    const { port } = await startSmtpPeer({
      onData(stream, _, done) {
        stream.resume().on("end", () => {
          accept = () => done();
          has.resolve();
        });
      },
    });
    const clock = createFakeClock();
    const result = openEmail({ port }, clock).send(notificationOf(), signal);
    await has.promise;
    clock.advance(tookMs);
    accept();
    expect(await result).toEqual(expected);
    expect(clock.armed).toBe(0);
  });
});
