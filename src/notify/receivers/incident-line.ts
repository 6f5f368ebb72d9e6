import type { ToldIncident } from "../../core/notification.ts";
import { isBlank, longestName, readable } from "../../core/readable.ts";

/**
 * What an incident is about and what was seen, in plain words without its times: "github (4f2a91c0)
 * in sandbox 77ab in us (research): error, was occupied".
 */
export function incidentLine(incident: ToldIncident): string {
  return [`${subject(incident)}${seen(incident)}`, ...notes(incident)].join(", ");
}

function subject(incident: ToldIncident): string {
  const where = place(incident);
  switch (incident.subject) {
    case "server": {
      const sandbox = `sandbox ${readable(incident.sandboxId ?? "", longestName)}`;
      return `${server(incident)} in ${[sandbox, where].filter(Boolean).join(" in ")}`;
    }
    case "target":
      return where;
    case "pool": {
      const name = incident.serverName;
      const servers = name === null ? "servers" : `servers named ${readable(name, longestName)}`;
      return where === "" ? servers : `${servers} in ${where}`;
    }
    case "probe":
      return [`probe ${incident.probe ?? ""}`, where].filter(Boolean).join(" in ");
    case "receiver":
      return `receiver ${incident.receiver ?? ""}`;
  }
}

function server({ serverName, serverId }: ToldIncident): string {
  const shortId = readable(serverId?.slice(0, 8) ?? "", 8);
  return serverName === null || isBlank(serverName)
    ? shortId
    : `${readable(serverName, longestName)} (${shortId})`;
}

function place({ region, key }: ToldIncident): string {
  if (region === null) return key ?? "";
  return key === null ? region : `${region} (${key})`;
}

function seen({ status, previousStatus }: ToldIncident): string {
  if (status === null) return "";
  return previousStatus === null ? `: ${status}` : `: ${status}, was ${previousStatus}`;
}

function notes({ flapping, acknowledgedBy, resolvedReason }: ToldIncident): readonly string[] {
  return [
    ...(flapping ? ["flapping"] : []),
    ...(acknowledgedBy === null
      ? []
      : [`acknowledged by ${readable(acknowledgedBy, longestName)}`]),
    ...(resolvedReason === null ? [] : [resolvedWords[resolvedReason]]),
  ];
}

const resolvedWords = {
  recovered: "recovered",
  gone: "gone",
  silenced: "silenced",
  rule_removed: "no rule is about it any more",
} as const;

/** Whether the alert ended without the condition being seen to end. */
export function endedUnseen({ resolvedReason }: ToldIncident): boolean {
  return resolvedReason === "silenced" || resolvedReason === "rule_removed";
}
