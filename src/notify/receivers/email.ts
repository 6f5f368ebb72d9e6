import type { Notification, NotifiedReport } from "../../alerts/notification.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { ProxyError } from "../../lib/proxy.ts";
import { zoneOffset } from "../../lib/zone-offset.ts";
import { DeniedAddressError, type SenderDeps } from "../outbound.ts";
import { failed, type AttemptFailure, type Receiver, type SendResult } from "../receiver.ts";
import { chatMessage, escapeHtml, linesWithin } from "./chat-message.ts";
import { isoTime } from "./message-text.ts";
import { createSubmission, fieldOf, SmtpError, type RefusedRecipient } from "./smtp.ts";

export interface EmailDeps extends SenderDeps {
  /** Replaces the SMTP server. Rejects if the e-mail was not accepted. */
  readonly submit?: ReturnType<typeof createSubmission>;
  /** Makes the HTML of a report, which is attached. Default: nothing is. */
  readonly renderReport?: (request: NotifiedReport["request"]) => Promise<string>;
}

export type EmailSettings = Pick<
  ConfigOf<"email">,
  "name" | "host" | "port" | "tls" | "auth" | "from" | "to" | "pauseMs" | "viaProxy"
>;

/** Sends each e-mail over a connection of its own to an SMTP server. */
export function createEmailReceiver(settings: EmailSettings, deps: EmailDeps): Receiver {
  const { clock, externalUrl = null, submit = createSubmission(settings, deps) } = deps;

  // Made for each attempt: it is large, and its range is over, so that it is the same each time. Null: the store failed.
  const attachmentsOf = async ({ rule, report }: Notification) => {
    if (!report || !deps.renderReport) return [];
    const { from, tz } = report.request;
    const fromMs = Date.parse(from);
    const day = isoTime(fromMs + zoneOffset(tz)(fromMs)).slice(0, 10);
    const filename = `sandwatch-${rule}-${day}.html`;
    try {
      const content = await deps.renderReport(report.request);
      return [{ filename, content, contentType: "text/html; charset=utf-8" }];
    } catch {
      return null;
    }
  };

  return {
    name: settings.name,
    restMs: settings.pauseMs,
    async send(notification, signal, takenBy = []) {
      const done = new Set([...takenBy, ...refusedBefore(takenBy).map(({ address }) => address)]);
      const recipients = settings.to.filter((each) => !done.has(each));
      if (recipients.length === 0) return { kind: "delivered" };
      const attachments = await attachmentsOf(notification);
      if (attachments === null) return failed("network", "the report could not be made");
      if (!deps.outbound.mayAct()) return { kind: "aborted" };
      try {
        const email = emailOf(settings, notification, clock.now().utcMs, externalUrl);
        const whole = { ...email, ...(attachments.length > 0 && { attachments }) };
        return resultOf(recipients, await submit(whole, recipients, signal), takenBy);
      } catch (error) {
        if (signal.aborted || !deps.outbound.mayAct()) return { kind: "aborted" };
        return readSmtpError(error);
      }
    },
  };
}

/**
 * Delivered only if each recipient was accepted or refused for good; those that are refused for now are tried again without
 * the others.
 */
function resultOf(
  recipients: readonly string[],
  refusedNow: readonly RefusedRecipient[],
  takenBy: readonly string[],
): SendResult {
  const before = refusedBefore(takenBy);
  const refused = [...before, ...refusedNow];
  if (refused.length === 0) return { kind: "delivered" };
  const text = refusedText(refused);
  const accepted = recipients.filter((each) => refusedNow.every(({ address }) => address !== each));
  if (refusedNow.some(({ code }) => code < 500)) {
    const forGood = refusedNow.filter(({ code }) => code >= 500);
    const done = [...takenBy, ...accepted, ...forGood.map(noteOfRefused)];
    return { ...failed("server_error", text), takenBy: done };
  }
  if (accepted.length + takenBy.length === before.length) return failed("rejected", text);
  return { kind: "delivered", note: `not accepted for each recipient: ${text}` };
}

/** How a recipient that was refused for good is kept among those that have the e-mail. No address has a space. */
function noteOfRefused({ code, address }: RefusedRecipient): string {
  return `${code} ${address}`;
}

function refusedBefore(takenBy: readonly string[]): readonly RefusedRecipient[] {
  return takenBy.flatMap((each) => {
    const [code = "", address] = each.split(" ");
    return address === undefined ? [] : [{ code: Number(code), address }];
  });
}

const mostNamed = 5;

/** Such as "SMTP 550 for ann@example.com, bob@example.com". */
function refusedText(refused: readonly RefusedRecipient[]): string {
  const byCode = Map.groupBy(refused, ({ code }) => code);
  return Array.from(byCode, ([code, some]) => {
    const named = some.slice(0, mostNamed).map(({ address }) => address);
    const more = some.length > named.length ? ` and ${some.length - named.length} more` : "";
    return `SMTP ${code} for ${named.join(", ")}${more}`;
  }).join("; ");
}

/** Only codes are used: a text of the server could contain anything. */
function readSmtpError(error: unknown): AttemptFailure {
  if (error instanceof DeniedAddressError) return failed("denied", error.why);
  if (error instanceof ProxyError || error instanceof SmtpError) {
    return failed(error.reason, error.message);
  }
  const [code, status] = [fieldOf(error, "code"), fieldOf(error, "responseCode")];
  // STARTTLS may be missing for as long as somebody on the way suppresses it.
  if (typeof status === "number" && code !== "ETLS") {
    // A code of 400 to 499 asks for another attempt.
    return failed(status >= 500 ? "rejected" : "server_error", `SMTP ${status}`);
  }
  const detail = typeof code === "string" ? code : "unknown";
  return failed(/TIMEDOUT/.test(detail) ? "timeout" : "network", detail);
}

/** References make a header of at most about 1,000 characters. */
const mostReferences = 20;
const longestText = 100_000;

/** What begins with this needs no other words before it. */
const saysState =
  /^(?:Late by|Resolved|Alert ended|Silenced|Acknowledge|Still: |No longer flapping)/;

/**
 * An e-mail in text and HTML. It refers to an invented first message of each of its incidents, so that all e-mails about an
 * incident are one thread, whichever of them arrives or was stored.
 */
export function emailOf(
  { from, to }: Pick<EmailSettings, "from" | "to">,
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const { id, type, incidents } = notification;
  const message = chatMessage(notification, nowMs, externalUrl);
  const { icon, title, heading, summary, text: said, links } = message;
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  const references = incidents.slice(0, mostReferences).map((each) => `<${each.id}@${domain}>`);
  const lines = linesWithin(notification, longestText).join("\n");
  const linkLines = links.map(({ text, url }) => `${text}: ${url}`);
  return {
    from,
    to: [...to],
    subject: saysState.test(summary) ? `${icon} ${summary}` : `${icon} ${title}: ${summary}`,
    messageId: `<${id}@${domain}>`,
    ...(references[0] !== undefined && { inReplyTo: references[0], references }),
    date: new Date(nowMs),
    headers: {
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
      "X-Sandwatch-Type": type,
    },
    text: [heading, said, lines, linkLines.join("\n"), "sandwatch"]
      .filter((part) => part !== "")
      .join("\n\n"),
    html: [
      `<h2>${escapeHtml(heading)}</h2>`,
      `<p><strong>${escapeHtml(said)}</strong></p>`,
      ...(lines === "" ? [] : [`<p>${escapeHtml(lines).replaceAll("\n", "<br>\n")}</p>`]),
      ...(links.length === 0
        ? []
        : [
            `<p>${links.map(({ text, url }) => `<a href="${escapeHtml(url)}">${text}</a>`).join(" · ")}</p>`,
          ]),
      "<p>sandwatch</p>",
    ].join("\n"),
  };
}
