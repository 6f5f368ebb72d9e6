import { z } from "zod";
import { bodyVariables, incidentVariables } from "../alerts/template.ts";
import { templateFault } from "../lib/liquid.ts";
import { Secret } from "../lib/secret.ts";
import { isPlainName } from "./faults.ts";
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

const bodyTextAllowed = `a Liquid template with the variables ${bodyVariables.join(", ")}; of each of the incidents ${incidentVariables.join(", ")}`;

const known = { variables: bodyVariables, fields: incidentVariables, mappings: ["labels"] };

/** Placeholders as rules have them: nothing would fill them here. */
const singleBraces = new RegExp(`(?<!\\{)\\{(?:${bodyVariables.join("|")})\\}(?!\\})`);

function checkText(
  text: string,
  path: readonly (string | number)[],
  context: z.RefinementCtx,
): void {
  if (!/\{[{%]/.test(text)) {
    if (!singleBraces.test(text)) return;
    const found = "a name in single braces";
    return void refuse(context, "Liquid, such as {{ summary }}", { path, found });
  }
  const fault = templateFault(text, known);
  if (fault === null) return;
  const { problem, line, column, name = "" } = fault;
  const shown = isPlainName(name) ? ` ${name}` : "";
  const what = problem === "syntax" ? "Liquid with an error" : `an unknown variable${shown}`;
  const found = `${what} in line ${line}, column ${column} of the text`;
  refuse(context, bodyTextAllowed, { path, found });
}

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
  if (typeof value === "string") checkText(value, path, context);
  if (typeof value === "number" && !Number.isFinite(value)) {
    refuse(context, "a number that JSON can represent", { path });
  }
  if (typeof value !== "object" || value === null) return;
  for (const [field, item] of Object.entries(value)) {
    checkBody(item, [...path, Array.isArray(value) ? Number(field) : field], context);
  }
}
