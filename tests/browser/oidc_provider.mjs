// A certified OpenID provider on loopback for one client. Its people and their groups stand in a file that is read at each look.
// Environment: PACKAGE (path of oidc-provider), PORT, SERVICE (origin of the client), PEOPLE (JSON: groups by name).

import { readFileSync } from "node:fs";

const { default: Provider } = await import(process.env.PACKAGE);
const { PORT, SERVICE, PEOPLE } = process.env;
const people = () => JSON.parse(readFileSync(PEOPLE, "utf8"));

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  clients: [{
    client_id: "plumbline",
    client_secret: "secret",
    redirect_uris: [`${SERVICE}/oidc/callback`],
    post_logout_redirect_uris: [`${SERVICE}/`],
    backchannel_logout_uri: `${SERVICE}/oidc/backchannel-logout`,
    backchannel_logout_session_required: true,
  }],
  claims: { openid: ["sub", "sid"], profile: ["name", "groups"], email: ["email"] },
  features: { backchannelLogout: { enabled: true } },
  pkce: { required: () => true },
  fetch: (url, { dispatcher: _, ...rest }) => fetch(url, rest), // its own refuses addresses on loopback
  cookies: { keys: ["only a test"] },
  async findAccount(_, id) {
    const groups = people()[id];
    return groups && { accountId: id, claims: async () => ({ sub: id, name: id, groups }) };
  },
});
provider.on("backchannel.error", (_, error) => console.error(error));
provider.listen(Number(PORT), "127.0.0.1", () => console.log("listening"));
