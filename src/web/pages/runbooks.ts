import type { RunbookName } from "../../alerts/links.ts";

/** What a person does about an incident: the text of its page. Words between backticks are code. */
export interface Runbook {
  readonly name: RunbookName;
  /** What is wrong, as a heading. */
  readonly title: string;
  readonly means: string;
  readonly look: readonly Step[];
  readonly act: readonly Step[];
  /** When the incident resolves. */
  readonly ends: string;
}

/** What to do, and the command for it. Commands need `--config` or `--url` as everywhere. */
export interface Step {
  readonly text: string;
  readonly command?: string;
}

/** By the names under which messages link to them: those of the default rules where there is one. */
export const runbooks: readonly Runbook[] = [
  {
    name: "server-error",
    title: "A server is in error",
    means:
      "The service reports servers in `error`. Calls of their tools fail, and so does what runs in their sandboxes. The message says how many of how many servers are affected.",
    look: [
      {
        text: "Is it one server, one name, one region, or nearly all? A common name points to the server's image or its upstream, a common region to the deployment.",
        command: "sandwatch incidents --state firing",
      },
      {
        text: "What happened to one of them before? One that was in error often has a fault of its own.",
        command: "sandwatch explain SERVER",
      },
    ],
    act: [
      {
        text: "Have the service restart or replace the server, and inform the owner of the sandbox.",
      },
      {
        text: "Take the incident, so that others know and reminders stop.",
        command: "sandwatch ack INCIDENT --author YOU --for 4h",
      },
      {
        text: "If the cause is known and will last, silence it for that time.",
        command: "sandwatch silence add INCIDENT --for 2h --author YOU --reason WHY",
      },
    ],
    ends: "It resolves when a poll shows the server in another known status, or when the server is gone. A status that the service does not state is no recovery.",
  },
  {
    name: "sandbox-error",
    title: "A sandbox is in error",
    means:
      "A sandbox itself states that it is in `error`, and none of its servers explains that: while an incident of one of them fires, this one is not notified.",
    look: [
      { text: "Which sandboxes are in error?", command: "sandwatch sandboxes --status error" },
      {
        text: "What happened to the sandbox and to its servers before?",
        command: "sandwatch explain SANDBOX",
      },
    ],
    act: [
      { text: "Have the service restart or replace the sandbox, and inform its owner." },
      {
        text: "Take the incident, so that others know and reminders stop.",
        command: "sandwatch ack INCIDENT --author YOU --for 4h",
      },
      {
        text: "For planned work, silence the sandbox with all of its servers.",
        command: "sandwatch silence add --sandbox SANDBOX --for 2h --author YOU --reason WHY",
      },
    ],
    ends: "It resolves when a poll shows the sandbox in another known status, or when the sandbox is gone.",
  },
  {
    name: "key-refused",
    title: "The service refuses a key",
    means:
      "The service answers polls with this key by HTTP 401 or 403: it was revoked, has expired, or is not valid in the region. Nothing that belongs to it is observed, and its open incidents do not resolve.",
    look: [
      { text: "Is it refused in one region or in all?", command: "sandwatch targets" },
      {
        text: "Is it refused at this moment, too? This polls every target once, stores nothing, and says what to do.",
        command: "sandwatch poll",
      },
    ],
    act: [
      {
        text: "Put a valid key into the configuration or into its file, and reload. A key from the environment or from a systemd credential needs a restart.",
        command: "sandwatch reload",
      },
      { text: "If the key was revoked on purpose, remove it from the configuration and reload." },
    ],
    ends: "It resolves at the first poll that the service accepts. A refused key is tried again after at most five minutes, and at once after a reload.",
  },
  {
    name: "target-down",
    title: "A target is down",
    means:
      "Polls of a region with a key fail. The servers there are not observed: new errors are not noticed, and open incidents do not resolve.",
    look: [
      {
        text: "Why do they fail, and do other keys work in the region?",
        command: "sandwatch targets",
      },
      {
        text: "Do they fail at this moment, too? This polls every target once, stores nothing, and says what to do.",
        command: "sandwatch poll",
      },
      {
        text: "`timeout`, `network`: the network or the service. `server_error`, `http_error`, `rate_limited`: the service. `too_large`: `poll.max_body`. `invalid_body`: the service changed, or a proxy answers for it.",
      },
    ],
    act: [
      {
        text: "If other keys work in the region, the key or its account is the problem. If none does, inform the operator of the region and watch it by other means until then.",
      },
      {
        text: "Take the incident, so that others know and reminders stop.",
        command: "sandwatch ack INCIDENT --author YOU --for 4h",
      },
    ],
    ends: "It resolves at the first poll that succeeds. Servers that are in error then are notified then.",
  },
  {
    name: "target-partial",
    title: "Listings are partial",
    means:
      "The service answers, but not with everything: fewer sandboxes than `total_count`, entries that cannot be read, or no readable count. What is listed is observed. What is missing is not, and is never taken for gone.",
    look: [
      { text: "What is missing or unreadable?", command: "sandwatch poll" },
      { text: "How do its answers differ from the interface?", command: "sandwatch drift" },
    ],
    act: [
      {
        text: "Inform the operator of the service, with the output of these commands. It contains no secrets.",
      },
      {
        text: "If it is known and will last, silence it for that time.",
        command: "sandwatch silence add INCIDENT --for 24h --author YOU --reason WHY",
      },
    ],
    ends: "It resolves at the first complete listing.",
  },
  {
    name: "region-down",
    title: "A region fails",
    means:
      "Polls of at least half of the keys of a region fail, and of at least two. The message says how many of how many keys, and how many servers are not observed for it. The failures of its targets are not notified one by one.",
    look: [
      {
        text: "Which keys fail, why, and since when?",
        command: "sandwatch targets --region REGION",
      },
      {
        text: "Is the region's address reachable from here? If other regions fail, too, the fault may be on this side: the network, DNS, a proxy.",
        command: "sandwatch doctor",
      },
    ],
    act: [
      {
        text: "Inform the operator of the region. Until then nothing in it is observed: watch it by other means.",
      },
      {
        text: "Take the incident, so that others know and reminders stop.",
        command: "sandwatch ack INCIDENT --author YOU --for 4h",
      },
    ],
    ends: "It resolves when fewer than two keys fail alike. A key that still fails is notified then.",
  },
  {
    name: "pool",
    title: "A pool is beyond its limit",
    means:
      "A measure of a group of servers or sandboxes, such as the share of occupied ones, is above or below the limit of its rule.",
    look: [
      {
        text: "Which servers of the pool are in which status?",
        command: "sandwatch servers --region REGION",
      },
      {
        text: "Is it a peak or a trend? Are some in `error`, so that fewer are left?",
        command: "sandwatch report --by server_name --from 7d",
      },
    ],
    act: [
      {
        text: "Have servers added, or find who occupies them. Servers that never change may be stuck.",
        command: "sandwatch changes --region REGION",
      },
    ],
    ends: "It resolves when a complete observation shows the measure within the limit.",
  },
  {
    name: "probe",
    title: "A probe fails",
    means:
      "A scheduled call of one operation fails, or its response is not the expected one, although polls may succeed.",
    look: [
      { text: "What failed, where, and how long did it take?", command: "sandwatch probes" },
      {
        text: "Does its target fail, too? Then that is the cause.",
        command: "sandwatch targets",
      },
    ],
    act: [
      {
        text: "Inform the operator of the service. If the expectation is out of date, change the probe and reload.",
        command: "sandwatch reload",
      },
    ],
    ends: "It resolves at the first run that meets all expectations.",
  },
  {
    name: "receiver-failing",
    title: "A receiver takes no notifications",
    means:
      "A notification could not be delivered within `give_up_after`, or was refused for good. It is kept as a dead letter. Nobody who relies on this receiver alone is paged.",
    look: [
      {
        text: "What was not delivered, and what did the receiver answer?",
        command: "sandwatch notifications list --state dead",
      },
      {
        text: "Does it take a message now?",
        command: "sandwatch test-receiver RECEIVER",
      },
    ],
    act: [
      { text: "Mend the receiver, or its address or secret in the configuration, and reload." },
      {
        text: "Send what was not delivered, unless it is out of date.",
        command: "sandwatch notifications replay SEQ",
      },
    ],
    ends: "It resolves when the receiver accepts a notification.",
  },
];

export function titleOfRunbook(name: RunbookName): string {
  return runbooks.find((each) => each.name === name)?.title ?? name;
}
