import { statuses } from "../core/model.ts";
import type { Status } from "../core/model.ts";
import type { Page } from "../core/snapshot/page.ts";
import { escapeLabelValue } from "./exposition-text.ts";

/** A family with series for each server or sandbox. */
export interface ServerFamily {
  readonly name: string;
  readonly help: string;
  readonly of: "server" | "sandbox";
  /** All lines of one server or sandbox, or where they have a tail, all before it. */
  readonly lines: (subject: SubjectText) => string;
  /** What is written after the lines of a server. */
  readonly tail: ((page: Page, server: number) => Uint8Array) | null;
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

/** Past this many distinct texts, or when they are longer, they are encoded again. */
const maxTails = 4_096;
const maxTailBytes = 1_024;

/** In the order in which they are exposed. */
export function createServerFamilies(): readonly ServerFamily[] {
  return [
    {
      name: "sandbox_server_status",
      help: "Whether a server is in a status, 1 for the one that it is in.",
      of: "server",
      lines: (subject) => oneHot(subject, serverLabels(subject)),
      tail: null,
    },
    {
      name: "sandbox_server_info",
      help: "What is known of a server, always 1.",
      of: "server",
      lines: (subject) => `${subject.name}{${serverLabels(subject)},server_name="`,
      tail: createInfoTails(),
    },
    {
      name: "sandbox_server_status_since_timestamp_seconds",
      help: "When a server was first seen in the status that it is in, in seconds since 1970.",
      of: "server",
      lines: (subject) => `${subject.name}{${serverLabels(subject)}} `,
      tail: createSinceTails(),
    },
    {
      name: "sandbox_status",
      help: "Whether a sandbox is in a status, 1 for the one that it is in.",
      of: "sandbox",
      lines: (subject) => oneHot(subject, sandboxLabels(subject)),
      tail: null,
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

/** By their texts: kinds are as many as servers where each has a tag of its own. */
function createInfoTails(): (page: Page, server: number) => Uint8Array {
  const known = new Map<string, Map<string, Uint8Array>>();
  let count = 0;
  const encode = (name: string, benchmark: string): Uint8Array => {
    const bytes = Buffer.from(
      `${escapeLabelValue(name)}",benchmark="${escapeLabelValue(benchmark)}"} 1\n`,
    );
    if (bytes.length > maxTailBytes) return bytes;
    if (++count > maxTails) {
      known.clear();
      count = 1;
    }
    const ofName = known.get(name) ?? new Map<string, Uint8Array>();
    known.set(name, ofName.set(benchmark, bytes));
    return bytes;
  };
  return (page, server) => {
    const { serverName, benchmark } = page.serverKind(server);
    const [name, its] = [serverName ?? "", benchmark ?? ""];
    return known.get(name)?.get(its) ?? encode(name, its);
  };
}

/** Servers change at polls, so many have the moment of one in common. */
function createSinceTails(): (page: Page, server: number) => Uint8Array {
  const known = new Map<number, Uint8Array>();
  const encode = (sinceMs: number): Uint8Array => {
    if (known.size >= maxTails) known.clear();
    const bytes = Buffer.from(`${sinceMs / 1_000}\n`);
    known.set(sinceMs, bytes);
    return bytes;
  };
  let lastMs = 0;
  let last = encode(lastMs);
  return (page, server) => {
    const sinceMs = page.sinceMs(server);
    if (sinceMs === lastMs) return last;
    lastMs = sinceMs;
    last = known.get(sinceMs) ?? encode(sinceMs);
    return last;
  };
}
