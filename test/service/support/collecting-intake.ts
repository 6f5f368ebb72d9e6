import type { BodyMark, ListingIntake } from "../../../src/core/listing-intake.ts";
import { statuses as allStatuses } from "../../../src/core/model.ts";
import type { ListedSandbox, ListedServer, Status } from "../../../src/core/model.ts";
import { markWords, readMark, writeMark } from "../../../src/core/text-mark.ts";
import type { TextMark } from "../../../src/core/text-mark.ts";
import { worseOf } from "../../../src/core/worse-of.ts";

export interface MarkedSandbox {
  readonly sandbox: ListedSandbox;
  /** Null for what was listed several times, too: no one text tells of it. */
  readonly mark: TextMark | null;
}

/** Takes a listing in as it is, and counts what it was told. */
export interface CollectingIntake extends ListingIntake {
  readonly taken: () => readonly MarkedSandbox[];
  readonly sandboxes: () => readonly ListedSandbox[];
  /** The body that it came in, if it can be known again. */
  readonly body: () => BodyMark | null;
  readonly calls: { same: number; moved: number; listed: number; restart: number };
}

/** Expects the sandboxes of the listing before in their order, and after any of them the next one. */
export function createCollectingIntake(
  before: readonly MarkedSandbox[] = [],
  knownBody: BodyMark | null = null,
): CollectingIntake {
  const positions = new Map(before.map(({ sandbox }, at) => [sandbox.sandboxId, at]));
  const taken = new Map<string, MarkedSandbox>();
  const calls = { same: 0, moved: 0, listed: 0, restart: 0 };
  let position = 0;
  let body: BodyMark | null = null;

  const sandboxes = () => Array.from(taken.values(), ({ sandbox }) => sandbox);
  return {
    calls,
    taken: () => [...taken.values()],
    sandboxes,
    body: () => body,
    knownBody,
    sameBody() {
      if (!knownBody || taken.size > 0) throw new TypeError("no body was known");
      for (const each of before) taken.set(each.sandbox.sandboxId, each);
      body = knownBody;
    },
    cameIn(mark) {
      body = mark;
    },
    expectedTexts(into, most) {
      for (let count = 0; count < most; count++) {
        const next = before[position + count];
        if (!next?.mark || taken.has(next.sandbox.sandboxId)) return count;
        writeMark(into, count * markWords, next.mark);
      }
      return most;
    },
    takeTexts(count, { marks, given, statuses }) {
      let told = 0;
      for (let text = 0; text < count; text++) {
        const next = before[position + text];
        if (!next?.mark) throw new TypeError("no sandbox was expected");
        calls.same++;
        const mark = readMark(marks, text * markWords);
        const begin = told;
        told += Math.max(0, (given[text] ?? 0) - 1);
        const sandbox = restated(next, Array.from(statuses.subarray(begin, told), statusOf));
        taken.set(sandbox.sandboxId, given[text] === 0 ? next : { sandbox, mark });
      }
      position += count;
    },
    moved(length, hash) {
      const at = before.findIndex(({ mark }) => mark?.length === length && mark.hash === hash);
      const known = before[at];
      if (!known?.mark || taken.has(known.sandbox.sandboxId)) return null;
      calls.moved++;
      taken.set(known.sandbox.sandboxId, known);
      position = at + 1;
      return known.mark;
    },
    listed(sandbox, mark) {
      calls.listed++;
      position = (positions.get(sandbox.sandboxId) ?? position - 1) + 1;
      const twin = taken.get(sandbox.sandboxId)?.sandbox;
      if (!twin) {
        taken.set(sandbox.sandboxId, { sandbox, mark });
        return null;
      }
      const known = new Map(twin.servers.map((server) => [server.serverId, server]));
      const servers = sandbox.servers.filter(({ serverId }) => known.has(serverId)).length;
      for (const server of sandbox.servers) {
        const other = known.get(server.serverId);
        known.set(server.serverId, other ? worseOf(other, server, textsOf) : server);
      }
      const believed = worseOf(twin, sandbox, ({ benchmark }) => [benchmark]);
      taken.set(sandbox.sandboxId, {
        sandbox: { ...believed, servers: [...known.values()] },
        mark: null,
      });
      return { servers, together: known.size };
    },
    restart() {
      calls.restart++;
      taken.clear();
      position = 0;
    },
    get sandboxCount() {
      return taken.size;
    },
  };
}

function textsOf({ serverName, benchmark, tags }: ListedServer): readonly (string | null)[] {
  return [serverName, benchmark, ...tags];
}

function statusOf(number: number): Status {
  return allStatuses[number] ?? "unknown";
}

/** With other statuses in place of those that it had, unknown ones left out. */
function restated({ sandbox, mark }: MarkedSandbox, statuses: readonly Status[]): ListedSandbox {
  if (statuses.length === 0 || mark?.openStatuses === "none") return sandbox;
  const left = [...statuses];
  const next = ({ status }: { readonly status: Status }): Status => {
    if (status === "unknown") return status;
    const found = left.shift();
    if (!found) throw new TypeError("there are too few statuses");
    return found;
  };
  const own = mark?.openStatuses === "own_first" ? next(sandbox) : null;
  const servers = sandbox.servers.map((server) => ({ ...server, status: next(server) }));
  const status = own ?? next(sandbox);
  if (left.length > 0) throw new TypeError("there are too many statuses");
  return { ...sandbox, status, servers };
}
