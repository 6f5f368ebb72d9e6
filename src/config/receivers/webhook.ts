import { z } from "zod";
import { bodyPlaceholders, isBodyText } from "../../alerts/template.ts";
import { Secret } from "../../lib/secret.ts";
import { oneOf, scalar, settings } from "../fields.ts";
import { notBoth, textLike } from "../written.ts";
import { allowHttp, messageSettings, messagesOf, receiverName, receiverUrl } from "./common.ts";

/** As the standardwebhooks package reads it, which throws for anything else when it signs. */
const signingSecretPattern =
  /^(?:whsec_)?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

/** The same, and not too short or long for its bytes. */
const signingSecretLike = textLike(
  new RegExp(`(?=^(?:whsec_)?.{32,88}$)${signingSecretPattern.source}`),
);

const signingSecretAllowed = "whsec_ and 24 to 64 bytes in padded base64, or secret_file beside it";

function readSigningSecret(value: unknown): Secret | undefined {
  const match = typeof value === "string" ? signingSecretPattern.exec(value) : null;
  const bytes = Buffer.from(match?.[1] ?? "", "base64").length;
  return match && bytes >= 24 && bytes <= 64 ? new Secret(match[0]) : undefined;
}

const bodyTextAllowed = `text with placeholders among ${bodyPlaceholders.map((each) => `{${each}}`).join(", ")}`;

/** As JSON: what a service wants in its body can be a secret, such as a token. */
const bodySchema = z
  .unknown()
  .transform((value, context): Secret => {
    if (typeof value !== "object" || value === null) {
      context.addIssue({ code: "custom", message: "a mapping or a list" });
      return z.NEVER;
    }
    const faults = bodyFaults(value, []);
    faults.forEach((fault) => context.addIssue({ code: "custom", ...fault }));
    return faults.length === 0 ? new Secret(JSON.stringify(value)) : z.NEVER;
  })
  .meta({ type: ["object", "array"], errorMessage: "a mapping or a list" });

interface BodyFault {
  readonly path: (string | number)[];
  readonly message: string;
}

function bodyFaults(value: unknown, path: readonly (string | number)[]): readonly BodyFault[] {
  if (typeof value === "string") {
    return isBodyText(value) ? [] : [{ path: [...path], message: bodyTextAllowed }];
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    return [{ path: [...path], message: "a number that JSON can represent" }];
  }
  if (Array.isArray(value))
    return value.flatMap((item, index) => bodyFaults(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([field, item]) => bodyFaults(item, [...path, field]));
}

export const webhookSchema = settings(
  {
    name: receiverName(),
    type: z.literal("webhook").describe("JSON over HTTP, following Standard Webhooks."),
    url: receiverUrl(),
    allow_http: allowHttp("url"),
    secret: scalar(signingSecretAllowed, readSigningSecret)
      .meta(signingSecretLike)
      .optional()
      .meta({
        description: "The secret with which messages are signed, following Standard Webhooks.",
        leftOut: "none: messages are not signed",
      }),
    format: oneOf(["sandwatch", "alertmanager"]).optional().meta({
      description: "The format of the body: sandwatch's own, or Alertmanager's webhook format.",
      leftOut: "`sandwatch`, unless `body` is set",
    }),
    body: bodySchema.optional().meta({
      description:
        "A custom body, sent as JSON with its placeholders filled in. Cannot be combined with `format`.",
      leftOut: "none: `format` applies",
    }),
    ...messageSettings,
  },
  ["url_file", "secret_file"],
)
  .meta({ allOf: [notBoth("format", "body")] })
  .transform((receiver, context) => {
    if (receiver.format !== undefined && receiver.body !== undefined) {
      context.addIssue({ code: "custom", message: "format or body, not both", path: ["format"] });
      return z.NEVER;
    }
    return {
      name: receiver.name,
      type: receiver.type,
      url: receiver.url,
      secret: receiver.secret ?? null,
      format: receiver.format ?? "sandwatch",
      bodyTemplate: receiver.body ?? null,
      ...messagesOf(receiver),
    };
  });

export type WebhookConfig = Readonly<z.output<typeof webhookSchema>>;
