import type { Notification } from "../../../src/alerts/notification.ts";
import { systemClock, type Clock } from "../../../src/lib/clock.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { createEmailReceiver } from "../../../src/notify/receivers/email.ts";
import type { EmailSettings } from "../../../src/notify/receivers/email.ts";
import { cert } from "../../support/self-signed.ts";
import { notificationOf } from "./notifications.ts";
import { openOutbound } from "./outbound.ts";

export const externalUrl = "https://sandwatch.example.com";
export const { signal } = new AbortController();

export const emailSettings: EmailSettings = {
  name: "mail",
  host: "localhost",
  port: 25,
  tls: "starttls",
  auth: { username: "sandwatch", password: new Secret("T0PSECRET") },
  from: { name: "sandwatch, alerts", address: "sandwatch@example.com" },
  to: ["ann@example.com", "bob@example.com"],
  pauseMs: 0,
  viaProxy: false,
};

export function openEmail(
  more: Partial<EmailSettings>,
  clock: Clock = systemClock,
  ca: string | null = cert,
) {
  const outbound = openOutbound(clock, { route: { proxy: null, ca } });
  const deps = { clock, outbound, externalUrl };
  return createEmailReceiver({ ...emailSettings, ...more }, deps);
}

export const refusal = (responseCode: number) =>
  Object.assign(new Error("T0PSECRET"), { responseCode });

export const sendEmail = (
  more: Partial<EmailSettings>,
  notification: Notification = notificationOf(),
) => openEmail(more).send(notification, signal);
