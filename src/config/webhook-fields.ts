import { z } from "zod";
import { bodyPlaceholders, isBodyText } from "../alerts/template.ts";
import { Secret } from "../lib/secret.ts";
import { refuse, textOf } from "./fields.ts";

/** As the standardwebhooks package reads it, which throws for anything else when it signs; not too short or long for its bytes. */
const signingSecretPattern =
  /(?=^(?:whsec_)?.{32,88}$)^(?:whsec_)?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

export const signingSecretSchema = textOf(
  "whsec_ and 24 to 64 bytes in padded base64, or secret_file instead",
  signingSecretPattern,
  (text) => {
    const bytes = Buffer.from(signingSecretPattern.exec(text)?.[1] ?? "", "base64").length;
    return bytes >= 24 && bytes <= 64 ? new Secret(text) : undefined;
  },
);

const bodyTextAllowed = `text with placeholders among ${bodyPlaceholders.map((each) => `{${each}}`).join(", ")}`;

/** As JSON: what a service wants in its body can be a secret, such as a token. */
export const bodySchema = z
  .unknown()
  .transform((value, context): Secret => {
    if (typeof value !== "object" || value === null) {
      return refuse(context, "a mapping or a list");
    }
    checkBody(value, [], context);
    return new Secret(JSON.stringify(value));
  })
  .meta({ type: ["object", "array"], errorMessage: "a mapping or a list" });

function checkBody(
  value: unknown,
  path: readonly (string | number)[],
  context: z.RefinementCtx,
): void {
  if (typeof value === "string" && !isBodyText(value)) refuse(context, bodyTextAllowed, { path });
  if (typeof value === "number" && !Number.isFinite(value)) {
    refuse(context, "a number that JSON can represent", { path });
  }
  if (typeof value !== "object" || value === null) return;
  for (const [field, item] of Object.entries(value)) {
    checkBody(item, [...path, Array.isArray(value) ? Number(field) : field], context);
  }
}
