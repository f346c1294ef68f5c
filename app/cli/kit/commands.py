"""All commands with their files and their lines in the list of commands. A test compares both with the files."""

from __future__ import annotations

# By name, in the order of the list: first single commands, then groups of commands.
COMMANDS = {
    "archive": (
        "archive",
        "Write a closed campaign as pages and JSON: its texts and media with all judgments, without names of raters.",
    ),
    "attention": (
        "attention",
        "Store an attention check that raters meet among their tasks, or print the results, one line each.",
    ),
    "audit": (
        "audit",
        "Print the last hash of every campaign's chain. Kept elsewhere, it proves that nothing before it was changed.",
    ),
    "backtranslate": (
        "back_translations",
        "Copy the texts that raters wrote to another campaign, as outputs of the same systems.",
    ),
    "bundle": ("bundle", "Write the release bundle of a campaign as a tar archive; or check one and rank it again."),
    "release": ("bundle", "Fill a folder with the release bundle of a campaign, and verify it."),
    "calibration": (
        "calibration",
        "Choose the pairs on which raters agreed most, the same number at each quality level.",
    ),
    "conformance": (
        "conformance",
        "Check a server: create campaigns, follow and break the rules, close them. Exit code 1 if a check fails.",
    ),
    "demo": (
        "demo",
        "Load a made-up campaign, let simulated raters judge it over HTTP, rank it, and serve it until Ctrl+C.",
    ),
    "doctor": (
        "doctor",
        "Find out what is wrong and what to do, without changing anything. Exit code 1 if anything is wrong.",
    ),
    "export": ("export", "Export a campaign. Standard error reports what the format cannot hold."),
    "gate": ("gate", "Check whether the candidate may replace the baseline."),
    "hours": ("hours", "Show payable hours by rater and day, and by team."),
    "import": ("import_", "Create or fill a campaign from files, completely or not at all."),
    "locks": ("locks", "Show the lock of a campaign, and every amendment with its reason."),
    "openapi": ("openapi", "Print the OpenAPI document."),
    "plan": ("plan", "Compile a design into tasks and freeze it; without a design, show the plan in force."),
    "protocol": (
        "protocol",
        "Print or replace the protocol of a campaign; with --like, print a protocol to start from.",
    ),
    "questionnaires": (
        "questionnaires",
        "Print or replace the questions for raters before and after their work, or print the answers.",
    ),
    "rank": ("rank", "Rank the systems of a campaign under a recipe."),
    "recipes": ("rank", "List the named recipes, and what each was checked against."),
    "rank-series": (
        "ranking_comparison",
        "Compare the campaigns of a series: rank and cluster of each system in each.",
    ),
    "report": ("report", "Show a report on a campaign."),
    "compare": ("report", "Compare campaigns."),
    "request": (
        "request",
        "Send any request of the API to a server, for actions that have no command.",
    ),
    "rescore": (
        "rescore",
        "Derive every score from its payload again; correct those that differ, add missing ones (a new data version).",
    ),
    "series": (
        "series",
        "Create, plan and open the campaigns of a series, create links, show progress, rank. Steps can be repeated.",
    ),
    "serve": (
        "serve",
        "Serve until stopped, with one worker. A process that ends or hangs is restarted.",
    ),
    "settings": (
        "settings",
        "Print or change a campaign's name, languages, protocol, options such as weights, and settings.",
    ),
    "recipe": ("settings", "List a campaign's own recipes, print one, or store one from a file."),
    "simulate": (
        "simulate",
        "Let simulated raters judge open tasks over HTTP, as people would. Run again to continue.",
    ),
    "stability": (
        "stability",
        "Would the ranking hold if the study were run again? Stable Ranking Probability by design and documents.",
    ),
    "validate": (
        "validate",
        "Test a recipe on simulated studies of the campaign's own documents and raters, in which the truth is known.",
    ),
    "worker": (
        "worker",
        "Compute long reports and delete expired data, until stopped.",
    ),
    "campaigns": ("campaigns", "Campaigns and their templates."),
    "db": ("db", "Upgrade, check, back up and restore the database."),
    "exclusions": ("exclusions", "Show, add and lift exclusions."),
    "huggingface": ("huggingface", "Push release bundles to Hugging Face, and verify them."),
    "media": ("media", "Audio, video and pictures of a campaign."),
    "metrics": ("metrics", "Add and list scores of automatic metrics."),
    "mturk": ("mturk", "Create HITs on Mechanical Turk, and pay workers."),
    "organizations": ("organizations", "Organizations that share this installation."),
    "pearmut": ("pearmut", "Load campaigns of Pearmut, or move a running Pearmut."),
    "prolific": ("prolific", "Create studies on Prolific, and pay participants."),
    "raters": ("raters", "Manage raters: enrol, link, change, erase."),
    "teams": ("teams", "Teams of raters, each with its coordinator."),
    "token": ("token", "Create, list and revoke tokens."),
    "webhook": ("webhook", "Signed messages to your own systems when something happens."),
}
