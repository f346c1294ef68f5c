// Starts Swagger UI on our own document, from our own host only.

const answer = await fetch("openapi.json", { credentials: "same-origin" });
const description = await answer.json();

// The vendored Swagger UI draws OpenAPI 3.0 and refuses newer version numbers; what we use of 3.1 reads the same to it.
// Only lists of types it cannot draw: there `type: ["string", "null"]` was `type: "string", nullable: true`.
description.openapi = "3.0.3";
const pending = [description.components.schemas];
while (pending.length > 0) {
  const part = pending.pop();
  if (Array.isArray(part.type) && part.type.includes("null")) {
    part.type = part.type.find((name) => name !== "null");
    part.nullable = true;
  }
  pending.push(...Object.values(part).filter((inner) => inner !== null && typeof inner === "object"));
}

window.SwaggerUIBundle({
  spec: description,
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  persistAuthorization: false,
  showExtensions: true,
  presets: [window.SwaggerUIBundle.presets.apis],
});
