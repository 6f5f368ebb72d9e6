import type { ListedServer, Status } from "../model.ts";
import { markWords } from "../text-mark.ts";
import type { MarkWords } from "../text-mark.ts";
import { packUuid } from "./packed-id.ts";
import { markAt, putMark } from "./marks.ts";
import { Numbering } from "./numbering.ts";
import { newWords, Page } from "./page.ts";
import {
  firstServerIn,
  flagsOf,
  hasTextId,
  kindIn,
  packSince,
  putSince,
  sandboxField,
  sandboxWords,
  serverField,
  serverWords,
  setStatus,
  statusNumber,
  withFirstServer,
  withKind,
  withMissing,
  withStatus,
} from "./page-records.ts";
import type { Legend } from "./page.ts";
import type { Since } from "./page-records.ts";
import type { Words } from "./page-room.ts";
import { PageWords } from "./page-words.ts";
import { kindOf } from "./server-kind.ts";
import type { ServerKind } from "./server-kind.ts";
import { withRoom } from "./with-room.ts";

/** Where that is not known before the listing's end. */
const unknownSince: Since = { sinceMs: 0, sinceObservedMs: 0, sinceWitnessed: false };
/** What nothing names any more would else gather over the versions of a page. */
const maxContinued = 256;

/** A page while it is written. Used again for the next one. */
export class PageDraft {
  sandboxCount = 0;
  serverCount = 0;
  private sandboxes = new Uint32Array(16 * sandboxWords);
  private servers = new Uint32Array(64 * serverWords);
  private marks = new Uint32Array(16 * markWords);
  private readonly texts = new Numbering<string>([""]);
  private readonly kinds = new Numbering<ServerKind>();
  /** Whose numbers are the same here. */
  private continued: Legend | null = null;
  private run: { readonly page: Page; readonly begin: number; end: number } | null = null;

  beginSandbox(
    sandboxId: string,
    { status, benchmark }: { readonly status: Status; readonly benchmark: string | null },
    mark: MarkWords | null,
    missing = 0,
  ): void {
    const at = this.nextSandbox(mark);
    const textId = this.writeId(sandboxId, this.sandboxes, at);
    this.sandboxes[at + sandboxField.benchmark] =
      benchmark === null ? 0 : this.texts.numberOf(benchmark);
    const flags = flagsOf({ status, sinceWitnessed: false, textId, missing });
    this.sandboxes[at + sandboxField.flags] = withFirstServer(flags, this.serverCount);
  }

  /** Without its servers. */
  copySandbox(page: Page, sandbox: number, missing: number, mark: MarkWords | null): void {
    const from = sandbox * sandboxWords;
    const at = this.nextSandbox(mark);
    for (let word = 0; word < sandboxWords; word++) {
      this.sandboxes[at + word] = page.word(from + word);
    }
    const flags = withMissing(page.sandboxFlags(sandbox), missing);
    this.sandboxes[at + sandboxField.flags] = withFirstServer(flags, this.serverCount);
    this.renumberSandbox(page.legend, at);
  }

  /**
   * With the servers as they are. Those that follow one another in a page are copied at once.
   *
   * @param mark where the text is another
   */
  copyWhole(page: Page, sandbox: number, mark?: MarkWords | null): void {
    if (this.run?.page === page && this.run.end === sandbox) this.run.end++;
    else {
      this.copyRun();
      this.run = { page, begin: sandbox, end: sandbox + 1 };
    }
    const markTo = this.sandboxCount++ * markWords;
    this.marks = withRoom(this.marks, markTo + markWords);
    if (mark !== undefined) putMark(this.marks, markTo, mark);
    else {
      const markFrom = markAt(page, sandbox);
      for (let word = 0; word < markWords; word++) {
        this.marks[markTo + word] = page.word(markFrom + word);
      }
    }
    this.serverCount += page.serversEnd(sandbox) - page.serversBegin(sandbox);
  }

  /** But for its status, if that is given: since when it has that is not known before the listing's end. */
  copyServer(page: Page, server: number, missing: number, status?: Status): void {
    const from = page.serverAt(server);
    const at = this.nextServer();
    for (let word = 0; word < serverWords; word++) this.servers[at + word] = page.word(from + word);
    const flags = withMissing(page.serverFlags(server), missing);
    this.servers[at + serverField.flags] = status ? withStatus(flags, statusNumber(status)) : flags;
    this.renumberServer(page.legend, at);
  }

  addServer(server: ListedServer, since: Since | null, missing = 0): void {
    const at = this.nextServer();
    const textId = this.writeId(server.serverId, this.servers, at);
    const { status } = server;
    this.servers[at + serverField.kind] = this.kinds.numberOf(kindOf(server));
    this.servers[at + serverField.flags] = flagsOf({
      status,
      sinceWitnessed: false,
      textId,
      missing,
    });
    putSince(this.servers, at, packSince(since ?? unknownSince));
  }

  /**
   * One that is copied whole, but for its status and some of its servers'.
   *
   * @returns the first one of its servers here
   */
  restate(page: Page, sandbox: number, status: number, mark: MarkWords | null): number {
    const firstServer = this.serverCount;
    this.copyWhole(page, sandbox, mark);
    this.copyRun();
    setStatus(this.sandboxes, (this.sandboxCount - 1) * sandboxWords + sandboxField.flags, status);
    return firstServer;
  }

  /** Of the sandbox that was restated last. Since when it has it is not known before the listing's end. */
  restateServer(server: number, status: number): void {
    setStatus(this.servers, server * serverWords + serverField.flags, status);
  }

  /** Of the sandbox that was begun last, or copied without its servers. */
  setMark(mark: MarkWords | null): void {
    putMark(this.marks, (this.sandboxCount - 1) * markWords, mark);
  }

  /** A page of what was written so far. */
  peek(id: number, takeWords: (count: number) => Words = newWords): Page {
    this.copyRun();
    const sandboxLength = this.sandboxCount * sandboxWords;
    const serverLength = this.serverCount * serverWords;
    const marksLength = this.sandboxCount * markWords;
    const words = takeWords(sandboxLength + serverLength + marksLength);
    words.set(this.sandboxes.subarray(0, sandboxLength));
    words.set(this.servers.subarray(0, serverLength), sandboxLength);
    words.set(this.marks.subarray(0, marksLength), sandboxLength + serverLength);
    return new Page(id, this.sandboxCount, PageWords.in(words), this.legend());
  }

  /** Ends the page, and begins the next one. */
  finish(id: number, takeWords: (count: number) => Words): Page {
    const page = this.peek(id, takeWords);
    this.sandboxCount = 0;
    this.serverCount = 0;
    this.texts.reset();
    this.kinds.reset();
    this.continued = null;
    return page;
  }

  private copyRun(): void {
    const { run } = this;
    if (!run) return;
    this.run = null;
    const { page, begin, end } = run;
    const firstServer = page.serversBegin(begin);
    const serversEnd = page.serversEnd(end - 1);
    const sandboxAt = (this.sandboxCount - (end - begin)) * sandboxWords;
    const serverNumber = this.serverCount - (serversEnd - firstServer);
    const serverAt = serverNumber * serverWords;
    this.makeRoom();
    const { words } = page;
    this.sandboxes.set(words.subarray(begin * sandboxWords, end * sandboxWords), sandboxAt);
    this.servers.set(
      words.subarray(page.serverAt(firstServer), page.serverAt(serversEnd)),
      serverAt,
    );
    if (sandboxAt === 0) this.continueFrom(page.legend);
    const isContinued = this.continued === page.legend;
    const sandboxesEnd = this.sandboxCount * sandboxWords;
    for (let at = sandboxAt; at < sandboxesEnd; at += sandboxWords) {
      const flags = this.sandboxes[at + sandboxField.flags] ?? 0;
      const moved = firstServerIn(flags) - firstServer + serverNumber;
      this.sandboxes[at + sandboxField.flags] = withFirstServer(flags, moved);
      if (!isContinued) this.renumberSandbox(page.legend, at);
    }
    if (isContinued) return;
    const serversEndAt = this.serverCount * serverWords;
    for (let at = serverAt; at < serversEndAt; at += serverWords) {
      this.renumberServer(page.legend, at);
    }
  }

  /** A page that begins with another's records keeps its numbers, if they are few. */
  private continueFrom(legend: Legend): void {
    const { texts, kinds } = legend;
    if (!this.texts.isFresh || !this.kinds.isFresh) return;
    if (texts.length > maxContinued || kinds.length > maxContinued) return;
    this.continued = legend;
    this.texts.continueFrom(texts);
    this.kinds.continueFrom(kinds);
  }

  /** The same object as long as nothing was added to it. */
  private legend(): Legend {
    const texts = this.texts.items();
    const kinds = this.kinds.items();
    const { continued } = this;
    return continued?.texts === texts && continued.kinds === kinds ? continued : { texts, kinds };
  }

  private renumberSandbox({ texts }: Legend, at: number): void {
    const { sandboxes } = this;
    const benchmark = sandboxes[at + sandboxField.benchmark] ?? 0;
    sandboxes[at + sandboxField.benchmark] = this.texts.copy(texts, benchmark);
    if (!hasTextId(sandboxes[at + sandboxField.flags] ?? 0)) return;
    sandboxes[at] = this.texts.copy(texts, sandboxes[at] ?? 0);
  }

  private renumberServer({ texts, kinds }: Legend, at: number): void {
    const { servers } = this;
    const word = servers[at + serverField.kind] ?? 0;
    servers[at + serverField.kind] = withKind(word, this.kinds.copy(kinds, kindIn(word)));
    if (!hasTextId(servers[at + serverField.flags] ?? 0)) return;
    servers[at] = this.texts.copy(texts, servers[at] ?? 0);
  }

  private makeRoom(): void {
    this.sandboxes = withRoom(this.sandboxes, this.sandboxCount * sandboxWords);
    this.servers = withRoom(this.servers, this.serverCount * serverWords);
    this.marks = withRoom(this.marks, this.sandboxCount * markWords);
  }

  private nextSandbox(mark: MarkWords | null): number {
    this.copyRun();
    const at = this.sandboxCount++ * sandboxWords;
    this.makeRoom();
    this.setMark(mark);
    return at;
  }

  private nextServer(): number {
    const at = this.serverCount++ * serverWords;
    this.makeRoom();
    return at;
  }

  private writeId(id: string, words: Uint32Array, at: number): boolean {
    if (packUuid(id, words, at)) return false;
    words.fill(0, at, at + 4);
    words[at] = this.texts.numberOf(id);
    return true;
  }
}
