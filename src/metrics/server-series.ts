import { statuses } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { hasTextId, sandboxWords, statusNumberIn } from "../core/snapshot/page.ts";
import type { Page } from "../core/snapshot/page.ts";
import { escapeLabelValue, familyHeader } from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";
import { IdStamp, sandboxMark, serverMark } from "../platform/id-stamp.ts";
import { LineWriter } from "./line-writer.ts";
import type { ServerFamily } from "./server-families.ts";

/** A target's pages at one moment. They never change, however long it takes to render them. */
export interface ShownTarget {
  readonly target: Target;
  readonly pages: readonly Page[];
}

/**
 * The families with series for each server or sandbox: by far the most of a scrape. They are
 * rendered straight from the pages, in pieces of about 512 KiB, each when it is asked for. A piece is
 * good until the next one is asked for: then its bytes are overwritten.
 */
export function* renderServerSeries(
  shown: readonly ShownTarget[],
  families: readonly ServerFamily[],
  syntax: ExpositionSyntax,
): Generator<Uint8Array, void> {
  const writer = new LineWriter();
  for (const family of families) {
    writer.putText(familyHeader(syntax, family.name, family.help, "gauge"));
    for (const { target, pages } of shown) {
      const write = createSubjectWriter(writer, family, target);
      for (const page of pages) {
        for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
          if (family.of === "sandbox") write(page, sandbox, -1);
          else {
            const end = page.serversEnd(sandbox);
            for (let server = page.serversBegin(sandbox); server < end; server++) {
              write(page, sandbox, server);
              if (writer.isFull) yield writer.take();
            }
          }
          if (writer.isFull) yield writer.take();
        }
      }
    }
  }
  yield writer.take();
}

/** Writes the lines of one server, or of a sandbox where the server is -1. */
function createSubjectWriter(
  writer: LineWriter,
  { name, lines, tail }: ServerFamily,
  target: Target,
): (page: Page, sandbox: number, server: number) => void {
  const labels = `region="${escapeLabelValue(target.region)}",key="${escapeLabelValue(target.key)}"`;
  const stamps = statuses.map(
    (status) =>
      new IdStamp(lines({ name, labels, sandbox: sandboxMark, server: serverMark, status })),
  );

  return (page, sandbox, server) => {
    const sandboxFlags = page.sandboxFlags(sandbox);
    const flags = server < 0 ? sandboxFlags : page.serverFlags(server);
    const stamp = stamps[statusNumberIn(flags)];
    if (stamp === undefined || hasTextId(flags) || hasTextId(sandboxFlags)) {
      const text = lines({
        name,
        labels,
        sandbox: escapeLabelValue(page.sandboxId(sandbox)),
        server: server < 0 ? "" : escapeLabelValue(page.serverId(server)),
        status: statuses[statusNumberIn(flags)] ?? "unknown",
      });
      writer.putText(text);
    } else {
      stamp.fillSandbox(page.idWords, sandbox * sandboxWords);
      if (server >= 0) stamp.fillServer(page.idWords, page.serverAt(server));
      writer.put(stamp.bytes);
    }
    if (tail !== null) writer.put(tail(page, server));
  };
}
