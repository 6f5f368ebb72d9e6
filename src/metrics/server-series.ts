import { statuses } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import {
  hasTextId,
  sandboxField,
  sandboxWords,
  serverField,
  serverWords,
  statusIn,
  statusNumberIn,
} from "../core/snapshot/page-records.ts";
import type { Page } from "../core/snapshot/page.ts";
import { escapeLabelValue, familyHeader } from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";
import { IdStamp, sandboxMark, serverMark } from "../platform/id-stamp.ts";
import { LineWriter } from "./line-writer.ts";
import type { ServerFamily, SubjectText } from "./server-families.ts";

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
      const subjects = new SubjectWriter(writer, family, target);
      for (const page of pages) {
        for (let next = 0; next < subjects.countIn(page);) {
          next = subjects.write(page, next);
          if (writer.isFull) yield writer.take();
        }
      }
    }
  }
  yield writer.take();
}

/** Writes the lines of one target's servers or sandboxes. */
class SubjectWriter {
  private readonly writer: LineWriter;
  private readonly family: ServerFamily;
  private readonly labels: string;
  /** Of each status, for ids that are UUIDs. */
  private readonly stamps: readonly IdStamp[];

  constructor(writer: LineWriter, family: ServerFamily, { region, key }: Target) {
    this.writer = writer;
    this.family = family;
    this.labels = `region="${escapeLabelValue(region)}",key="${escapeLabelValue(key)}"`;
    const ids = { sandbox: sandboxMark, server: serverMark };
    const texts = statuses.map((status) => this.linesOf({ ...ids, status }));
    // Where the lines of all statuses are the same, ids of a sandbox are filled in once for all.
    const stamps = new Map(texts.map((text) => [text, new IdStamp(text)]));
    this.stamps = texts.flatMap((text) => stamps.get(text) ?? []);
  }

  countIn(page: Page): number {
    return this.family.of === "sandbox" ? page.sandboxCount : page.serverCount;
  }

  /** Those from the first one on, until the writer is full. Gives the one to go on with. */
  write(page: Page, first: number): number {
    return this.family.of === "sandbox"
      ? this.writeSandboxes(page, first)
      : this.writeServers(page, first);
  }

  private writeSandboxes(page: Page, first: number): number {
    const { words } = page;
    let sandbox = first;
    for (; sandbox < page.sandboxCount && !this.writer.isFull; sandbox++) {
      const at = sandbox * sandboxWords;
      const flags = words[at + sandboxField.flags] ?? 0;
      const stamp = this.stamps[statusNumberIn(flags)];
      if (stamp === undefined || hasTextId(flags)) {
        const text = this.linesOf({
          sandbox: escapeLabelValue(page.sandboxId(sandbox)),
          server: "",
          status: statusIn(flags),
        });
        this.writer.putText(text);
      } else {
        stamp.fillSandbox(words, at);
        this.writer.put(stamp.bytes);
      }
    }
    return sandbox;
  }

  private writeServers(page: Page, first: number): number {
    const { words, serverCount } = page;
    const { tail } = this.family;
    let sandbox = page.sandboxOfServer(first);
    let end = page.serversEnd(sandbox);
    let sandboxFlags = page.sandboxFlags(sandbox);
    let at = page.serverAt(first);
    let server = first;
    for (; server < serverCount && !this.writer.isFull; server++, at += serverWords) {
      while (server >= end) {
        end = page.serversEnd(++sandbox);
        sandboxFlags = page.sandboxFlags(sandbox);
      }
      const flags = words[at + serverField.flags] ?? 0;
      const stamp = this.stamps[statusNumberIn(flags)];
      if (stamp === undefined || hasTextId(flags) || hasTextId(sandboxFlags)) {
        const text = this.linesOf({
          sandbox: escapeLabelValue(page.sandboxId(sandbox)),
          server: escapeLabelValue(page.serverId(server)),
          status: statusIn(flags),
        });
        this.writer.putText(text);
      } else {
        stamp.fillSandbox(words, sandbox * sandboxWords);
        stamp.fillServer(words, at);
        this.writer.put(stamp.bytes);
      }
      if (tail !== null) this.writer.put(tail(page, server));
    }
    return server;
  }

  private linesOf(subject: Pick<SubjectText, "sandbox" | "server" | "status">): string {
    const { family, labels } = this;
    return family.lines({ ...subject, name: family.name, labels });
  }
}
