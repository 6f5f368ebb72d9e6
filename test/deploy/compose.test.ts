import { afterEach, expect, it } from "vitest";
import { docker, seen, untilMatches } from "./support/docker.ts";

const files = ["--file", `${seen.root}/config/compose.yaml`];
const both = [...files, "--file", `${seen.root}/config/compose.standby.yaml`];

afterEach(async () => {
  await docker("compose", ...both, "--profile", "*", "down", "--volumes", "--timeout", "5");
});

const get = (of: readonly string[], service: string, address: string, header = "x: y") =>
  docker("compose", ...of, "exec", service, "wget", "-q", "-O", "-", `--header=${header}`, address);

const metricsToken = "Authorization: Bearer simulated-metrics-token";

it("the Compose file brings an alert of the simulated service to Alertmanager, and metrics to Prometheus", async () => {
  const services = ["sandwatch", "simulator", "prometheus", "alertmanager"];
  await docker("compose", ...files, "up", "--detach", "--no-build", "--wait", ...services);
  const alerts = "http://127.0.0.1:9093/api/v2/alerts";
  await untilMatches("an alert arrives", /"alertname":"server-error"/, () =>
    get(files, "alertmanager", alerts),
  );
  const query = "http://127.0.0.1:9090/api/v1/query?query=sum(sandbox_servers)";
  await untilMatches("Prometheus has the servers", /"value":\[[\d.]+,"[1-9]/, () =>
    get(files, "prometheus", query),
  );
  const rules = await get(files, "prometheus", "http://127.0.0.1:9090/api/v1/rules");
  expect(rules).toContain("SandboxServerInError");
  const targets = await docker("compose", ...files, "exec", "sandwatch", "sandwatch", "targets");
  expect(targets).toMatch(/us\/research/);
});

it("of two processes on PostgreSQL the standby takes over when the active one is killed, and it then stands by", async () => {
  const processes = ["sandwatch", "sandwatch-2"];
  const services = [...processes, "simulator", "postgres"];
  await docker("compose", ...both, "up", "--detach", "--no-build", "--wait", ...services);
  const isActive = (service: string) =>
    get(both, service, "http://127.0.0.1:9740/metrics", metricsToken);
  const active = [];
  for (const service of processes) {
    if (/^sandwatch_active 1$/m.test(await isActive(service))) active.push(service);
  }
  expect(active).toHaveLength(1);
  const [killed = ""] = active;
  const [other = ""] = processes.filter((service) => service !== killed);
  await docker("compose", ...both, "kill", killed);
  await untilMatches("the other one is active", /^sandwatch_active 1$/m, () => isActive(other));
  await docker("compose", ...both, "start", killed);
  await untilMatches("the killed one stands by", /stands by/, () =>
    get(both, killed, "http://127.0.0.1:9740/-/ready"),
  );
  const asked = await docker("compose", ...both, "exec", killed, "sandwatch", "targets");
  expect(asked).toMatch(/us\/research/);
});
