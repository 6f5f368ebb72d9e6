import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableHide,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import type { VariableModel } from "@grafana/grafana-foundation-sdk/dashboard";
import { ofName, ofTarget, series } from "./promql.ts";

/** The data source of every panel and variable: whichever Prometheus is chosen. */
export const dataSource = { type: "prometheus", uid: "${datasource}" };

const chosenDataSource = new DatasourceVariableBuilder("datasource")
  .label("Data source")
  .description("The Prometheus that scrapes sandwatch.")
  .type("prometheus")
  .build();

interface About {
  readonly name: string;
  readonly label: string;
  readonly description: string;
}

/** A label's values in some series. What is gone is offered for as long as the time range shows it. */
function labelValues(about: About, label: string, selector: string): VariableModel {
  return asked(about, 1, `label_values(${selector}, ${label})`);
}

/** @param kind of query, as Grafana numbers them */
function asked(about: About, kind: 1 | 3, query: string): VariableModel {
  const variable = new QueryVariableBuilder(about.name)
    .label(about.label)
    .description(about.description)
    .datasource(dataSource)
    .query({ qryType: kind, query, refId: "PrometheusVariableQueryEditor-VariableQuery" })
    .definition(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .build();
  return { ...variable, sort: VariableSort.NaturalAsc };
}

/** Lets several values be chosen, or all that are listed. */
function several(variable: VariableModel): VariableModel {
  const current = { text: ["All"], value: ["$__all"], selected: true };
  return { ...variable, multi: true, includeAll: true, current };
}

/** All of them, and series without the label: not a list that grows with them. */
function orAny(variable: VariableModel): VariableModel {
  return { ...several(variable), allValue: ".*" };
}

const region = orAny(
  labelValues(
    { name: "region", label: "Region", description: "Deployments of the service." },
    "region",
    "sandwatch_target_up",
  ),
);

const key = orAny(
  labelValues(
    { name: "key", label: "Key", description: "API keys, by their configured names." },
    "key",
    series("sandwatch_target_up", 'region=~"$region"'),
  ),
);

const serverName = orAny(
  labelValues(
    {
      name: "server_name",
      label: "Server name",
      description: "Names of servers; all includes those without one.",
    },
    "server_name",
    series("sandbox_servers", ofTarget),
  ),
);

const sandbox = labelValues(
  {
    name: "sandbox",
    label: "Sandbox",
    description: "The id of a sandbox. There are fewer to choose from with a region, key and name.",
  },
  "sandbox",
  series("sandbox_server_info", ofName),
);

const server = labelValues(
  { name: "server", label: "Server", description: "The id of a server in that sandbox." },
  "server",
  series("sandbox_server_info", ofTarget, 'sandbox="$sandbox"'),
);

// Not any: other programs have instances too, with metrics of the same names.
const instance = several(
  labelValues(
    {
      name: "instance",
      label: "Instance",
      description: "Which sandwatch, by where it is scraped.",
    },
    "instance",
    "sandwatch_build_info",
  ),
);

// Every server's series is looked at for this once: the panels then ask for those of few servers.
const erring: VariableModel = {
  ...several(
    asked(
      {
        name: "erring",
        label: "Servers in error",
        description:
          "The ids of servers in error at the end of the time range, two hundred at most.",
      },
      3,
      `query_result(topk(200, ${series("sandbox_server_status", ofTarget, 'status="error"')} == 1))`,
    ),
  ),
  regex: '/[{,]server="([^"]+)"/',
  hide: VariableHide.HideVariable,
  skipUrlSync: true,
};

const chosenServers = [chosenDataSource, region, key, serverName];

export const fleetVariables = [...chosenServers, erring];
export const serverVariables = [...chosenServers, sandbox, server];
export const sandwatchVariables = [chosenDataSource, instance, region, key];
