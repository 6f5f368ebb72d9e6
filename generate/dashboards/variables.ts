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

/** The values of the label of that name in some series. What is gone is offered for as long as the time range shows it. */
function labelValues(
  name: string,
  label: string,
  description: string,
  selector: string,
): VariableModel {
  return asked({ name, label, description }, 1, `label_values(${selector}, ${name})`);
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

const targetUp = "sandwatch_target_up";
const region = orAny(labelValues("region", "Region", "Deployments of the service.", targetUp));
const key = orAny(
  labelValues(
    "key",
    "Key",
    "API keys, by their configured names.",
    series(targetUp, 'region=~"$region"'),
  ),
);
const serverName = orAny(
  labelValues(
    "server_name",
    "Server name",
    "Names of servers; all includes those without one.",
    series("sandbox_servers", ofTarget),
  ),
);
const sandbox = labelValues(
  "sandbox",
  "Sandbox",
  "The id of a sandbox. There are fewer to choose from with a region, key and name.",
  series("sandbox_server_info", ofName),
);
const server = labelValues(
  "server",
  "Server",
  "The id of a server in that sandbox.",
  series("sandbox_server_info", ofTarget, 'sandbox="$sandbox"'),
);

// Not any: other programs have instances too, with metrics of the same names.
const instance = several(
  labelValues(
    "instance",
    "Instance",
    "Which sandwatch, by where it is scraped.",
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
