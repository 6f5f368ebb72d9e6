import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import type { Peer } from "./peer.ts";
import { apiKey } from "./site.ts";
import { startTool } from "./tool-process.ts";

const authorization = `Bearer ${apiKey}`;

/** `apt-get install prometheus-blackbox-exporter` on Debian. */
export const blackboxExporter: Peer = {
  name: "blackbox_exporter",
  needs: "prometheus-blackbox-exporter",
  tells: {
    perServer: "no: whether the word error is anywhere in the listing",
    transitions: "no: a second server in error changes nothing",
    alerts:
      "by Prometheus and Alertmanager: somewhere a server is in error; or the service is down",
    history: "what Prometheus keeps of one bit",
  },
  async start(site, folder, program) {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const config = join(folder, "blackbox.yml");
    // YAML takes JSON as it is.
    const http = {
      headers: { Authorization: authorization },
      fail_if_body_matches_regexp: ['"status":\\s*"error"'],
      preferred_ip_protocol: "ip4",
    };
    await writeFile(
      config,
      JSON.stringify({ modules: { listing: { prober: "http", timeout: "60s", http } } }),
    );
    const args = [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`];
    return {
      kind: "probes",
      process: await startTool(program, args, `${address}/-/healthy`),
      scrapeUrl: `${address}/probe?module=listing&target=${encodeURIComponent(site.url)}`,
    };
  },
};

/** From github.com/prometheus-community/json_exporter; no package of Debian's. */
export const jsonExporter: Peer = {
  name: "json_exporter",
  needs: "json_exporter",
  tells: {
    perServer: "yes, without its sandbox: a path reaches no parent",
    transitions: "only what Prometheus sees between two scrapes",
    alerts: "by Prometheus and Alertmanager",
    history: "what Prometheus keeps",
  },
  async start(site, folder, program) {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const config = join(folder, "json.yml");
    const metric = {
      name: "sandbox_server",
      type: "object",
      path: "{.local_sandboxes[*].servers[*]}",
      labels: { server: "{.id}", server_name: "{.server_name}", status: "{.status}" },
      values: { info: 1 },
    };
    const listing = { headers: { Authorization: authorization }, metrics: [metric] };
    await writeFile(config, JSON.stringify({ modules: { listing } }));
    const args = [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`];
    return {
      kind: "probes",
      process: await startTool(program, args, `${address}/metrics`),
      scrapeUrl: `${address}/probe?module=listing&target=${encodeURIComponent(site.url)}`,
    };
  },
};

/** `apt-get install collectd-core libcurl3-gnutls libyajl2 libmicrohttpd12 libprotobuf-c1` on Debian. */
export const collectd: Peer = {
  name: "collectd curl_json",
  needs: "collectd",
  tells: {
    perServer: "no: it takes numbers alone, and a status is a word; the total is all it reads",
    transitions: "no",
    alerts: "of the total, and of a listing that cannot be fetched",
    history: "of the total, in what it writes to",
  },
  async start(site, folder, program) {
    const port = await freePort();
    const config = join(folder, "collectd.conf");
    const lines = [
      `BaseDir "${folder}"`,
      `PIDFile "${join(folder, "collectd.pid")}"`,
      `TypesDB "/usr/share/collectd/types.db"`,
      `Interval ${site.everyMs / 1_000}`,
      "LoadPlugin curl_json",
      "LoadPlugin write_prometheus",
      "<Plugin curl_json>",
      `  <URL "${site.url}">`,
      `    Instance "listing"`,
      `    Header "Authorization: ${authorization}"`,
      "    Timeout 60000",
      `    <Key "total_count">`,
      `      Type "gauge"`,
      "    </Key>",
      "  </URL>",
      "</Plugin>",
      "<Plugin write_prometheus>",
      `  Host "127.0.0.1"`,
      `  Port "${port}"`,
      "</Plugin>",
    ];
    await writeFile(config, `${lines.join("\n")}\n`);
    const scrapeUrl = `http://127.0.0.1:${port}/metrics`;
    const process = await startTool(program, ["-f", "-C", config], scrapeUrl);
    return { kind: "polls", process, scrapeUrl };
  },
};

/** `apt-get install monitoring-plugins-basic` on Debian: what Nagios and Icinga run. */
export const checkHttp: Peer = {
  name: "check_http",
  needs: "check_http",
  tells: {
    perServer: "no: whether the word error is anywhere in the listing",
    transitions: "no: a second server in error changes nothing",
    alerts: "by Nagios or Icinga: somewhere a server is in error; or the service is down",
    history: "what Nagios or Icinga keep of one bit",
  },
  async start(site, _folder, program) {
    const { hostname, port, pathname } = new URL(site.url);
    const where = ["-I", hostname, "-p", port, "-u", pathname, "-t", "60"];
    const what = ["-k", `Authorization: ${authorization}`, "-l", "-r", '"status": *"error"'];
    return { kind: "runs", command: program, args: [...where, ...what, "--invert-regex"] };
  },
};
