import type { Presence } from "../fleet/model.ts";
import { counted } from "../fleet/text.ts";
import { isBlank, shownName } from "../fleet/text.ts";
import type { TargetTrouble } from "./rule.ts";

/** What an incident is about, as texts. Null: its subject has no such thing, or its pool spans several. */
export interface SubjectFacts {
  readonly region: string | null;
  readonly key: string | null;
  readonly sandboxId: string | null;
  readonly serverId: string | null;
  readonly serverName: string | null;
  /** Of a sandbox alone: rules and silences know that of a server, too. */
  readonly benchmark: string | null;
  readonly probe: string | null;
  readonly receiver: string | null;
}

type FactName = keyof SubjectFacts;

export const noSubjectFacts = {
  region: null,
  key: null,
  sandboxId: null,
  serverId: null,
  serverName: null,
  benchmark: null,
  probe: null,
  receiver: null,
} as const;

/** Facts under the names that documents and the store use. */
export function namedFacts(facts: SubjectFacts) {
  return {
    region: facts.region,
    key: facts.key,
    sandbox_id: facts.sandboxId,
    server_id: facts.serverId,
    server_name: facts.serverName,
    benchmark: facts.benchmark,
    probe: facts.probe,
    receiver: facts.receiver,
  };
}

type NamedFacts = ReturnType<typeof namedFacts>;

/** The reverse of {@link namedFacts}. */
export function factsOfNames(named: NamedFacts): SubjectFacts {
  const { sandbox_id: sandboxId, server_id: serverId, server_name: serverName } = named;
  const { region, key, benchmark, probe, receiver } = named;
  return { region, key, sandboxId, serverId, serverName, benchmark, probe, receiver };
}

/** The subjects of one message. */
interface SubjectGroup {
  readonly all: readonly [SubjectFacts, ...SubjectFacts[]];
  /** Such as "in error". */
  readonly condition: string;
  readonly isOver: boolean;
  /** Region and key, as far as all share them. */
  readonly where: string;
  readonly isOneRegion: boolean;
  readonly isOneKey: boolean;
}

interface KindOfSubject {
  /** The facts that identify it, within its target if it has one. */
  readonly ids: readonly FactName[];
  /** The same; null: it spans all. */
  readonly scope: readonly FactName[];
  /** The facts that can change. */
  readonly details: readonly FactName[];
  /** An incident's condition in words, as in "2 servers in error". */
  readonly condition: (status: Presence | null, trouble: TargetTrouble) => string;
  /** The subject for a person, without its region and key; empty: these are its name. */
  readonly name: (facts: SubjectFacts) => string;
  /** What holds for some: "2 github servers in error in us/research". */
  readonly statement: (group: SubjectGroup) => string;
  /** Names one of several. Names that are `counted` follow with their numbers, as in "3 github, 2 slack". */
  readonly listed?: (facts: SubjectFacts, group: SubjectGroup) => string;
  readonly isCounted?: boolean;
  /** One cause usually reaches incidents that differ in this. */
  readonly spans?: (trouble: TargetTrouble | null) => "region" | "key";
  /** The page that shows it: its path and what links to it are called. */
  readonly page?: { readonly path: string; readonly text: string };
}

export const subjectKinds = [
  "server",
  "sandbox",
  "target",
  "region",
  "pool",
  "sandbox_pool",
  "probe",
  "receiver",
] as const;
export type SubjectKind = (typeof subjectKinds)[number];

function textsOfPools(
  pooled: "servers" | "sandboxes",
): Pick<KindOfSubject, "condition" | "name" | "statement"> {
  const name = ({ serverName }: Pick<SubjectFacts, "serverName">): string =>
    `${pooled}${isBlank(serverName) ? "" : ` named ${shownName(serverName ?? "")}`}`;
  return {
    condition: () => "beyond the limit",
    name,
    statement({ all, condition, where }) {
      const pools = all.length === 1 ? name(all[0]) : counted(all.length, "pool");
      return `${pools}${where === "" ? "" : ` in ${where}`} ${condition}`;
    },
  };
}

/** All that differs between kinds of subjects. A new kind is one more entry. */
const kinds = {
  server: {
    ids: ["sandboxId", "serverId"],
    scope: [],
    details: ["serverName"],
    condition: (status) => conditionOfStatus(status ?? "unknown"),
    name: serverText,
    statement({ all, condition, where }) {
      const [{ serverName }] = all;
      const [name = "", ...others] = new Set(all.map(shownServerName));
      const isNamed = !isBlank(serverName);
      const servers =
        others.length > 0 || !(all.length === 1 || isNamed)
          ? counted(all.length, "server")
          : isNamed
            ? counted(all.length, `${name} server`)
            : `server ${name}`;
      return `${servers} ${condition} in ${where}`;
    },
    listed: shownServerName,
    isCounted: true,
    page: { path: "server", text: "Server" },
  },
  sandbox: {
    ids: ["sandboxId"],
    scope: [],
    details: ["benchmark"],
    condition: (status) => conditionOfStatus(status ?? "unknown"),
    name: ({ sandboxId }) => `sandbox ${shownName(sandboxId ?? "")}`,
    statement({ all, condition, where }) {
      const [{ sandboxId }, ...others] = all;
      const sandboxes =
        others.length > 0
          ? counted(all.length, "sandbox", "sandboxes")
          : `sandbox ${shownName(sandboxId ?? "")}`;
      return `${sandboxes} ${condition} in ${where}`;
    },
    page: { path: "sandbox", text: "Sandbox" },
  },
  target: {
    ids: [],
    scope: [],
    details: [],
    condition: (_, trouble) => conditionsOfTarget[trouble],
    name: () => "",
    statement: ({ all, condition, where }) =>
      all.length === 1
        ? `${where} ${condition}`
        : `${counted(all.length, "target")} ${condition} in ${where}`,
    listed: ({ region, key }, { isOneRegion, isOneKey }) =>
      placeText({ region: isOneRegion ? null : region, key: isOneKey ? null : key }),
    spans: (trouble) => (trouble === "auth" ? "region" : "key"),
  },
  region: {
    ids: ["region"],
    scope: [],
    details: [],
    condition: () => "failing",
    name: () => "",
    statement: ({ all, condition, isOver, where }) =>
      all.length === 1
        ? `${where}${isOver ? "" : ":"} ${condition}`
        : `${counted(all.length, "region")} ${condition === flappingCondition ? condition : "failing"}`,
    listed: ({ region }) => region ?? "",
    spans: () => "region",
  },
  pool: {
    ids: [],
    scope: ["region", "key", "serverName"],
    details: [],
    ...textsOfPools("servers"),
  },
  sandbox_pool: { ids: [], scope: ["region", "key"], details: [], ...textsOfPools("sandboxes") },
  probe: {
    ids: ["probe", "region", "key"],
    scope: [],
    details: [],
    condition: () => "failing",
    name: ({ probe }) => `probe ${probe ?? ""}`,
    statement({ all, condition, where }) {
      const [name, ...others] = new Set(all.map(({ probe }) => probe));
      const probes = others.length > 0 ? counted(all.length, "probe") : `probe ${name ?? ""}`;
      return `${probes} ${condition} in ${where}`;
    },
  },
  receiver: {
    ids: ["receiver"],
    scope: [],
    details: [],
    condition: () => "not accepting notifications",
    name: ({ receiver }) => `receiver ${receiver ?? ""}`,
    statement: ({ all, condition }) =>
      all.length === 1
        ? `receiver ${all[0].receiver ?? ""} ${condition}`
        : `${counted(all.length, "receiver")} ${condition}`,
    listed: ({ receiver }) => receiver ?? "",
  },
} as const satisfies Readonly<Record<SubjectKind, KindOfSubject>>;

type Facts<
  Kind extends SubjectKind,
  List extends "ids" | "scope" | "details",
> = (typeof kinds)[Kind][List][number];

export type SubjectOf<Kind extends SubjectKind> = { readonly kind: Kind } & {
  readonly [Fact in Facts<Kind, "ids">]: string;
} & { readonly [Fact in Facts<Kind, "scope" | "details">]: string | null };

export type ServerSubject = SubjectOf<"server">;
export type SandboxSubject = SubjectOf<"sandbox">;
/** The servers or sandboxes that are alike in what the rule pools `by`; null: the rule is not by it. */
export type PoolSubject = SubjectOf<"pool"> | SubjectOf<"sandbox_pool">;
export type ProbeSubject = SubjectOf<"probe">;

/** What an incident is about. One of a server, a sandbox or a target belongs to a target, which it does not name. */
export type Subject = { [Kind in SubjectKind]: SubjectOf<Kind> }[SubjectKind];

export function isPool(subject: Subject): subject is PoolSubject {
  return subject.kind === "pool" || subject.kind === "sandbox_pool";
}

export function kindOf(subject: SubjectKind): KindOfSubject {
  return kinds[subject];
}

/** @throws {TypeError} when the facts do not identify a subject of this kind */
export function subjectOf(kind: SubjectKind, facts: SubjectFacts): Subject {
  const { ids, scope, details }: KindOfSubject = kinds[kind];
  const own = [...ids, ...scope, ...details].map((fact) => [fact, facts[fact]]);
  const subject = { ...Object.fromEntries(own), kind };
  if (isSubject(subject)) return subject;
  throw new TypeError(`the facts of a ${kind} are incomplete`);
}

function isSubject(
  subject: { readonly kind: SubjectKind } & Partial<SubjectFacts>,
): subject is Subject {
  return kindOf(subject.kind).ids.every((fact) => typeof subject[fact] === "string");
}

/** Identifies a subject among those of its kind, within its target if it has one. */
export function identityOf(
  kind: SubjectKind,
  facts: Partial<SubjectFacts> & { readonly kind?: SubjectKind },
) {
  const { ids, scope }: KindOfSubject = kinds[kind];
  return [...ids, ...scope].map((fact) => facts[fact] ?? null);
}

/** Such as "us/research", "us" or "research"; empty for what is in no region. */
export function placeText({ region, key }: Pick<SubjectFacts, "region" | "key">): string {
  return [region, key].filter((part) => part !== null).join("/");
}

/** For a person: "github (4f2a91c0) in sandbox 77ab in us/research". */
export function subjectText(kind: SubjectKind, facts: SubjectFacts): string {
  const { sandboxId, serverId } = facts;
  const sandbox = serverId !== null && `sandbox ${shownName(sandboxId ?? "")}`;
  return [kinds[kind].name(facts), sandbox, placeText(facts)].filter(Boolean).join(" in ");
}

/** The condition of what flaps, in words. */
export const flappingCondition = "flapping";

export const conditionsOfTarget: Readonly<Record<TargetTrouble, string>> = {
  failing: "down",
  auth: "refused by the service",
  partial: "partially listed",
};

export function conditionOfStatus(status: Presence): string {
  return status === "error" ? "in error" : status;
}

/** Such as "github (4f2a91c0)". */
export function serverText({
  serverId,
  serverName,
}: Pick<SubjectFacts, "serverId" | "serverName">): string {
  const shortId = shownName(serverId?.slice(0, 8) ?? "");
  return isBlank(serverName) ? shortId : `${shownName(serverName ?? "")} (${shortId})`;
}

/** A server without a name is known by its id. */
export function nameOrId({
  serverId,
  serverName,
}: Pick<SubjectFacts, "serverId" | "serverName">): string | null {
  return isBlank(serverName) ? serverId : serverName;
}

export function shownServerName(facts: SubjectFacts): string {
  return shownName(nameOrId(facts) ?? "");
}
