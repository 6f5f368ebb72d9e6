import type { ListedServer, Status } from "../model.ts";
import type { TextMark } from "../listing-intake.ts";
import { LaterStatuses } from "./later-statuses.ts";
import { packUuid, wordsPerId } from "./packed-id.ts";
import { Marks } from "./marks.ts";
import {
  flagsOf,
  hasTextId,
  Page,
  sandboxField,
  sandboxWords,
  serverField,
  serverWords,
  tagsText,
  withMissing,
  withStatus,
} from "./page.ts";
import type { Words } from "./page-room.ts";
import { withRoom } from "./with-room.ts";

/** When a status began; null where that is not known before the listing's end. */
export interface Since {
  readonly sinceMs: number;
  readonly sinceObservedMs: number;
  readonly sinceWitnessed: boolean;
}

const unknownSince: Since = { sinceMs: 0, sinceObservedMs: 0, sinceWitnessed: false };
const maxShared = 4_096;
const sandboxTexts = { flags: sandboxField.flags, fields: [sandboxField.benchmark] };
const serverTexts = {
  flags: serverField.flags,
  fields: [serverField.name, serverField.benchmark, serverField.tags],
};
/** Texts that nothing names any more would else gather over the versions of a page. */
const maxAdopted = 128;
const notCopied = 0xffff_ffff;

/** A page while it is written. Used again for the next one. */
export class PageDraft {
  sandboxCount = 0;
  serverCount = 0;
  private sandboxes = new Uint32Array(16 * sandboxWords);
  private servers = new Uint32Array(64 * serverWords);
  private doubles = new Float64Array(this.servers.buffer);
  private readonly marks = new Marks(16);
  private texts: string[] = [""];
  private readonly numbers = new Map<string, number>();
  private readonly shared = new Map<string, string>();
  /** Of which page the texts' numbers are the same. */
  private adopted: Page | null = null;
  private readonly ofSandboxes = new LaterStatuses();
  private readonly ofServers = new LaterStatuses();
  private run: { readonly page: Page; readonly begin: number; end: number } | null = null;
  private source: Page | null = null;
  private copied = new Uint32Array(0);

  beginSandbox(
    sandboxId: string,
    { status, benchmark }: { readonly status: Status; readonly benchmark: string | null },
    mark: TextMark | null,
    missing = 0,
  ): void {
    const at = this.nextSandbox(mark);
    const textId = this.writeId(sandboxId, this.sandboxes, at);
    this.sandboxes[at + sandboxField.benchmark] = this.numberOf(benchmark);
    this.sandboxes[at + sandboxField.flags] = flagsOf({
      status,
      sinceWitnessed: false,
      textId,
      missing,
    });
  }

  /** Without its servers. */
  copySandbox(page: Page, sandbox: number, missing: number, mark: TextMark | null): void {
    const from = sandbox * sandboxWords;
    const at = this.nextSandbox(mark);
    for (let word = 0; word < wordsPerId; word++)
      this.sandboxes[at + word] = page.word(from + word);
    this.sandboxes[at + sandboxField.benchmark] = page.word(from + sandboxField.benchmark);
    this.sandboxes[at + sandboxField.flags] = withMissing(page.sandboxFlags(sandbox), missing);
    this.copyTexts(page, this.sandboxes, at, sandboxTexts);
  }

  /** With the servers as they are. Those that follow one another in a page are copied at once. */
  copyWhole(page: Page, sandbox: number, marks: Marks): void {
    if (this.run?.page === page && this.run.end === sandbox) this.run.end++;
    else {
      this.copyRun();
      this.run = { page, begin: sandbox, end: sandbox + 1 };
    }
    this.marks.setAs(this.sandboxCount, marks, sandbox);
    this.sandboxCount++;
    this.serverCount += page.serversEnd(sandbox) - page.serversBegin(sandbox);
  }

  /** But for its status, if that is given: since when it has that is not known before the listing's end. */
  copyServer(page: Page, server: number, missing: number, status?: Status): void {
    const from = page.serverAt(server);
    const at = this.nextServer();
    for (let word = 0; word < serverWords; word++) this.servers[at + word] = page.word(from + word);
    const flags = withMissing(page.serverFlags(server), missing);
    this.servers[at + serverField.flags] = status ? withStatus(flags, status) : flags;
    this.copyTexts(page, this.servers, at, serverTexts);
  }

  addServer(server: ListedServer, since: Since | null, missing = 0): void {
    const at = this.nextServer();
    const { sinceMs, sinceObservedMs, sinceWitnessed } = since ?? unknownSince;
    const textId = this.writeId(server.serverId, this.servers, at);
    this.doubles[(at + serverField.since) / 2] = sinceMs;
    this.doubles[(at + serverField.sinceObserved) / 2] = sinceObservedMs;
    this.servers[at + serverField.name] = this.numberOf(server.serverName);
    this.servers[at + serverField.benchmark] = this.numberOf(server.benchmark);
    this.servers[at + serverField.tags] = this.numberOf(tagsText(server.tags));
    this.servers[at + serverField.flags] = flagsOf({
      status: server.status,
      sinceWitnessed,
      textId,
      missing,
    });
  }

  /** The sandbox that was copied whole last has another status. */
  restateSandbox(status: Status): void {
    this.ofSandboxes.add((this.sandboxCount - 1) * sandboxWords + sandboxField.flags, status);
  }

  /** The same of one of its servers. Since when it has it is not known before the listing's end. */
  restateServer(server: number, status: Status): void {
    this.ofServers.add(server * serverWords + serverField.flags, status);
  }

  /** Of the sandbox that was begun or copied last. */
  setMark(mark: TextMark | null): void {
    this.marks.set(this.sandboxCount - 1, mark);
  }

  /** A page of what was written so far. */
  peek(id: number, takeWords: (count: number) => Words = newWords): Page {
    this.copyRun();
    const sandboxLength = this.sandboxCount * sandboxWords;
    const serverLength = this.serverCount * serverWords;
    const words = takeWords(sandboxLength + serverLength);
    words.set(this.sandboxes.subarray(0, sandboxLength));
    words.set(this.servers.subarray(0, serverLength), sandboxLength);
    const { adopted, texts } = this;
    return new Page(
      id,
      this.sandboxCount,
      words,
      adopted?.texts.length === texts.length ? adopted.texts : texts,
    );
  }

  /** Ends the page, and begins the next one. */
  finish(
    id: number,
    takeWords: (count: number) => Words,
  ): { readonly page: Page; readonly marks: Marks } {
    const page = this.peek(id, takeWords);
    const marks = this.marks.first(this.sandboxCount);
    this.sandboxCount = 0;
    this.serverCount = 0;
    this.texts = [""];
    this.numbers.clear();
    this.source = null;
    this.adopted = null;
    return { page, marks };
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
    this.sandboxes.set(page.words.subarray(begin * sandboxWords, end * sandboxWords), sandboxAt);
    this.servers.set(
      page.words.subarray(page.serverAt(firstServer), page.serverAt(serversEnd)),
      serverAt,
    );
    this.ofSandboxes.writeTo(this.sandboxes);
    this.ofServers.writeTo(this.servers);
    const isAdopted = this.adopt(page, sandboxAt === 0);
    const sandboxesEnd = this.sandboxCount * sandboxWords;
    for (let at = sandboxAt; at < sandboxesEnd; at += sandboxWords) {
      const known = this.sandboxes[at + sandboxField.firstServer] ?? 0;
      this.sandboxes[at + sandboxField.firstServer] = known - firstServer + serverNumber;
      if (!isAdopted) this.copyTexts(page, this.sandboxes, at, sandboxTexts);
    }
    if (isAdopted) return;
    const serversEndAt = this.serverCount * serverWords;
    for (let at = serverAt; at < serversEndAt; at += serverWords) {
      this.copyTexts(page, this.servers, at, serverTexts);
    }
  }

  /** A page that begins with another's records keeps its texts and their numbers, if they are few. */
  private adopt(page: Page, isFirst: boolean): boolean {
    if (isFirst && this.texts.length === 1 && page.texts.length <= maxAdopted) {
      this.adopted = page;
      this.texts = [...page.texts];
      for (let number = 1; number < this.texts.length; number++) {
        this.numbers.set(this.texts[number] ?? "", number);
      }
    }
    return this.adopted === page;
  }

  private copyTexts(
    page: Page,
    words: Uint32Array,
    at: number,
    { flags, fields }: { readonly flags: number; readonly fields: readonly number[] },
  ): void {
    if (hasTextId(words[at + flags] ?? 0)) words[at] = this.copyText(page, words[at] ?? 0);
    for (const field of fields) words[at + field] = this.copyText(page, words[at + field] ?? 0);
  }

  private makeRoom(): void {
    this.sandboxes = withRoom(this.sandboxes, this.sandboxCount * sandboxWords);
    const servers = withRoom(this.servers, this.serverCount * serverWords);
    if (servers === this.servers) return;
    this.servers = servers;
    this.doubles = new Float64Array(servers.buffer);
  }

  private nextSandbox(mark: TextMark | null): number {
    this.copyRun();
    const at = this.sandboxCount++ * sandboxWords;
    this.makeRoom();
    this.sandboxes[at + sandboxField.firstServer] = this.serverCount;
    this.marks.set(this.sandboxCount - 1, mark);
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
    words[at] = this.numberOf(id);
    return true;
  }

  private numberOf(text: string | null): number {
    if (text === null) return 0;
    let number = this.numbers.get(text);
    if (number === undefined) {
      number = this.texts.length;
      const shared = this.share(text);
      this.numbers.set(shared, number);
      this.texts.push(shared);
    }
    return number;
  }

  /** The same names come in page after page: one of each is kept in memory. */
  private share(text: string): string {
    const shared = this.shared.get(text);
    if (shared !== undefined) return shared;
    if (this.shared.size >= maxShared) this.shared.clear();
    this.shared.set(text, text);
    return text;
  }

  /** The number that a text of another page has in this one. */
  private copyText(page: Page, number: number): number {
    if (number === 0 || page === this.adopted) return number;
    if (this.source !== page) {
      this.source = page;
      if (this.copied.length < page.texts.length) {
        this.copied = new Uint32Array(Math.max(64, page.texts.length * 2));
      }
      this.copied.fill(notCopied, 0, page.texts.length);
    }
    const known = this.copied[number] ?? notCopied;
    if (known !== notCopied) return known;
    const copy = this.numberOf(page.texts[number] ?? "");
    this.copied[number] = copy;
    return copy;
  }
}

function newWords(count: number): Words {
  return new Uint32Array(count);
}
