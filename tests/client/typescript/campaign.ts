// What somebody writes who has the generated types and nothing of ours: the compiler checks each path, field and type.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { argv: string[] };

const [origin, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: origin, headers: { Authorization: `Bearer ${token}` } });

const made = await client.POST("/v1/campaigns", { body: { key: "ted", protocol: "mqm", target_language: "de" } });
if (made.error) throw new Error(JSON.stringify(made.error));
const campaign = await client.GET("/v1/campaigns/{campaign}", { params: { path: { campaign: "ted" } } });
if (campaign.error) throw new Error(JSON.stringify(campaign.error));
const version: number = campaign.data.data_version;
const unknown = await client.GET("/v1/campaigns/{campaign}/ranking", { params: { path: { campaign: "none" } } });

console.log(JSON.stringify({ key: campaign.data.key, version, unknown: unknown.error?.status }));
