import { z } from "zod";
import { statuses } from "../core/model.ts";
import { groupFields } from "../core/notification.ts";
import { severities, type Hold, type Match } from "../core/rule.ts";
import { Secret } from "../platform/secret.ts";
import { parseWebAddress } from "./address.ts";
import { count, duration, flag, name, oneOf, scalar, settings, text } from "./fields.ts";

const holdSchema = z.union(
  [
    duration("0s").transform((ms): Hold => ({ kind: "duration", ms })),
    settings({ polls: count(1, 1_000_000) }).transform(({ polls }): Hold => ({
      kind: "polls",
      polls,
    })),
  ],
  "a duration such as 30s or 1h30m, or { polls: 3 }",
);

const patternsAllowed = "a name or a list of names, * standing for any characters (numbers quoted)";

const patternsSchema = z.unknown().transform((value, context): readonly string[] => {
  const patterns: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isPattern = (pattern: unknown): pattern is string =>
    typeof pattern === "string" && pattern !== "";
  if (patterns.length > 0 && patterns.every(isPattern)) return patterns;
  const wrong = Array.isArray(value) ? patterns.findIndex((pattern) => !isPattern(pattern)) : -1;
  const path = wrong === -1 ? [] : [wrong];
  context.addIssue({ code: "custom", message: patternsAllowed, path });
  return z.NEVER;
});

const targetMatchSchema = settings({
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
});

const serverMatchSchema = settings({
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
  server_name: patternsSchema.exactOptional(),
  benchmark: patternsSchema.exactOptional(),
  tag: patternsSchema.exactOptional(),
}).transform(({ server_name: serverName, ...rest }): Match =>
  serverName === undefined ? rest : { ...rest, serverName },
);

const common = {
  keep_firing_for: duration("0s").default(0),
  remind_every: duration("1s").optional(),
  receivers: z
    .array(text("the name of a configured receiver"), "a list of receivers")
    .readonly()
    .optional(),
};

interface CommonSettings {
  readonly name: string;
  readonly keep_firing_for: number;
  readonly remind_every?: number | undefined;
  readonly receivers?: readonly string[] | undefined;
}

function commonOf(rule: CommonSettings): {
  readonly name: string;
  readonly keepFiringForMs: number;
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[] | undefined;
} {
  return {
    name: rule.name,
    keepFiringForMs: rule.keep_firing_for,
    remindEveryMs: rule.remind_every ?? null,
    receivers: rule.receivers,
  };
}

const serverRuleSchema = settings({
  name: name(),
  on: z.literal("server"),
  severity: oneOf(severities).default("critical"),
  status: oneOf(statuses),
  for: holdSchema.prefault("0s"),
  match: serverMatchSchema.prefault({}),
  ...common,
}).transform((rule) => ({
  ...commonOf(rule),
  on: rule.on,
  severity: rule.severity,
  status: rule.status,
  for: rule.for,
  match: rule.match,
}));

const targetRuleSchema = settings({
  name: name(),
  on: z.literal("target"),
  severity: oneOf(severities).default("warning"),
  failing: holdSchema,
  match: targetMatchSchema.prefault({}),
  ...common,
}).transform((rule) => ({
  ...commonOf(rule),
  on: rule.on,
  severity: rule.severity,
  failing: rule.failing,
  match: rule.match,
}));

export const ruleSchema = z.discriminatedUnion("on", [serverRuleSchema, targetRuleSchema], {
  error: (issue) =>
    issue.code === "invalid_union"
      ? "server or target (this version does not know rules on pools and probes)"
      : "a mapping",
});

const webAddressAllowed = "an https address without user and password, or url_file beside it";

/** As the standardwebhooks package reads it, which throws for anything else when it signs. */
const signingSecretPattern =
  /^(?:whsec_)?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

const signingSecretAllowed = "whsec_ and 24 to 64 bytes in padded base64, or secret_file beside it";

function readSigningSecret(value: unknown): Secret | undefined {
  const match = typeof value === "string" ? signingSecretPattern.exec(value) : null;
  const bytes = Buffer.from(match?.[1] ?? "", "base64").length;
  return match && bytes >= 24 && bytes <= 64 ? new Secret(match[0]) : undefined;
}

const webhookSchema = settings(
  {
    name: name(),
    type: z.literal("webhook"),
    url: scalar(webAddressAllowed, (value) => {
      const url = typeof value === "string" ? parseWebAddress(value) : undefined;
      return url && new Secret(url.href);
    }),
    allow_http: flag().default(false),
    secret: scalar(signingSecretAllowed, readSigningSecret).optional(),
    group_by: z
      .array(oneOf(groupFields), `a list of ${groupFields.join(", ")}`)
      .readonly()
      .default(["rule", "region", "key"]),
    group_wait: duration("0s").default(5_000),
    send_resolved: flag().default(true),
    max_incidents: count(1, 10_000).default(100),
  },
  ["url_file", "secret_file"],
).transform((receiver) => ({
  name: receiver.name,
  type: receiver.type,
  url: receiver.url,
  secret: receiver.secret ?? null,
  groupBy: receiver.group_by,
  groupWaitMs: receiver.group_wait,
  sendResolved: receiver.send_resolved,
  maxIncidents: receiver.max_incidents,
}));

export const receiverSchema = z.discriminatedUnion("type", [webhookSchema], {
  error: (issue) =>
    issue.code === "invalid_union"
      ? "webhook (this version does not know other types)"
      : "a mapping",
});
