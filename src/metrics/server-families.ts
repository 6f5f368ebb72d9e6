import { statuses } from "../core/model.ts";
import type { Status } from "../core/model.ts";
import type { StampPress } from "../platform/stamping/stamp-press.ts";
import { InfoTails, SinceTails } from "./server-tails.ts";
import type { ServerTails } from "./server-tails.ts";

/** A family with series for each server or sandbox. */
export interface ServerFamily {
  readonly name: string;
  readonly help: string;
  readonly of: "server" | "sandbox";
  /** All lines of one server or sandbox, or where they have a tail, all before it. */
  readonly lines: (subject: SubjectText) => string;
  /** Of servers alone: what is written after the lines of each. */
  readonly tails: ((press: StampPress) => ServerTails) | null;
}

/** All texts escaped. */
export interface SubjectText {
  readonly name: string;
  /** The target's labels, without braces. */
  readonly labels: string;
  readonly sandbox: string;
  /** Nothing, of a sandbox. */
  readonly server: string;
  readonly status: Status;
}

/** In the order in which they are exposed. */
export function createServerFamilies(): readonly ServerFamily[] {
  return [
    {
      name: "sandbox_server_status",
      help: "Whether a server is in a status, 1 for the one that it is in.",
      of: "server",
      lines: (subject) => oneHot(subject, serverLabels(subject)),
      tails: null,
    },
    {
      name: "sandbox_server_info",
      help: "What is known of a server, always 1.",
      of: "server",
      lines: (subject) => `${subject.name}{${serverLabels(subject)},server_name="`,
      tails: (press) => new InfoTails(press),
    },
    {
      name: "sandbox_server_status_since_timestamp_seconds",
      help: "When a server was first seen in the status that it is in, in seconds since 1970.",
      of: "server",
      lines: (subject) => `${subject.name}{${serverLabels(subject)}} `,
      tails: (press) => new SinceTails(press),
    },
    {
      name: "sandbox_status",
      help: "Whether a sandbox is in a status, 1 for the one that it is in.",
      of: "sandbox",
      lines: (subject) => oneHot(subject, sandboxLabels(subject)),
      tails: null,
    },
  ];
}

function sandboxLabels({ labels, sandbox }: SubjectText): string {
  return `${labels},sandbox="${sandbox}"`;
}

function serverLabels(subject: SubjectText): string {
  return `${sandboxLabels(subject)},server="${subject.server}"`;
}

function oneHot({ name, status }: SubjectText, labels: string): string {
  return statuses
    .map((each) => `${name}{${labels},status="${each}"} ${each === status ? 1 : 0}\n`)
    .join("");
}
