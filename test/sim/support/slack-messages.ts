import { createHash } from "node:crypto";
import { slackMessageSchema } from "../../notify/support/slack-message.ts";
import { webhookBodySchema } from "../../support/webhook-body.ts";
import type { Attempt } from "../history.ts";
import type { VirtualRequest } from "./virtual-network.ts";

type Incident = Attempt["message"]["data"]["incidents"][number];

const header =
  /^\S+ (Firing|Still firing|Acknowledged|Resolved|Alert ended)(?:, flapping)? \((\w+)\): (\S+)$/;
const shownDate = /<!date\^\d+\^\{date_short_pretty\} \{time_secs\}\|([^>]+)>/g;
const serverLine = /^• (.*) \((\S+)\) in sandbox (\S+) in (\S+) \((\S+)\)/;
const targetLine = /^• (\S+) \((\S+)\)/;
const receiverLine = /^• receiver ([^\s:,;]+)/;

const types = {
  Firing: "incident.firing",
  "Still firing": "incident.reminder",
  Acknowledged: "incident.acknowledged",
  Resolved: "incident.resolved",
  "Alert ended": "incident.resolved",
} as const;

/**
 * A message for Slack as the message that it stands for. It names no ids: `nameIncidents` finds out which
 * incidents it speaks of.
 *
 * @throws {Error} when Slack would refuse it, or when it links or mentions anything
 */
export function readSlackMessage({
  headers,
  body,
}: VirtualRequest): Pick<Attempt, "webhookId" | "message"> {
  if (!headers["content-type"]?.startsWith("application/json")) throw new Error("it is not JSON");
  const { text, blocks } = slackMessageSchema.parse(JSON.parse(body));
  const texts = blocks.flatMap((block) =>
    "fields" in block ? block.fields : "elements" in block ? block.elements : [block.text],
  );
  const all = texts.map((each) => each.text);
  if ([text, ...all].some((each) => /<(?!!date\^)/.test(each)))
    throw new Error("it mentions or links");
  const [, words = "", severity, rule = ""] = header.exec(all[0] ?? "") ?? [];
  const type = Object.entries(types).find(([name]) => name === words)?.[1];
  const lines = all.flatMap((each) => each.split("\n")).filter((line) => line.startsWith("• "));
  const observed = all.find((each) => each.startsWith("observed "));
  const message = webhookBodySchema.parse({
    type,
    timestamp: datesIn(observed ?? "")[0],
    data: {
      rule,
      severity,
      group: {},
      summary: text.replace(late, ""),
      incidents: lines.map((line) => readLine(rule, line)),
      truncated: 0,
    },
  });
  const webhookId = createHash("sha256").update(body.replaceAll(late, "")).digest("hex");
  return { webhookId, message };
}

const late = /Late by [0-9dhm]+: /g;

function datesIn(text: string): readonly (string | undefined)[] {
  return Array.from(text.matchAll(shownDate), ([, iso]) => iso);
}

const reasons: ReadonlyMap<string | undefined, Incident["resolved_reason"]> = new Map([
  ["recovered", "recovered"],
  ["gone", "gone"],
  ["silenced", "silenced"],
  ["no rule applies to it any more", "rule_removed"],
]);

function reasonIn(line: string): Incident["resolved_reason"] {
  const reason = reasons.get(/[,:)] ([^,;:)]+); from <[^;]*$/.exec(line)?.[1]);
  if (reason === undefined) throw new Error(`it does not say why it is over: ${line}`);
  return reason;
}

function readLine(rule: string, line: string): unknown {
  const [startedAt, resolvedAt = null] = datesIn(line);
  const [, serverName = null, serverId = null, sandboxId = null, ...place] =
    serverLine.exec(line) ?? [];
  const receiver = receiverLine.exec(line)?.[1];
  const [, ...targetPlace] = receiver === undefined ? (targetLine.exec(line) ?? []) : [];
  const [region = null, key = null] = serverId === null ? targetPlace : place;
  const known = {
    region,
    key,
    sandbox_id: sandboxId,
    server_id: serverId,
    started_at: startedAt ?? "",
    ...(receiver !== undefined && { receiver }),
  };
  return {
    ...known,
    id: keyOf(rule, known),
    state: resolvedAt === null ? "firing" : "resolved",
    subject: receiver !== undefined ? "receiver" : serverId === null ? "target" : "server",
    server_name: serverName,
    status: null,
    previous_status: null,
    resolved_at: resolvedAt,
    resolved_reason: resolvedAt === null ? null : reasonIn(line),
  };
}

type Known = Pick<Incident, "region" | "key" | "sandbox_id" | "server_id" | "started_at"> & {
  readonly receiver?: string | undefined;
};

/** Where nothing is silenced, no two incidents of a rule about the same begin at once. */
function keyOf(rule: string, incident: Known): string {
  const { region, key, sandbox_id: box, server_id: server, receiver = "" } = incident;
  return [rule, region, key, box, server, receiver, incident.started_at].join(" ");
}

/** The attempts with the ids that receivers of other types were told. */
export function nameIncidents(
  attempts: readonly Attempt[],
  isSlack: (receiver: string) => boolean,
): readonly Attempt[] {
  const ids = new Map<string, string>();
  for (const { receiver, message } of attempts) {
    if (isSlack(receiver)) continue;
    for (const incident of message.data.incidents) {
      ids.set(keyOf(message.data.rule, incident), incident.id);
    }
  }
  const name = (incident: Incident): Incident => ({
    ...incident,
    id: ids.get(incident.id) ?? incident.id,
  });
  return attempts.map((attempt) => {
    if (!isSlack(attempt.receiver)) return attempt;
    const { message } = attempt;
    const data = { ...message.data, incidents: message.data.incidents.map(name) };
    return { ...attempt, message: { ...message, data } };
  });
}
