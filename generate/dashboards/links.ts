import { DashboardLinkType } from "@grafana/grafana-foundation-sdk/dashboard";
import type { DashboardLink } from "@grafana/grafana-foundation-sdk/dashboard";

export const uids = {
  fleet: "sandwatch-fleet",
  server: "sandwatch-server",
  sandwatch: "sandwatch-health",
} as const;

/** Every dashboard has it, and by it they find one another. */
export const tag = "sandwatch";

/** Leads to the other dashboards, with what is chosen here. */
export const toOthers: DashboardLink = {
  title: "sandwatch",
  type: DashboardLinkType.Dashboards,
  icon: "",
  tooltip: "The other dashboards, for the same time range, regions and keys",
  tags: [tag],
  asDropdown: false,
  targetBlank: false,
  includeVars: true,
  keepTime: true,
};

/** Leads from a series of a server to the dashboard of that server. */
export const toServerOfSeries = toServer((label) => `\${__field.labels.${label}:percentencode}`);

/** Leads from a row of a table about a server to the dashboard of that server. */
export const toServerOfRow = toServer((label) => `\${__data.fields.${label}:percentencode}`);

function toServer(valueOf: (label: string) => string): DashboardLink {
  const variables = ["region", "key", "sandbox", "server"].map(
    (label) => `var-${label}=${valueOf(label)}`,
  );
  const query = ["${datasource:queryparam}", ...variables, "${__url_time_range}"].join("&");
  return {
    title: "This server",
    type: DashboardLinkType.Link,
    icon: "",
    tooltip: "",
    url: `/d/${uids.server}?${query}`,
    tags: [],
    asDropdown: false,
    targetBlank: false,
    includeVars: false,
    keepTime: false,
  };
}
