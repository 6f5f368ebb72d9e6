import { placeOf } from "./incident.ts";
import type { Subject } from "./incident.ts";
import type { Target } from "../fleet/model.ts";
import type { Rule } from "./rule.ts";
import type { SilenceFacts } from "./silence.ts";

/** What a silence can look at of a rule's condition on a subject. */
export function silenceFacts(
  rule: Pick<Rule, "name" | "severity">,
  target: Target | null,
  subject: Subject,
  {
    benchmark = null,
    tags = [],
  }: { readonly benchmark?: string | null; readonly tags?: readonly string[] },
): SilenceFacts {
  const server = subject.kind === "server" ? subject : null;
  const place = placeOf(target, subject);
  return {
    rule: rule.name,
    severity: rule.severity,
    region: place?.region ?? null,
    key: place?.key ?? null,
    probe: subject.kind === "probe" ? subject.probe : null,
    sandboxId: server?.sandboxId ?? null,
    serverId: server?.serverId ?? null,
    serverName: subject.kind === "pool" ? subject.serverName : (server?.serverName ?? null),
    benchmark,
    tags,
  };
}
