import { z } from "zod";
import { isLoopback } from "../lib/networks.ts";
import { count, duration, eachOnce, flag, matching, oneOf, optional, refuse } from "./fields.ts";
import { settings, textOf } from "./fields.ts";
import { maxIncidents, messageSettings, receiver, sendAcknowledged } from "./receiver-fields.ts";
import { withInterval } from "./receiver-fields.ts";
import { credentials } from "./request-headers.ts";

const addressPattern =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*$/;
const senderPattern =
  /^(?:([ !#-;=?-[\]-~\u00a0-\uffff]{1,100}?) *<([^<> ]+@[^<> ]+)>|([^<> ]+@[^<> ]+))$/;

const address = () => matching("an e-mail address such as oncall@example.com", addressPattern);

/** A mailbox, perhaps with the name that is shown. */
const sender = textOf(
  "an e-mail address such as sandwatch@example.com or sandwatch <sandwatch@example.com>",
  senderPattern,
  (value) => {
    const [, shown = "", named, alone] = senderPattern.exec(value) ?? [];
    const mailbox = named ?? alone ?? "";
    return addressPattern.test(mailbox) ? { name: shown, address: mailbox } : undefined;
  },
);

const portOf = { starttls: 587, tls: 465, none: 25 } as const;

export const emailSchema = settings({
  ...receiver("email", "E-mails through an SMTP server."),
  host: matching("the name or the address of a host", /^[A-Za-z0-9.:-]{1,253}$/).describe(
    "The SMTP server.",
  ),
  port: optional(
    count(1, 65_535),
    "587 with `starttls`, 465 with `tls`, 25 with `none`",
    "The port of the SMTP server.",
  ),
  tls: oneOf(["starttls", "tls", "none"])
    .prefault("starttls")
    .describe(
      "How the connection is encrypted: by STARTTLS, which the server must offer; from the start; or not at all.",
    ),
  auth: optional(
    credentials,
    "none: no authentication",
    "The user name and the password at the SMTP server.",
  ),
  allowUnencrypted: flag()
    .prefault(false)
    .describe("Allows a password without TLS to a host that is not a loopback address."),
  viaProxy: flag()
    .prefault(false)
    .describe(
      "Whether the SMTP server is reached through the proxy, which must allow `CONNECT` to its port.",
    ),
  from: sender.describe("The sender."),
  to: z
    .array(address(), "a list of e-mail addresses")
    .superRefine(eachOnce("each address once"))
    .min(1, "at least one address")
    .max(50, "at most 50 addresses")
    .meta({ uniqueItems: true })
    .describe("The recipients."),
  pauseMs: duration("0s", "1h")
    .prefault("10s")
    .describe("The least time between two e-mails, which limits their rate."),
  ...messageSettings,
  sendAcknowledged: sendAcknowledged(true),
  maxIncidents: maxIncidents(1_000, 100),
}).transform((email, context) => {
  const { auth, tls, host, allowUnencrypted } = email;
  if (auth && tls === "none" && !allowUnencrypted && !isLoopback(host)) {
    const found = "none, which would send the password without encryption";
    refuse(context, "starttls, tls, a loopback host, or none with allow_unencrypted: true", {
      path: ["tls"],
      found,
    });
  }
  return { ...withInterval(email), port: email.port ?? portOf[tls] };
});
