import { z } from "zod";
import { Secret } from "../lib/secret.ts";
import { headerPattern, matching, optional, refuse, secretMatching, settings } from "./fields.ts";

/** Set by sandwatch or by HTTP itself. */
const reserved = new Set([
  "connection",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function isReserved(name: string): boolean {
  return reserved.has(name) || /^(?:content|proxy|webhook)-/.test(name);
}

const namePattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible ASCII, with blanks and tabs between. */
const valuePattern = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

const allowed = "a mapping of the names of headers to their values, or headers_file instead";
const nameAllowed =
  "the name of a header, each once, that neither sandwatch nor HTTP itself sets (content-*, webhook-*, proxy-*, host, connection and the like)";

/** A mapping, or the text of a file: a header a line. */
const headersSchema = z
  .unknown()
  .transform((value, context): ReadonlyMap<string, Secret> => {
    const entries = typeof value === "string" ? linesOf(value) : entriesOf(value);
    if (entries === null) return refuse(context, allowed);
    const isText = typeof value === "string";
    const headers = new Map<string, Secret>();
    for (const [written, content] of entries) {
      const path = isText ? [] : [written];
      const name = written.toLowerCase();
      if (!namePattern.test(name) || isReserved(name) || headers.has(name)) {
        refuse(context, nameAllowed, { path, found: "a name that is not allowed" });
      } else if (typeof content !== "string" || !valuePattern.test(content)) {
        refuse(context, "text of visible ASCII characters, numbers quoted", {
          path,
          found: "a value that is not shown",
        });
      } else {
        headers.set(name, new Secret(content));
      }
    }
    return headers;
  })
  .meta({ type: ["object", "string"], errorMessage: allowed });

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return Object.entries(value);
}

function linesOf(text: string): readonly (readonly [string, string])[] {
  return text.split(/\r?\n/).flatMap((line) => {
    if (line.trim() === "") return [];
    const [name = "", ...value] = line.split(":");
    return [[name.trim(), value.join(":").trim()] as const];
  });
}

/** A user name and a password. */
export const credentials = settings({
  username: matching(
    "text without colons and control characters",
    /^[ -9;-~\u00a0-\uffff]+$/,
  ).describe("The user name."),
  password: secretMatching(
    "text without control characters, or password_file instead",
    /^[ -~\u00a0-\uffff]+$/,
  ).describe("The password."),
});

/** Settings of what a request of a receiver carries besides its body. */
export const requestHeaders = {
  headers: optional(
    headersSchema,
    "none",
    "Headers that each request carries, by name. Their values are treated as secrets. A file has a line such as `X-Api-Key: value` for each.",
  ),
  bearerToken: optional(
    secretMatching(
      "a token of visible ASCII characters without blanks (numbers quoted), or bearer_token_file instead",
      headerPattern,
    ),
    "none",
    "A bearer token, for a receiver or a proxy that requires one.",
  ),
  basicAuth: optional(
    credentials,
    "none",
    "A user name and a password for basic authentication. Cannot be combined with `bearer_token`.",
  ),
};

interface RequestHeaders {
  readonly headers: ReadonlyMap<string, Secret> | null;
  readonly bearerToken: Secret | null;
  readonly basicAuth: { readonly username: string; readonly password: Secret } | null;
}

/** The settings with their headers in one. */
export function withHeaders<Settings extends RequestHeaders>(
  { headers: written, bearerToken, basicAuth, ...rest }: Settings,
  context: z.RefinementCtx,
) {
  const headers = new Map(written);
  const authorization = [
    ...(bearerToken ? [`Bearer ${bearerToken.reveal()}`] : []),
    ...(basicAuth ? [basicCredentials(basicAuth.username, basicAuth.password)] : []),
  ];
  if (authorization.length > Number(!headers.has("authorization"))) {
    const path = [bearerToken ? "bearer_token" : "basic_auth"];
    const found = `${basicAuth && bearerToken ? "basic_auth" : "a header Authorization"} as well`;
    refuse(context, "one of basic_auth, bearer_token and a header Authorization", { path, found });
  }
  const [value] = authorization;
  if (value !== undefined) headers.set("authorization", new Secret(value));
  return { ...rest, headers };
}

function basicCredentials(username: string, password: Secret): string {
  return `Basic ${Buffer.from(`${username}:${password.reveal()}`).toString("base64")}`;
}
