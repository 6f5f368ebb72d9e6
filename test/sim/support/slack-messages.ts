import { createHash } from "node:crypto";
import { slackMessageSchema } from "../../notify/support/slack-message.ts";
import { webhookBodySchema } from "../../support/webhook-body.ts";
import type { Attempt, Message } from "../history.ts";
import type { ReadMessage } from "./received-messages.ts";

type Incident = Message["data"]["incidents"][number];

const header =
  /^\S+ (Firing|Still firing|Acknowledged|Resolved|Alert ended)(?:, flapping)? \((\w+)\): (\S+)$/;
const shownDate = /<!date\^\d+\^\{date_short_pretty\} \{time_secs\}\|([^>]+)>/g;
const serverLine = /^• (.*) \((\S+)\) in sandbox (\S+) in (\S+) \((\S+)\)/;
const targetLine = /^• (\S+) \((\S+)\)/;
const receiverLine = /^• receiver ([^\s:,;]+)/;
const late = /Late by [0-9dhm]+: /g;

const types: ReadonlyMap<string, Message["type"]> = new Map([
  ["Firing", "incident.firing"],
  ["Still firing", "incident.reminder"],
  ["Acknowledged", "incident.acknowledged"],
  ["Resolved", "incident.resolved"],
  ["Alert ended", "incident.resolved"],
]);

const reasons: ReadonlyMap<string | undefined, Incident["resolved_reason"]> = new Map([
  ["recovered", "recovered"],
  ["gone", "gone"],
  ["silenced", "silenced"],
  ["no rule applies to it any more", "rule_removed"],
]);

/**
 * A message for Slack as the message that it stands for. It names no ids: `nameIncidents` finds out which
 * incidents it is about.
 */
export const readSlackMessage: ReadMessage = ({ headers, body }) => {
  if (!headers["content-type"]?.startsWith("application/json")) throw new Error("it is not JSON");
  const { text, blocks } = slackMessageSchema.parse(JSON.parse(body));
  const texts = blocks
    .flatMap((block) =>
      "fields" in block ? block.fields : "elements" in block ? block.elements : [block.text],
    )
    .map((each) => each.text);
  if ([text, ...texts].some((each) => /<(?!!date\^)/.test(each)))
    throw new Error("it mentions or links");
  const [, words = "", severity, rule = ""] = header.exec(texts[0] ?? "") ?? [];
  const lines = texts.flatMap((each) => each.split("\n")).filter((line) => line.startsWith("• "));
  const observed = texts.find((each) => each.startsWith("observed ")) ?? "";
  const message = webhookBodySchema.parse({
    type: types.get(words),
    timestamp: datesIn(observed)[0],
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
};

function datesIn(text: string): readonly (string | undefined)[] {
  return Array.from(text.matchAll(shownDate), ([, iso]) => iso);
}

function readLine(rule: string, line: string): unknown {
  const [startedAt = "", resolvedAt = null] = datesIn(line);
  const [, serverName = null, serverId = null, sandboxId = null, ...ofServer] =
    serverLine.exec(line) ?? [];
  const receiver = receiverLine.exec(line)?.[1];
  const [, ...ofTarget] = receiver === undefined ? (targetLine.exec(line) ?? []) : [];
  const [region = null, key = null] = serverId === null ? ofTarget : ofServer;
  const known = {
    region,
    key,
    sandbox_id: sandboxId,
    server_id: serverId,
    started_at: startedAt,
    ...(receiver !== undefined && { receiver }),
  };
  const reason = reasons.get(/[,:)] ([^,;:)]+); from <[^;]*$/.exec(line)?.[1]);
  if (resolvedAt !== null && reason === undefined) throw new Error(`without a reason: ${line}`);
  return {
    ...known,
    id: identityOf(rule, known),
    state: resolvedAt === null ? "firing" : "resolved",
    subject: receiver !== undefined ? "receiver" : serverId === null ? "target" : "server",
    server_name: serverName,
    status: null,
    previous_status: null,
    resolved_at: resolvedAt,
    resolved_reason: resolvedAt === null ? null : reason,
  };
}

type Known = Pick<Incident, "region" | "key" | "sandbox_id" | "server_id" | "started_at"> & {
  readonly receiver?: string | undefined;
};

/** Where nothing is silenced, no two incidents of a rule about the same subject begin at once. */
function identityOf(rule: string, incident: Known): string {
  const { region, key, sandbox_id: box, server_id: server, receiver = "" } = incident;
  return [rule, region, key, box, server, receiver, incident.started_at].join(" ");
}

/** The attempts, with the incident ids of other receivers' messages in those for Slack. */
export function nameIncidents(
  attempts: readonly Attempt[],
  isSlack: (receiver: string) => boolean,
): readonly Attempt[] {
  const ids = new Map<string, string>();
  for (const { receiver, message } of attempts) {
    const { rule, incidents } = message.data;
    for (const each of isSlack(receiver) ? [] : incidents) ids.set(identityOf(rule, each), each.id);
  }
  return attempts.map((attempt) => {
    const { receiver, message } = attempt;
    if (!isSlack(receiver)) return attempt;
    const incidents = message.data.incidents.map((each) => ({
      ...each,
      id: ids.get(each.id) ?? each.id,
    }));
    return { ...attempt, message: { ...message, data: { ...message.data, incidents } } };
  });
}
