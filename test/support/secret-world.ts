import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Client } from "pg";
import { Agent, request } from "undici";
import { onTestFinished } from "vitest";
import { createDaemon } from "../../src/app/daemon.ts";
import { formatFaults } from "../../src/config/faults.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { hashPassword } from "../../src/lib/password.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { openStore } from "../../src/store/store.ts";
import { createFakeClock } from "./fake-clock.ts";
import { freeAddress } from "./free-address.ts";
import { plantSecrets } from "./planted-secrets.ts";
import { runCommand } from "./run-command.ts";
import { startSecretReceivers, startSecretService } from "./secret-peers.ts";
import { cert, key as tlsKey } from "./self-signed.ts";
import { tempFolder } from "./temp-folder.ts";

function createWorld() {
  const { plant, take, leaksIn, names } = plantSecrets();
  const outputs: { readonly where: string; readonly text: string; readonly own: string }[] = [];
  return {
    plant,
    take,
    leaksIn,
    names,
    /** @param own the beginning of the names of the secrets that may be in it */
    add: (where: string, text: string, own = "none") => void outputs.push({ where, text, own }),
    leaks: () =>
      outputs.flatMap(({ where, text, own }) =>
        leaksIn(text)
          .filter((name) => !name.startsWith(own))
          .map((name) => `${where}: ${name}`),
      ),
    outputs,
  };
}

/** Every row of every table of a store on PostgreSQL. */
async function dumpPostgres(folder: string, schema: string): Promise<string> {
  const client = new Client({ host: folder, user: "test", database: "postgres" });
  await client.connect();
  try {
    const read = async (query: string): Promise<readonly string[]> =>
      (await client.query({ text: query, rowMode: "array" })).rows.map(([value]) => String(value));
    const tables = await read(
      `select table_name from information_schema.tables where table_schema = '${schema}'`,
    );
    const rows = [];
    for (const table of tables) {
      rows.push(...(await read(`select each::text from ${schema}.${table} as each`)));
    }
    return [...tables, ...rows].join("\n");
  } finally {
    await client.end();
  }
}

/**
 * A daemon between a service and receivers, with a secret in every place of its configuration and of responses.
 *
 * @param postgres the folder of the socket of a PostgreSQL to use instead of a file
 */
export async function startWorld(postgres?: string) {
  const world = createWorld();
  const { plant, take, add } = world;
  const folder = tempFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return name;
  };
  const service = await startSecretService(world);
  const { receivers, servers, environment, proxyUrl } = await startSecretReceivers(
    world,
    (name, text) => file(`secret-of-${name}`, text),
  );
  const roles = ["metrics", "viewer", "operator", "caller", "admin"] as const;
  const tokens = roles.map((role) => ({ name: `a-${role}`, role, token: plant(`token: ${role}`) }));
  const password = plant("password");
  const passwordHash = await hashPassword(password);
  for (const [at, part] of passwordHash.split("$").slice(3).entries()) {
    take(`password hash: ${at}`, part);
  }
  take("TLS key", tlsKey.split("\n")[1] ?? "");
  const [byValue, byVariable, ...byFile] = service.keys;
  const expectation = plant("probe: expected value");
  const storePath = join(folder, "store.db");
  const schema = `secrets_${process.pid}`;
  const databaseUrl = `postgresql://test:${plant("password of the database")}@localhost/postgres?host=${postgres}`;
  const settings = {
    regions: { us: { base_url: service.baseUrl } },
    keys: [
      { name: byValue?.name, api_key: byValue?.apiKey },
      { name: byVariable?.name, api_key: "${SECOND_KEY}" },
      ...byFile.map(({ name, apiKey }) => ({ name, api_key_file: file(`key-${name}`, apiKey) })),
    ],
    poll: { every: "5s", rate_limit: { requests: 1_000, per: "1s" } },
    probes: [
      {
        name: "plan",
        operation: "user",
        id: "known",
        keys: ["research"],
        every: "5s",
        expect: { fields: { plan: expectation } },
      },
    ],
    store: {
      path: storePath,
      ...(postgres !== undefined && {
        postgres: { url_file: file("database", databaseUrl), schema },
      }),
    },
    http: {
      listen: await freeAddress(),
      tls: { certificate_file: file("tls.crt", cert), key_file: file("tls.key", tlsKey) },
      auth: {
        anonymous: "health",
        tokens: tokens.map(({ token, ...named }) => ({
          ...named,
          token_file: file(`token-${named.name}`, token),
        })),
        users: [{ name: "ann", role: "viewer", password_hash: passwordHash }],
      },
    },
    metrics: { per_server: true },
    outbound: { proxy_url_file: file("proxy", proxyUrl), no_proxy: ["127.0.0.1"] },
    reports: [
      { name: "weekly", schedule: "weekly", receivers: ["own", "app", "guild", "mail", "liquid"] },
    ],
    alerts: {
      rules: [
        { name: "erring", on: "server", status: "error" },
        { name: "down", on: "target", failing: { polls: 1 } },
        { name: "refused", on: "target", auth: { polls: 1 } },
        { name: "probing", on: "probe", failing: { polls: 1 } },
      ],
      receivers,
    },
  };
  const configFile = join(folder, file("sandwatch.yaml", JSON.stringify(settings)));
  const variables = { ...environment, SECOND_KEY: byVariable?.apiKey ?? "" };
  const loaded = loadConfig(configFile, variables);
  if (loaded.kind !== "ok") throw new Error(formatFaults(configFile, loaded.faults));
  add("the configuration", JSON.stringify(loaded.config), "probe:");

  const clock = createFakeClock();
  let log = "";
  const logTo = { write: (line: string) => void (log += line) };
  const daemon = await createDaemon(loaded.config, {
    clock,
    wakeAt: (utcMs, onDue) => clock.setTimer(utcMs - clock.now().utcMs, onDue),
    random: seededRandom(5),
    log: createLogger({ level: "trace", format: "json" }, logTo),
    ...(postgres === undefined && {
      openStore: async (path, _, observers) =>
        openStore(path, undefined, { ...observers, isTemporary: true }),
    }),
    reloads: {
      last: () => ({ successful: true, successAtMs: 0 }),
      request: () => ({ kind: "refused", reason: "not here" }),
    },
  });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await daemon.stop();
    isStopped = true;
  };
  onTestFinished(stop);
  const address = await daemon.serve();
  const dispatcher = new Agent({ connect: { ca: cert } });
  onTestFinished(() => dispatcher.destroy());

  const tokenOf = (role: (typeof roles)[number]): string =>
    tokens.find((each) => each.role === role)?.token ?? "";
  /** Lets time pass while something waits for retries. */
  const passing = async <Value>(waiting: Promise<Value>): Promise<Value> => {
    const state = { isDone: false };
    const done = waiting.finally(() => (state.isDone = true));
    while (!state.isDone) {
      await setImmediate();
      clock.advance(1);
    }
    return done;
  };

  /** @param credentials a role, or the whole header */
  const call = async (
    method: "GET" | "POST",
    path: string,
    credentials: (typeof roles)[number] | (string & {}),
    body: object | null = null,
  ): Promise<number> => {
    const role = roles.find((each) => each === credentials);
    const authorization = role ? `Bearer ${tokenOf(role)}` : credentials;
    const responding = request(address + path, {
      dispatcher,
      method,
      headers: { authorization, ...(body && { "content-type": "application/json" }) },
      body: body && JSON.stringify(body),
    });
    const response = await passing(responding);
    const text = await response.body.text();
    const headers = JSON.stringify(response.headers);
    add(`${method} ${path} as ${role ?? "a caller"}`, `${headers}\n${text}`);
    return response.statusCode;
  };
  const run = async (args: readonly string[], role: (typeof roles)[number] = "admin") => {
    const env = { ...variables, SANDWATCH_TOKEN: tokenOf(role) };
    const ended = await passing(runCommand(args, env, { isColored: true }));
    add(`sandwatch ${args.join(" ")}`, ended.out + ended.err);
    return ended;
  };
  const poll = async (times = 1): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      clock.advance(5_000);
      await passing(daemon.runOnce());
    }
  };
  const readStore = async (): Promise<string> => {
    if (postgres !== undefined) return dumpPostgres(postgres, schema);
    const files = [storePath, `${storePath}-wal`].filter((each) => existsSync(each));
    return files.map((each) => readFileSync(each, "latin1")).join("\n");
  };
  return {
    ...world,
    readStore,
    settings,
    configFile,
    file,
    variables,
    password,
    servers,
    clock,
    daemon,
    stop,
    address,
    dispatcher,
    call,
    run,
    poll,
    tokenOf,
    log: () => log,
  };
}

export type SecretWorld = Awaited<ReturnType<typeof startWorld>>;
