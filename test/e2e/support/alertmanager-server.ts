import { z } from "zod";
import { tempFolder } from "../../support/temp-folder.ts";
import { getJson, startPeer } from "./peer-process.ts";

const alertsSchema = z.array(
  z.looseObject({
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()),
    startsAt: z.iso.datetime({ offset: true }),
    endsAt: z.iso.datetime({ offset: true }),
    status: z.looseObject({ state: z.string() }),
  }),
);

export type Alerts = z.infer<typeof alertsSchema>;

/** A real Alertmanager, alone. */
export async function startAlertmanager(port: number, configFile: string): Promise<void> {
  await startPeer(
    "prometheus-alertmanager",
    [
      `--config.file=${configFile}`,
      `--storage.path=${tempFolder()}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--cluster.listen-address=",
    ],
    `http://127.0.0.1:${port}/-/ready`,
  );
}

export async function alertsOf(port: number): Promise<Alerts> {
  return alertsSchema.parse(await getJson(`http://127.0.0.1:${port}/api/v2/alerts`));
}
