import type { IncomingMessage, ServerResponse } from "node:http";
import { startReceiverServer } from "../notify/support/receiver-server.ts";
import { startSmtpPeer } from "../notify/support/smtp-peer.ts";
import { startPeer } from "../service/peer.ts";
import { startForwardProxy } from "./forward-proxy.ts";
import type { plantSecrets } from "./planted-secrets.ts";

type Planting = Pick<ReturnType<typeof plantSecrets>, "plant">;

/** What the service and users can put into names: a terminal must not obey it. */
export const hostile = "git\u001b[2J\u001b[31mRED\u009b1m\u202e\u200b\u2066\u2028\nFAKE LINE";

type Respond = (response: ServerResponse, request: IncomingMessage) => void;

/** A service that puts a secret into every part of a response that can hold one. */
export async function startSecretService({ plant }: Planting) {
  const server = {
    id: "server-1",
    server_name: hostile,
    mcp_server_url: `https://${plant("server: user")}:${plant("server: password")}@mcp.example.com/${plant("server: path")}/?instance_id=${plant("server: query")}#${plant("server: fragment")}`,
    status: "error",
    benchmark: hostile,
    updated_at: "now",
    metadata: { owner: plant("server: metadata"), [plant("server: name in metadata")]: 1 },
    auth_data: { token: plant("server: auth_data"), list: [{ deep: plant("server: deep") }] },
    tags: [hostile],
    unknown_field: plant("server: unknown field"),
  };
  const odd = {
    ...server,
    id: "server-2",
    server_name: { a: plant("server: name of a wrong type") },
    status: { a: plant("server: status of a wrong type") },
    tags: [{ a: plant("server: tag of a wrong type") }],
    auth_data: plant("server: auth_data of a wrong type"),
    metadata: [plant("server: metadata of a wrong type")],
  };
  const sandbox = {
    local_sandbox_id: "sandbox-1",
    created_at: "then",
    status: "occupied",
    benchmark: null,
    metadata: { a: plant("sandbox: metadata") },
    servers: [server, odd],
  };
  const unreadable = { local_sandbox_id: null, token: plant("sandbox: without an id") };
  const listing = {
    local_sandboxes: [sandbox, unreadable, plant("sandbox: text instead")],
    total_count: 2,
    next_page_token: plant("listing: unknown field"),
  };
  const json =
    (body: unknown, status = 200, headers = {}): Respond =>
    (response, { headers: sent }) => {
      // The key comes back as some proxies send it back.
      const echo = { "x-request-authorization": sent.authorization ?? "" };
      response.writeHead(status, { "content-type": "application/json", ...echo, ...headers });
      response.end(JSON.stringify(body));
    };
  const inHeaders = (name: string) => ({
    "set-cookie": `session=${plant(`${name}: cookie`)}`,
    "www-authenticate": `Bearer realm="${plant(`${name}: challenge`)}"`,
  });
  const failures: Readonly<Record<string, Respond>> = {
    refused: json({ detail: `key ${plant("401: body")}` }, 401, inHeaders("401")),
    failing: json({ error: plant("503: body") }, 503, inHeaders("503")),
    moved: json({}, 302, { location: `/x?token=${plant("302: location")}` }),
    broken: (response) => response.end(`<html>${plant("200: no JSON")}`),
    torn: (response) => response.end(`{"local_sandboxes":[{"${plant("200: torn JSON")}`),
    limited: json({ message: plant("429: body") }, 429, { "retry-after": plant("429: header") }),
  };
  const input = plant("422: input");
  const fault = { loc: ["path", "userId"], msg: "wrong", type: "uuid", input };
  const paths: Readonly<Record<string, Respond>> = {
    "/local-sandbox": json(listing, 200, inHeaders("200")),
    "/user/known": json({
      userId: "known",
      createdAt: "then",
      lastUsedAt: null,
      email: plant("user: unknown field"),
      plan: plant("user: field of an expectation"),
    }),
    "/user/invalid": json({ detail: [{ ...fault, ctx: { error: plant("422: context") } }] }, 422),
    "/user/missing": json({ detail: `no user ${plant("404: body")}` }, 404),
    "/user/failing": json({ detail: plant("500: body") }, 500),
    "/universes": json({
      universes: [
        {
          universe_id: "atlas",
          name: hostile,
          description: "Maps",
          domain: "travel",
          personas: [{ password: plant("universe: persona") }],
          task_nums: ["1"],
          created_at: "2026-11-20T09:30:00Z",
          seed: plant("universe: unknown field"),
        },
      ],
    }),
    "/universes/atlas/initial_data": json({ mail: [{ body: plant("universe: data") }] }),
    "/white-labeling/get/client": json({
      success: true,
      data: { client_secret: plant("white-label: data") },
      message: null,
      logo: plant("white-label: unknown field"),
    }),
  };
  const found = new Map<string, string>();
  const peer = await startPeer((sent, response) => {
    const name = found.get(sent.headers.authorization ?? "") ?? "";
    const respond = failures[name] ?? paths[sent.url ?? ""] ?? json({ detail: "Not Found" }, 404);
    respond(response, sent);
  });
  const keys = ["research", ...Object.keys(failures)].map((name) => {
    const apiKey = plant(`API key: ${name}`);
    found.set(`Bearer ${apiKey}`, name);
    return { name, apiKey };
  });
  return { baseUrl: peer.baseUrl, keys };
}

/** Receivers that refuse with secrets in their responses. */
export async function startSecretReceivers(
  { plant }: Planting,
  secretFile: (name: string, text: string) => string,
) {
  const refuse = (name: string, code: number) =>
    startReceiverServer((response) => {
      const headers = {
        "x-debug": plant(`${name}: response header`),
        location: `https://${plant(`${name}: response location`)}.example.com/`,
      };
      response.writeHead(code, headers).end(`invalid_token ${plant(`${name}: response body`)}`);
    });
  const hook = await refuse("hook", 500);
  const own = await refuse("own", 302);
  const chat = await refuse("chat", 403);
  const pager = await refuse("pager", 400);
  const manager = await refuse("manager", 500);
  const beat = await refuse("beat", 503);
  const app = await refuse("app", 403);
  const bot = await refuse("bot", 400);
  const push = await refuse("push", 507);
  const liquid = await refuse("liquid", 410);
  const guild = await refuse("guild", 404);
  const team = await refuse("team", 413);
  const logins: unknown[] = [];
  const mail = await startSmtpPeer({
    allowInsecureAuth: true,
    onAuth({ username, password }, _, callback) {
      logins.push({ username, password });
      const error = new Error(`5.7.8 ${plant("mail: response")}`);
      callback(Object.assign(error, { responseCode: 535 }));
    },
  });
  const wait = { group_wait: "0s" };
  const urlOf = (name: string, { origin }: { readonly origin: string }) =>
    `${origin}/${plant(`${name}: URL path`)}?token=${plant(`${name}: URL query`)}`;
  const basic_auth = { username: "sandwatch", password: plant("beat: password") };
  const signing = plant("hook: signing secret", 32);
  const receivers = [
    {
      ...wait,
      name: "hook",
      type: "webhook",
      url: urlOf("hook", hook),
      secret: `whsec_${Buffer.from(signing).toString("base64")}`,
    },
    {
      ...wait,
      name: "own",
      type: "webhook",
      url: "${OWN_URL}",
      body: { text: "{{ summary }}", token: plant("own: body") },
      headers_file: secretFile("own", `X-Key: ${plant("own: header")}\n`),
    },
    { ...wait, name: "chat", type: "slack", url_file: secretFile("chat", urlOf("chat", chat)) },
    {
      name: "pager",
      type: "pagerduty",
      url: urlOf("pager", pager),
      routing_key_file: secretFile("pager", plant("pager: routing key", 32)),
      webhook_secret: plant("pager: webhook secret", 32),
      users: { PXPGF42: "ann" },
    },
    {
      name: "manager",
      type: "alertmanager",
      urls: [`${manager.origin}/${plant("manager: URL path")}`],
      bearer_token_file: secretFile("manager", plant("manager: bearer token")),
    },
    {
      ...wait,
      name: "app",
      type: "slack_app",
      url: urlOf("app", app),
      token_file: secretFile("app", `xoxb-${plant("app: token")}`),
      app_token_file: secretFile("app-level", `xapp-${plant("app: app-level token")}`),
      users: { U012AB3CD: "ann" },
      channel: "alerts",
    },
    {
      ...wait,
      name: "bot",
      type: "telegram",
      url: urlOf("bot", bot),
      bot_token: `1:${plant("bot: token")}`,
      chat_id: 1,
    },
    {
      ...wait,
      name: "push",
      type: "ntfy",
      url: urlOf("push", push),
      topic: plant("push: topic"),
      bearer_token: plant("push: token"),
    },
    {
      ...wait,
      name: "liquid",
      type: "webhook",
      url: urlOf("liquid", liquid),
      body: { text: "{{ summary }} ${LIQUID_KEY} {{ rule }}", [hostile]: "{{ region }}" },
      basic_auth: {
        username: "sandwatch",
        password_file: secretFile("liquid", plant("liquid: password")),
      },
    },
    { ...wait, name: "guild", type: "discord", url: urlOf("guild", guild) },
    { ...wait, name: "team", type: "teams", url_file: secretFile("team", urlOf("team", team)) },
    {
      ...wait,
      name: "mail",
      type: "email",
      host: "127.0.0.1",
      port: mail.port,
      tls: "none",
      auth: { username: "sandwatch", password: plant("mail: password") },
      from: "sandwatch@example.com",
      to: ["ann@example.com"],
    },
    // Behind a proxy that refuses to connect to it.
    {
      ...wait,
      name: "far",
      type: "webhook",
      url: `https://${plant("far: URL host")}.example.com/${plant("far: URL path")}`,
    },
    { name: "beat", type: "heartbeat", url: urlOf("beat", beat), every: "1m", basic_auth },
  ];
  const mailServer = { requests: logins };
  const rest = { bot, push, liquid, guild, team, mail: mailServer };
  const servers = { hook, own, chat, pager, manager, beat, app, ...rest };
  const proxy = await startForwardProxy({ credentials: plant("proxy: other password") });
  const proxyUrl = proxy.url.replace(
    /\/\/.*@/,
    `//${plant("proxy: user")}:${plant("proxy: password")}@`,
  );
  const environment = { OWN_URL: urlOf("own", own), LIQUID_KEY: plant("liquid: key") };
  return { receivers, servers, environment, proxyUrl };
}
