// Starts Swagger UI on our own document, from our own host only.

const answer = await fetch("openapi.json", { credentials: "same-origin" });
const description = await answer.json();

// The vendored Swagger UI draws OpenAPI 3.0 and refuses newer version numbers; what we use of 3.1 reads the same to it.
description.openapi = "3.0.3";

window.SwaggerUIBundle({
  spec: description,
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  persistAuthorization: false,
  presets: [window.SwaggerUIBundle.presets.apis],
});
