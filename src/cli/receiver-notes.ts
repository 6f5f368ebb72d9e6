import type { ReceiverConfig } from "../config/schema-receivers.ts";

/** The addresses of a service, and the types of receivers that can send to it. */
interface KnownAddress {
  readonly of: string;
  readonly host: RegExp;
  readonly path: RegExp;
  /** The first one is the usual one. */
  readonly types: readonly ReceiverConfig["type"][];
}

const discordHost = /^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/;

/** Of those that match an address, the first one counts. */
const knownAddresses: readonly KnownAddress[] = [
  {
    of: "the part of a Discord webhook that understands Slack",
    host: discordHost,
    path: /^\/api\/.*\/slack\/?$/,
    types: ["slack"],
  },
  { of: "a Discord webhook", host: discordHost, path: /^/, types: ["discord"] },
  {
    of: "a workflow of Slack, which needs a body of its own",
    host: /^hooks\.slack(?:-gov)?\.com$/,
    path: /^\/(?:workflows|triggers)\//,
    types: ["webhook"],
  },
  { of: "a Slack webhook", host: /^hooks\.slack(?:-gov)?\.com$/, path: /^/, types: ["slack"] },
  { of: "Slack's Web API", host: /^slack\.com$/, path: /^\/api\b/, types: ["slack_app"] },
  {
    of: "a webhook of Microsoft Teams",
    host: /(?:^|\.)webhook\.office\.com$|^outlook\.office(?:365)?\.com$/,
    path: /^/,
    types: ["teams"],
  },
  {
    of: "a workflow of Microsoft",
    host: /\.(?:logic\.azure|powerplatform)\.com$/,
    path: /\/workflows\//,
    // Workflows exist for other purposes, too.
    types: ["teams", "webhook", "heartbeat"],
  },
  {
    of: "PagerDuty's Events API",
    host: /^events\.(?:eu\.)?pagerduty\.com$/,
    path: /^/,
    types: ["pagerduty"],
  },
  { of: "Telegram's Bot API", host: /^api\.telegram\.org$/, path: /^/, types: ["telegram"] },
  { of: "ntfy", host: /^ntfy\.sh$/, path: /^/, types: ["ntfy"] },
];

/** What Alertmanager's API begins with, below its address. */
const alertmanagerPath = /\/api\/v[12]\/alerts\/?$/;

/** Notes on receivers whose address is probably that of something else. They do not show it, as it is a secret. */
export function receiverNotes(receivers: readonly ReceiverConfig[]): readonly string[] {
  return receivers.flatMap((receiver) => {
    const note = noteOn(receiver);
    return note === null ? [] : [`receiver ${receiver.name} ${note}`];
  });
}

function noteOn(receiver: ReceiverConfig): string | null {
  const { type } = receiver;
  if (receiver.type === "email") return null;
  const secrets = "urls" in receiver ? receiver.urls : [receiver.url];
  const urls = secrets.map((secret) => new URL(secret.reveal()));
  if (urls.some(({ pathname }) => alertmanagerPath.test(pathname))) {
    return type === "alertmanager"
      ? "has an address that ends in /api/v2/alerts, which sandwatch appends itself: leave it out"
      : `has the type ${type}, but its address is that of Alertmanager's API: set type: alertmanager, and in urls the address without /api/v2/alerts`;
  }
  // It can be made for anything.
  if (receiver.type === "webhook" && receiver.bodyTemplate) return null;
  for (const { hostname, pathname } of urls) {
    const known = knownAddresses.find(
      ({ host, path }) => host.test(hostname) && path.test(pathname),
    );
    if (known && !known.types.includes(type)) {
      return `has the type ${type}, but its address is that of ${known.of}: set type: ${known.types[0]}`;
    }
    if (known?.of === "a Slack webhook" && pathname.length < "/services/T/B/x".length) {
      return "has the address of Slack without the path of a webhook, such as /services/T.../B.../...";
    }
  }
  return null;
}
