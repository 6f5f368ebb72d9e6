import { z } from "zod";
import { openAccess, roles } from "../lib/access.ts";
import type { AccessSettings } from "../lib/access.ts";
import { isLoopback } from "../lib/networks.ts";
import { parsePasswordHash } from "../lib/password.ts";
import { Secret } from "../lib/secret.ts";
import { baseUrlLike, listenPattern, parseBaseUrl } from "./address.ts";
import { parseListenAddress } from "./address.ts";
import { eachOnce, matching, name, network, oneOf, optional, refuse, settings } from "./fields.ts";
import { text, textOf } from "./fields.ts";

const role = () => oneOf(roles);

const tokenSchema = settings({
  name: name().describe("The name of the client that has the token, in the log and as author."),
  role: role().describe("What the token allows."),
  token: matching(
    "a token of at least 16 visible ASCII characters without blanks, or token_file instead",
    /^[\x21-\x7e]{16,}$/,
  ).describe("The token, which is sent as `Authorization: Bearer TOKEN`."),
});

const userSchema = settings({
  name: matching("a name of at most 63 characters without colons", /^[^\s:]{1,63}$/).describe(
    "The name with which the user logs in, in the log and as author.",
  ),
  role: role().describe("What the user may do."),
  passwordHash: textOf(
    "a hash that `sandwatch hash-password` printed",
    /^\$scrypt\$/,
    parsePasswordHash,
  ).describe("The hash of the password, as printed by `sandwatch hash-password`."),
});

const headerName = /^[A-Za-z0-9-]{1,100}$/;

const proxySchema = settings({
  header: textOf("the name of a header without credentials", headerName, (header) =>
    headerName.test(header) && !/^(?:(?:proxy-)?authorization|cookie)$/i.test(header)
      ? header.toLowerCase()
      : undefined,
  ).describe("The header in which the proxy names the user, such as `X-Forwarded-User`."),
  trusted: z
    .array(network(), "a list of networks")
    .min(1, "at least one network")
    .describe("The addresses of the proxy. At other addresses the header is ignored."),
  role: role()
    .prefault("viewer")
    .describe("What users may do that are not among `users`. Others have their own role."),
});

const authSettings = settings({
  anonymous: oneOf([...roles, "none"])
    .prefault("health")
    .describe("The role of requests without credentials."),
  tokens: z
    .array(tokenSchema, "a list of tokens")
    .superRefine(eachOnce("a name that no other token has", (token) => token.name))
    .superRefine(eachOnce("a token that no other name has", ({ token }) => token))
    .prefault([])
    .describe("Tokens for programs."),
  users: z
    .array(userSchema, "a list of users")
    .superRefine(eachOnce("a name that no other user has", (user) => user.name))
    .prefault([])
    .describe("Users with passwords, for browsers."),
  proxy: optional(proxySchema, "none", "A proxy in front that authenticates users."),
}).transform(({ anonymous, tokens, users, proxy }, context): AccessSettings => {
  const tokenNames = new Set(tokens.map(({ name: ofToken }) => ofToken));
  for (const [index, user] of users.entries()) {
    if (!tokenNames.has(user.name)) continue;
    // What is sent with it would be taken for the token.
    const path = ["users", index, "name"];
    refuse(context, "a name that no token has", { path, note: ", which a token has" });
  }
  return {
    anonymous: anonymous === "none" ? null : anonymous,
    tokens: tokens.map(({ token, ...named }) => ({ ...named, token: new Secret(token) })),
    users,
    proxy,
  };
});

const authSchema = z
  .preprocess((value) => (value === "none" ? { anonymous: "admin" } : value), authSettings)
  .meta({ type: ["object", "string"], pattern: "^none$" });

const tlsSchema = settings({
  certificateFile: text("the path of a file").describe(
    "The certificate in PEM, followed by those of intermediate authorities.",
  ),
  keyFile: text("the path of a file").describe("The private key in PEM."),
  clientCaFile: optional(
    text("the path of a file"),
    "clients need no certificate",
    "Certificates of authorities in PEM. If set, every client must have a certificate of one of them.",
  ),
  minimumVersion: oneOf(["1.2", "1.3"]).prefault("1.2").describe("The lowest version of TLS."),
});

export const httpSchema = settings({
  listen: textOf(
    "HOST:PORT, such as 127.0.0.1:9740, [::1]:9740, or :9740 for every interface",
    listenPattern,
    parseListenAddress,
  )
    .prefault("127.0.0.1:9740")
    .describe(
      "The address of the status page, the metrics, the health checks and the API. Port 0 chooses a free port. An address that is not a loopback address needs `auth`.",
    ),
  healthListen: optional(
    textOf("HOST:PORT, such as :9741 for every interface", listenPattern, parseListenAddress),
    "none",
    "Another address that answers health checks only, over http and to everyone. Clients of `listen` cannot take its connections.",
  ),
  trustedProxies: z
    .array(network(), "a list of networks")
    .prefault([])
    .describe(
      "The addresses of reverse proxies whose `X-Forwarded-For` states who sent a request. Without them, all clients of a proxy count as one.",
    ),
  externalUrl: optional(
    textOf(
      "an https or http address of at most 500 characters without user, password, query and fragment, such as https://sandwatch.example.com",
      baseUrlLike,
      (url) => (url.length > 500 ? undefined : parseBaseUrl(url)),
    ),
    "none: messages do not link to sandwatch",
    "The address at which people reach sandwatch, with the path below which a proxy serves it. Messages link to it. Its host is allowed without `allowed_hosts`.",
  ),
  allowedHosts: z
    .array(
      matching(
        "a name such as sandwatch.example.com, without a port",
        /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?$/,
      ).transform((host) => host.toLowerCase()),
      "a list of names",
    )
    .prefault([])
    .describe(
      "Host names by which sandwatch may be called, in addition to IP addresses, localhost, and the host of `cluster.address`. Health checks accept every name.",
    ),
  auth: authSchema.optional().meta({
    description:
      "Who may do what. `none` allows everything to anyone who can reach the address. Without it, everything is allowed on a loopback address, and other addresses are refused.",
    defaultText: "everything is allowed on a loopback address",
  }),
  tls: optional(tlsSchema, "none", "Encryption. Changed files are read again."),
}).transform(({ listen, auth, ...others }, context) => {
  if (auth === undefined && !isLoopback(listen.host)) {
    refuse(
      context,
      "a loopback address such as 127.0.0.1:9740, or http.auth with tokens or users, or `auth: none` to let anyone who can reach the address do everything",
      { path: ["listen"], found: "an address that others can reach, but no http.auth" },
    );
  }
  return { ...listen, ...others, auth: auth ?? openAccess };
});
