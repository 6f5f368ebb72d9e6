import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { openAccess, allows, roles } from "../src/lib/access.ts";
import type { Permission } from "../src/lib/access.ts";
import { systemClock } from "../src/lib/clock.ts";
import { createAccessControl } from "../src/web/access.ts";
import { createWebServer } from "../src/web/server.ts";
import { markdownTable } from "./markdown-table.ts";

const file = join(import.meta.dirname, "../docs/access.md");

const mark = /(<!-- Generated from the routes[^\n]*-->\n)[\s\S]*/;

/** The document with the table of what each role may request made again. */
export async function accessDocument(): Promise<string> {
  const rows = (await routesOf()).map(({ name, permission }) => [
    `\`${name}\``,
    ...roles.map((role) => (allows(role, permission) ? "yes" : "")),
  ]);
  const table = markdownTable([["request", ...roles.map((role) => `\`${role}\``)], ...rows]);
  return readFileSync(file, "utf8").replace(mark, (_, begin: string) => `${begin}\n${table}`);
}

interface Route {
  readonly name: string;
  readonly permission: Permission;
}

/** The routes of the HTTP server, in the order in which they are added. */
async function routesOf(): Promise<readonly Route[]> {
  const routes: Route[] = [];
  const servers: FastifyInstance[] = [];
  const onFastify = (message: unknown): void => {
    if (!isInitialization(message)) return;
    servers.push(message.fastify);
    message.fastify.addHook("onRoute", ({ method, url, config }) => {
      const [first = ""] = [method].flat();
      if (first === "HEAD") return;
      if (!config?.permission) throw new Error(`${url} has no permission`);
      routes.push({
        name: `${first} ${url.replaceAll(/:(\w+)/g, "{$1}")}`,
        permission: config.permission,
      });
    });
  };
  const unused = (): never => {
    throw new Error("nothing is served");
  };
  subscribe("fastify.initialization", onFastify);
  try {
    createWebServer({
      metrics: { scrape: unused },
      readiness: unused,
      deadLoop: unused,
      status: unused,
      targets: [],
      keys: [],
      api: { call: unused, events: unused },
      requestReload: unused,
      allowedHosts: [],
      trustedProxies: [],
      onRefused() {},
      externalUrl: null,
      access: createAccessControl(openAccess, systemClock),
      tls: null,
      log: { info: unused, error: unused },
      onError: unused,
      onSlowScrape: unused,
      onFull: unused,
      clock: systemClock,
    });
  } finally {
    unsubscribe("fastify.initialization", onFastify);
  }
  // Only then it has the routes of the API.
  for (const server of servers) await server.ready();
  return routes;
}

function isInitialization(message: unknown): message is { readonly fastify: FastifyInstance } {
  return typeof message === "object" && message !== null && "fastify" in message;
}
