import { accessDocument } from "./access-document.ts";
import { commandReference } from "./command-reference.ts";
import { configDocument } from "./config-document.ts";
import { configSchema } from "./config-schema.ts";
import { fleet } from "./dashboards/fleet.ts";
import { sandwatch } from "./dashboards/sandwatch.ts";
import { server } from "./dashboards/server.ts";
import { prometheusRule } from "./prometheus-rule.ts";
import { receiversDocument } from "./receivers-document.ts";

type MakeText = () => string | Promise<string>;

/** What is checked in although it is made of something else: its path, and how its text is made. */
export const generatedFiles: ReadonlyMap<string, MakeText> = new Map<string, MakeText>([
  ["config/kubernetes/base/prometheus-rule.yaml", prometheusRule],
  ["config/grafana/fleet.json", fleet],
  ["config/grafana/server.json", server],
  ["config/grafana/sandwatch.json", sandwatch],
  ["config/sandwatch.schema.json", configSchema],
  ["docs/access.md", accessDocument],
  ["docs/commands.md", commandReference],
  ["docs/configuration.md", configDocument],
  ["docs/receivers.md", receiversDocument],
]);
