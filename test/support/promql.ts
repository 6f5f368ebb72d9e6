import { parser } from "@prometheus-io/lezer-promql";

/** What is known of the series that an expression may ask for. */
export interface KnownSeries {
  /** The labels of a metric, with the values of those whose values are a closed set; undefined: no such metric. */
  labelsOf(metric: string): KnownLabels | undefined;
}

export type KnownLabels = ReadonlyMap<string, ReadonlySet<string> | "any">;

export interface CheckedPromql {
  /** What is wrong with it, as a person would say it. */
  readonly faults: readonly string[];
  /** The names of all metrics that it asks for. */
  readonly metrics: ReadonlySet<string>;
  /** The labels that its result has, beside those that a scrape adds. */
  readonly labels: ReadonlySet<string>;
}

/** What Prometheus, its operator and Kubernetes add to whatever is scraped. */
const addedAtScrape = new Set([
  "job",
  "instance",
  "namespace",
  "pod",
  "service",
  "container",
  "endpoint",
]);

type Node = ReturnType<typeof parser.parse>["topNode"];
type Labels = ReadonlySet<string>;

/**
 * Compares an expression with the series that there are: every metric must exist, and every label that
 * is matched, grouped by or joined on must be one that the series there have.
 */
export function checkPromql(text: string, known: KnownSeries): CheckedPromql {
  const faults: string[] = [];
  const metrics = new Set<string>();
  const read = ({ from, to }: Node): string => text.slice(from, to);
  const all = (node: Node, name: string): readonly string[] => node.getChildren(name).map(read);
  const unlessAny = (labels: Labels, wanted: readonly string[], verb: string): void => {
    for (const label of wanted) {
      if (labels.has(label) || addedAtScrape.has(label)) continue;
      faults.push(`${verb} ${label}, which none of its series has`);
    }
  };

  const labelsOfSelector = (node: Node): Labels => {
    const [metric] = all(node, "Identifier");
    if (metric === undefined) {
      faults.push(`${read(node)} names no metric`);
      return new Set();
    }
    metrics.add(metric);
    const labels = known.labelsOf(metric);
    if (labels === undefined) {
      faults.push(`there is no metric ${metric}`);
      return new Set();
    }
    for (const matcher of descendants(node, "UnquotedLabelMatcher")) {
      const [label = "", operator, quoted = '""'] = childrenOf(matcher).map(read);
      const values = labels.get(label);
      if (values === undefined && !addedAtScrape.has(label)) {
        faults.push(`${metric} has no label ${label}`);
      }
      if (values === undefined || values === "any") continue;
      const value = quoted.slice(1, -1);
      for (const each of operator?.includes("~") ? value.split("|") : [value]) {
        if (!values.has(each)) faults.push(`the ${label} of ${metric} is never ${each}`);
      }
    }
    return new Set(labels.keys());
  };

  const labelsOfAggregate = (node: Node): Labels => {
    const inner = union(childrenOf(node).map(labelsOf));
    const modifier = node.getChild("AggregateModifier");
    const grouping = descendants(node.getChild("AggregateModifier"), "LabelName").map(read);
    unlessAny(inner, grouping, `${modifier?.firstChild?.name.toLowerCase()}`);
    const operator = node.getChild("AggregateOp");
    if (operator?.getChild("Topk") ?? operator?.getChild("Bottomk")) return inner;
    if (modifier?.getChild("By")) return new Set(grouping.filter((label) => inner.has(label)));
    if (modifier) return new Set([...inner].filter((label) => !grouping.includes(label)));
    return new Set();
  };

  const labelsOfOperation = (node: Node): Labels => {
    const [left = new Set<string>(), right = new Set<string>()] = [
      node.firstChild,
      node.lastChild,
    ].map((side) => (side ? labelsOf(side) : new Set<string>()));
    const clause = node.getChild("MatchingModifierClause");
    const [joined = [], taken = []] = (clause?.getChildren("GroupingLabels") ?? []).map((labels) =>
      descendants(labels, "LabelName").map(read),
    );
    for (const side of [left, right]) unlessAny(side, joined, "joins on");
    if (clause?.getChild("GroupLeft")) {
      unlessAny(right, taken, "takes over");
      return union([left, new Set(taken)]);
    }
    if (clause?.getChild("GroupRight")) {
      unlessAny(left, taken, "takes over");
      return union([right, new Set(taken)]);
    }
    return (node.getChild("And") ?? node.getChild("Unless")) ? left : union([left, right]);
  };

  const labelsOf = (node: Node): Labels => {
    if (node.type.isError) {
      faults.push(`it cannot be read at ${JSON.stringify(text.slice(node.from, node.from + 20))}`);
    }
    if (node.name === "VectorSelector") return labelsOfSelector(node);
    if (node.name === "AggregateExpr") return labelsOfAggregate(node);
    if (node.name === "BinaryExpr") return labelsOfOperation(node);
    return union(childrenOf(node).map(labelsOf));
  };

  const labels = labelsOf(parser.parse(text).topNode);
  return { faults, metrics, labels };
}

function childrenOf(node: Node): readonly Node[] {
  const children: Node[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

function descendants(node: Node | null, name: string): readonly Node[] {
  if (!node) return [];
  return childrenOf(node).flatMap((child) =>
    child.name === name ? [child] : descendants(child, name),
  );
}

function union(sets: readonly Labels[]): Labels {
  return new Set(sets.flatMap((set) => [...set]));
}
