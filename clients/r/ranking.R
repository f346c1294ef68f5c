# Print the ranking of a campaign as a data frame, and write it to ranking.csv.
#
#     PLUMBLINE_SERVER=http://localhost:8000 PLUMBLINE_TOKEN=… Rscript ranking.R CAMPAIGN
#
# Needs the package httr2. Busy answers (429, 503) are asked again after Retry-After; a report that takes long is a job, which is waited for.

library(httr2)

ask <- function(path, ...) {
  request(Sys.getenv("PLUMBLINE_SERVER")) |>
    req_url_path(path) |>
    req_url_query(...) |>
    req_auth_bearer_token(Sys.getenv("PLUMBLINE_TOKEN")) |>
    req_headers(Prefer = "wait=30", Accept = "application/json") |>
    req_retry(max_tries = 6, is_transient = \(answer) resp_status(answer) %in% c(429, 503)) |>
    req_error(body = \(answer) resp_body_json(answer, check_type = FALSE)$detail) |>
    req_perform()
}

report <- function(path, ...) {
  answer <- ask(path, ...)
  while (resp_status(answer) == 202) {
    job <- resp_body_json(answer)
    if (job$state %in% c("failed", "cancelled")) stop(job$error$detail)
    Sys.sleep(2)
    answer <- ask(paste0("/v1/jobs/", job$job, "/report"))
  }
  resp_body_json(answer, simplifyVector = TRUE)
}

campaign <- commandArgs(trailingOnly = TRUE)[[1]]
ranking <- report(paste0("/v1/campaigns/", URLencode(campaign, reserved = TRUE), "/ranking"))
for (warning in ranking$warnings) message("Warning: ", warning)
systems <- ranking$systems[, c("system", "rank", "score", "n_ratings")]
print(systems)
write.csv(systems, "ranking.csv", row.names = FALSE)
