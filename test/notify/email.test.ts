import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { parseNetwork } from "../../src/lib/networks.ts";
import { Secret } from "../../src/lib/secret.ts";
import { failed } from "../../src/notify/receiver.ts";
import { createEmailReceiver, emailOf } from "../../src/notify/receivers/email.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { incidentOf, startMs } from "./support/items.ts";
import {
  hostileTexts,
  notificationOf,
  reportOf,
  resolvedIncident,
} from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startSmtpPeer } from "./support/smtp-peer.ts";
import {
  emailSettings,
  externalUrl,
  openEmail,
  refusal,
  sendEmail,
  signal,
} from "./support/email.ts";

describe("an e-mail", () => {
  it.each([
    ["starttls", {}, { secure: true, user: "sandwatch" }],
    ["tls", { secure: true }, { secure: true, user: "sandwatch" }],
  ] as const)("is sent with a password by %s", async (tls, options, session) => {
    const { port, emails } = await startSmtpPeer(options);
    expect(await sendEmail({ port, tls })).toEqual({ kind: "delivered" });
    expect(emails).toMatchObject([
      { ...session, from: "sandwatch@example.com", to: ["ann@example.com", "bob@example.com"] },
    ]);
  });

  it("is sent without encryption only if that is configured", async () => {
    const { port, emails } = await startSmtpPeer({ disabledCommands: ["STARTTLS"] });
    expect(await sendEmail({ port, auth: null })).toEqual(failed("network", "ETLS"));
    expect(emails).toEqual([]);
    expect(await sendEmail({ port, auth: null, tls: "none" })).toEqual({ kind: "delivered" });
    expect(emails).toMatchObject([{ secure: false, user: null }]);
  });

  it("has text and HTML, and headers that no program answers", async () => {
    const { port, emails } = await startSmtpPeer();
    await sendEmail({ port }, notificationOf({ runbookUrl: "https://runbooks.example/a" }));
    const [email] = emails;
    expect(Object.fromEntries(email?.headers ?? [])).toMatchObject({
      from: '"sandwatch, alerts" <sandwatch@example.com>',
      to: "ann@example.com, bob@example.com",
      "auto-submitted": "auto-generated",
      "message-id": "<msg_1@example.com>",
      "in-reply-to": "<incident-1@example.com>",
      references: "<incident-1@example.com>",
      "x-sandwatch-type": "incident.firing",
      "content-type": expect.stringMatching(/^multipart\/alternative/),
    });
    expect(email?.raw).toContain("Content-Type: text/plain; charset=utf-8");
    expect(email?.raw).toContain("Content-Type: text/html; charset=utf-8");
  });

  it("with a report is sent again later when its file cannot be made", async () => {
    const clock = createFakeClock();
    const submitted: unknown[] = [];
    let fails = true;
    const receiver = createEmailReceiver(emailSettings, {
      clock,
      outbound: openOutbound(clock),
      submit: async (email) => {
        submitted.push(email);
        return [];
      },
      async renderReport({ from }) {
        if (fails) throw new Error("T0PSECRET");
        return `<p>${from}</p>`;
      },
    });
    const failure = failed("network", "the report could not be made");
    expect(await receiver.send(reportOf(1), signal)).toEqual(failure);
    fails = false;
    expect(await receiver.send(reportOf(1), signal)).toEqual({ kind: "delivered" });
    const content = "<p>2026-11-15T23:00:00.000Z</p>";
    const filename = "sandwatch-weekly-2026-11-16.html";
    expect(submitted).toMatchObject([{ attachments: [{ filename, content }] }]);
  });

  it("is not sent when this process may not deliver any more once the file of its report is made", async () => {
    const clock = createFakeClock();
    const submitted: unknown[] = [];
    let mayAct = true;
    const receiver = createEmailReceiver(emailSettings, {
      clock,
      outbound: openOutbound(clock, { mayAct: () => mayAct }),
      submit: async (email) => {
        submitted.push(email);
        return [];
      },
      async renderReport() {
        mayAct = false;
        return "<p></p>";
      },
    });
    expect(await receiver.send(reportOf(1), signal)).toEqual({ kind: "aborted" });
    expect(submitted).toEqual([]);
  });

  it("is in one thread with the others about its incidents", () => {
    const both = [incidentOf(), incidentOf({ id: "incident-2" })];
    const firing = emailOf(emailSettings, notificationOf({ incidents: both }), startMs);
    const over = notificationOf({
      id: "msg_2",
      type: "incident.resolved",
      incidents: [resolvedIncident({ id: "incident-2" })],
    });
    const resolved = emailOf(emailSettings, over, startMs);
    expect(firing.references).toEqual(["<incident-1@example.com>", "<incident-2@example.com>"]);
    expect(resolved).toMatchObject({
      messageId: "<msg_2@example.com>",
      inReplyTo: "<incident-2@example.com>",
      references: ["<incident-2@example.com>"],
    });
  });

  it("names incidents and links in both forms, in HTML escaped", () => {
    const incidents = [incidentOf({ serverName: "<b>&" })];
    const { subject, text, html } = emailOf(
      emailSettings,
      notificationOf({ incidents }),
      startMs,
      externalUrl,
    );
    expect(subject).toBe("🔴 Firing: 1 github server in error in us/research since 09:30 UTC");
    expect(text).toContain("• incident-1: <b>& (server-1) in sandbox sandbox-1: ");
    expect(text).toContain(`Acknowledge: ${externalUrl}/incidents/incident-1/acknowledge`);
    expect(html).toContain("incident-1: &lt;b&gt;&amp; (server-1)");
    expect(html).toContain(`<a href="${externalUrl}/incidents/incident-1/acknowledge">`);
  });

  it("gets no further header from any name", async () => {
    const { port, emails } = await startSmtpPeer();
    const receiver = openEmail({ port });
    const texts = [...hostileTexts.map(([, each]) => each), "a\r\nBcc: eve@example.com\r\n\r\nx"];
    for (const each of texts) {
      const incidents = [incidentOf({ serverName: each })];
      const hostile = notificationOf({ summary: each.slice(0, 2_000), incidents });
      expect(await receiver.send(hostile, signal)).toEqual({ kind: "delivered" });
    }
    const names = new Set(emails.map(({ headers }) => [...headers.keys()].toSorted().join()));
    expect([...names]).toHaveLength(1);
    expect(emails.flatMap(({ to }) => to)).not.toContain("eve@example.com");
  });
});

describe("a server that", () => {
  const both = "ann@example.com, bob@example.com";

  it.each([
    [450, { ...failed("server_error", `SMTP 450 for ${both}`), takenBy: [] }],
    [499, { ...failed("server_error", `SMTP 499 for ${both}`), takenBy: [] }],
    [500, failed("rejected", `SMTP 500 for ${both}`)],
    [550, failed("rejected", `SMTP 550 for ${both}`)],
  ])("answers with %i is understood", async (code, result) => {
    const { port } = await startSmtpPeer({ onRcptTo: (_, __, done) => done(refusal(code)) });
    expect(await sendEmail({ port })).toEqual(result);
  });

  it.each([
    [499, failed("server_error", "SMTP 499")],
    [500, failed("rejected", "SMTP 500")],
  ])("answers the sender with %i is understood", async (code, result) => {
    const { port } = await startSmtpPeer({ onMailFrom: (_, __, done) => done(refusal(code)) });
    expect(await sendEmail({ port })).toEqual(result);
  });

  it("refuses the password is reported", async () => {
    const { port } = await startSmtpPeer();
    const auth = { username: "sandwatch", password: new Secret("wrong") };
    expect(await sendEmail({ port, auth })).toEqual(failed("rejected", "SMTP 535"));
  });

  it("has a certificate that is not trusted gets neither password nor e-mail", async () => {
    const { port, emails } = await startSmtpPeer();
    const untrusted = openEmail({ port }, systemClock, null);
    expect(await untrusted.send(notificationOf(), signal)).toEqual(failed("network", "ESOCKET"));
    expect(emails).toEqual([]);
  });

  it("is not there is tried again", async () => {
    const { port } = await startSmtpPeer();
    expect(await sendEmail({ port: port === 1 ? 2 : 1 })).toEqual(
      failed("network", "ECONNREFUSED"),
    );
  });

  it("is in a network that is denied is not connected to", async () => {
    const { port } = await startSmtpPeer();
    const network = parseNetwork("127.0.0.0/8");
    if (!network) throw new TypeError("no network");
    const outbound = openOutbound(systemClock, { networks: { deny: [network], allow: null } });
    for (const host of ["localhost", "127.0.0.1"]) {
      const receiver = createEmailReceiver(
        { ...emailSettings, host, port },
        { clock: systemClock, outbound },
      );
      expect(await receiver.send(notificationOf(), signal)).toMatchObject({ reason: "denied" });
    }
  });

  it("is stopped in the middle of an e-mail leaves it undecided", async () => {
    const stopped = new AbortController();
    const { port } = await startSmtpPeer({ onRcptTo: () => stopped.abort() });
    const result = openEmail({ port }).send(notificationOf(), stopped.signal);
    expect(await result).toEqual({ kind: "aborted" });
  });
});
