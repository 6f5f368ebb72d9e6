import { draw } from "./hash.ts";

/** The most popular first. */
const serverNames =
  `filesystem terminal git github fetch memory playwright google_sheets slack notion postgres
  google_calendar gmail puppeteer time google_drive sqlite brave_search arxiv word excel pdf_tools
  google_maps jira confluence linear asana trello airtable hubspot salesforce stripe shopify
  woocommerce snowflake bigquery mongodb redis elasticsearch kubernetes docker aws_s3
  google_cloud azure_devops gitlab bitbucket sentry grafana datadog pagerduty figma miro canvas
  zoom outlook onedrive dropbox box discord telegram whatsapp twilio sendgrid mailchimp youtube
  spotify reddit hackernews weather wikipedia huggingface wandb yfinance cal.com 12306`.split(
    /\s+/,
  );

/** How many servers there are of each name falls with its rank. */
const skew = 2.5;

/** Distinct names for the servers of one sandbox: their ranks. */
export function drawServerNames(seed: number, count: number): readonly string[] {
  const ranks = new Set<number>();
  for (let index = 0; index < count; index++) {
    let rank = Math.floor(serverNames.length * draw(seed, index) ** skew);
    while (ranks.has(rank)) rank = (rank + 1) % serverNames.length;
    ranks.add(rank);
  }
  return [...ranks].map((rank) => serverNames[rank] ?? "filesystem");
}
