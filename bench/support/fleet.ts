import { Buffer } from "node:buffer";
import { mixBits, mixUuid } from "./random-bits.ts";

export const fleetStatuses = ["idle", "occupied", "error"] as const;

export interface FleetCounts {
  readonly idle: number;
  readonly occupied: number;
  readonly error: number;
}

export interface Fleet {
  readonly servers: number;
  readonly sandboxes: number;
  counts(): FleetCounts;
  /** Gives exactly this share of the servers, picked at random, another status. */
  change(share: number): void;
  /** Puts one more server, picked at random, into error that never was: one that was might be flapping. */
  breakOne(): void;
  /** Gives every server a new `updated_at`. */
  touch(): void;
  /** Lists the sandboxes in another order. */
  shuffle(): void;
  /** The listing as JSON, in blocks of 64 KiB that care for no boundary within it. */
  render(): readonly Buffer[];
}

export interface FleetOptions {
  readonly seed: number;
  readonly servers: number;
}

const serversInSandbox = 4;
const idle = 0;
const occupied = 1;
const error = 2;

/** A target's servers, as the service would list them: about 400 bytes each. One seed gives one. */
export function createFleet({ seed, servers }: FleetOptions): Fleet {
  const sandboxes = Math.ceil(servers / serversInSandbox);
  const order = Uint32Array.from({ length: sandboxes }, (_, index) => index);
  const picks = Uint32Array.from({ length: servers }, (_, index) => index);
  const statuses = Uint8Array.from({ length: servers }, (_, index) => firstStatus(seed, index));
  const haveErred = statuses.map((status) => Number(status === error));
  const updatedSteps = new Uint32Array(servers);
  let step = 0;
  let draws = 0;

  const below = (limit: number): number => mixBits(seed, 7, ++draws) % limit;
  const set = (server: number, status: number): void => {
    statuses[server] = status;
    if (status === error) haveErred[server] = 1;
    updatedSteps[server] = step;
  };

  return {
    servers,
    sandboxes,
    counts() {
      const counts = [0, 0, 0];
      for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
      return {
        idle: counts[idle] ?? 0,
        occupied: counts[occupied] ?? 0,
        error: counts[error] ?? 0,
      };
    },
    change(share) {
      step += 1;
      const changing = Math.round(share * servers);
      for (let index = 0; index < changing; index += 1) {
        swap(picks, index, index + below(servers - index));
        const server = picks[index] ?? 0;
        const falls = below(100) === 0;
        set(server, statuses[server] === idle ? (falls ? error : occupied) : idle);
      }
    },
    breakOne() {
      step += 1;
      const from = below(servers);
      const after = haveErred.indexOf(0, from);
      const server = after === -1 ? haveErred.indexOf(0) : after;
      if (server !== -1) set(server, error);
    },
    touch() {
      step += 1;
      updatedSteps.fill(step);
    },
    shuffle() {
      for (let index = sandboxes - 1; index > 0; index -= 1) swap(order, index, below(index + 1));
    },
    render() {
      const writer = createBlockWriter();
      const time = createTimes();
      writer.write('{"local_sandboxes":[');
      let separator = "";
      for (const sandbox of order) {
        const first = sandbox * serversInSandbox;
        const sandboxId = mixUuid(seed, 1, sandbox);
        const items = [];
        for (let at = first; at < Math.min(first + serversInSandbox, servers); at += 1) {
          const updatedAt = time(updatedSteps[at] ?? 0, mixBits(seed, 5, at));
          items.push(serverJson(seed, at, { sandboxId, status: statuses[at] ?? 0, updatedAt }));
        }
        const status = fleetStatuses[statuses[first] ?? 0];
        const createdAt = time(0, mixBits(seed, 4, sandbox));
        writer.write(
          `${separator}{"local_sandbox_id":"${sandboxId}","created_at":"${createdAt}","status":"${status}","benchmark":null,"servers":[${items.join(",")}]}`,
        );
        separator = ",";
      }
      writer.write(`],"total_count":${sandboxes}}`);
      return writer.end();
    },
  };
}

interface Shown {
  readonly sandboxId: string;
  readonly status: number;
  readonly updatedAt: string;
}

function serverJson(seed: number, index: number, shown: Shown): string {
  const drawn = mixBits(seed, 3, index);
  const name = serverNames[Math.floor(serverNames.length * ((drawn & 0xffff) / 65_536) ** 2.5)];
  const rare = (drawn >>> 16) % 100;
  const benchmark = rare < 3 ? '"MCP_Atlas"' : "null";
  const tags = rare % 20 === 4 ? '["prod","nightly"]' : "null";
  const metadata = rare === 5 ? '{"owner":"Ren\\u00e9e \\"eval\\" {7}"}' : "null";
  const auth = rare === 6 ? '{"access_token":"not-a-real-token-0123456789"}' : "null";
  const id = mixUuid(seed, 2, index);
  return `{"id":"${id}","server_name":"${name}","mcp_server_url":"https://sandboxes.example.com/${name}/mcp/?local_sandbox_id=${shown.sandboxId}","status":"${fleetStatuses[shown.status]}","benchmark":${benchmark},"updated_at":"${shown.updatedAt}","metadata":${metadata},"auth_data":${auth},"tags":${tags}}`;
}

const firstMs = Date.UTC(2026, 1, 16, 12, 45, 25);

/** Times with microseconds and an offset, half a minute between the steps. */
function createTimes(): (step: number, bits: number) => string {
  const seconds = new Map<number, string>();
  return (step, bits) => {
    let text = seconds.get(step);
    if (text === undefined) {
      text = new Date(firstMs + step * 30_000).toISOString().slice(0, 20);
      seconds.set(step, text);
    }
    return `${text}${String(bits % 1_000_000).padStart(6, "0")}-08:00`;
  };
}

function firstStatus(seed: number, index: number): number {
  const drawn = mixBits(seed, 6, index) % 1_000;
  if (drawn < 5) return error;
  return drawn < 300 ? occupied : idle;
}

function swap(list: Uint32Array, a: number, b: number): void {
  const kept = list[a] ?? 0;
  list[a] = list[b] ?? 0;
  list[b] = kept;
}

const serverNames =
  `filesystem terminal git github fetch memory playwright google_sheets slack notion postgres
  google_calendar gmail puppeteer time google_drive sqlite brave_search arxiv word excel pdf_tools
  google_maps jira confluence linear asana trello airtable hubspot salesforce stripe shopify
  snowflake bigquery mongodb redis elasticsearch kubernetes docker gitlab sentry grafana datadog
  figma miro zoom outlook onedrive dropbox discord telegram whatsapp twilio youtube spotify reddit
  weather wikipedia huggingface wandb yfinance cal.com 12306`.split(/\s+/);

const blockBytes = 64 * 1_024;

/** Collects text in blocks of one size, cut wherever a block is full. */
function createBlockWriter() {
  const blocks: Buffer[] = [];
  let block = Buffer.allocUnsafeSlow(blockBytes);
  let used = 0;
  return {
    /** ASCII only. */
    write(text: string): void {
      let from = 0;
      while (from < text.length) {
        const written = block.write(from === 0 ? text : text.slice(from), used, "latin1");
        from += written;
        used += written;
        if (used < blockBytes) continue;
        blocks.push(block);
        block = Buffer.allocUnsafeSlow(blockBytes);
        used = 0;
      }
    },
    end: (): readonly Buffer[] => (used > 0 ? [...blocks, block.subarray(0, used)] : blocks),
  };
}
