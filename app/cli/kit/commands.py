"""All commands: the file of each, and what the list of commands says. A test compares them with the files."""

from __future__ import annotations

# By name, in the order of the list: those that are one command each, then those that are groups.
COMMANDS = {
    "archive": (
        "archive",
        "Write a closed campaign as pages and JSON: its texts with all judgments, without the names of raters.",
    ),
    "audit": (
        "audit",
        "The last hash of every campaign's chain: noted elsewhere, it proves that nothing before it was changed.",
    ),
    "backtranslate": (
        "back_translations",
        "Make the texts that raters wrote the outputs of the same systems in another campaign.",
    ),
    "bundle": ("bundle", "Write the release bundle of a campaign as a tar archive; or check one and rank it again."),
    "release": ("bundle", "Fill a folder with the release bundle of a campaign, and verify it."),
    "calibration": ("calibration", "Choose the pairs that raters agreed about most, as many of each level of quality."),
    "conformance": (
        "conformance",
        "Make campaigns on a server, judge them by the rules and against them, close them; exit 1 where a check fails.",
    ),
    "demo": (
        "demo",
        "Load a made-up campaign, let simulated raters judge it over HTTP, rank it, and serve it until Ctrl+C.",
    ),
    "doctor": (
        "doctor",
        "Say what is wrong here and what to do; start, stop and change nothing. Exit code 1 where anything is wrong.",
    ),
    "export": ("export", "Write a campaign out; what the format cannot hold is counted on standard error."),
    "gate": ("gate", "May the candidate replace the baseline?"),
    "hours": ("hours", "Payable hours by rater and day, and by team."),
    "import": ("import_", "Create or fill a campaign from files: all of it or nothing."),
    "locks": ("locks", "What is locked in a campaign, since when, and every amendment with its reason."),
    "openapi": ("openapi", "Print the OpenAPI document."),
    "plan": ("plan", "Compile a design into tasks and freeze it; without a design, show the plan in force."),
    "protocol": (
        "protocol",
        "Print what a campaign asks, or have it ask something else; with --like, print a protocol to begin with.",
    ),
    "questionnaires": (
        "questionnaires",
        "Print what raters are asked before and after their work, have them asked something else, or print answers.",
    ),
    "rank": ("rank", "The ranking of a campaign under a recipe."),
    "recipes": ("rank", "The named recipes, and what each was checked against."),
    "report": ("report", "A report on a campaign."),
    "compare": ("report", "Campaigns beside each other."),
    "request": (
        "request",
        "Send any request of the API to a server: what has no command of its own can be set, too.",
    ),
    "rescore": (
        "rescore",
        "Derive every score from its payload again; put right what differs, add what is missing (a new data version).",
    ),
    "series": (
        "series",
        "Create, plan and open the campaigns of a series, hand out links, follow and rank; run it as often as needed.",
    ),
    "serve": (
        "serve",
        "Serve until told to stop, with one worker beside it; whatever of it ends or stands still is started again.",
    ),
    "settings": (
        "settings",
        "Print what is set of a campaign, or change it: name, languages, protocol, options such as weights, settings.",
    ),
    "recipe": ("settings", "List a campaign's own recipes, print one, or store one from a file."),
    "rank-series": (
        "side_by_side",
        "The campaigns of a series beside each other: rank and cluster of each system in each.",
    ),
    "simulate": (
        "simulate",
        "Let simulated raters judge what is open, as people would by their front-ends; run again to go on.",
    ),
    "stability": (
        "stability",
        "Would the ranking hold if the study were run again? Stable Ranking Probability by design and documents.",
    ),
    "validate": (
        "validate",
        "Try a recipe on studies made of the campaign's own documents and raters, where the truth is known.",
    ),
    "worker": (
        "worker",
        "Compute reports that take long, and let go of what has outlived its use, until told to stop.",
    ),
    "campaigns": ("campaigns", "Campaigns and their templates."),
    "db": ("db", "The schema of the database, and its backups."),
    "exclusions": ("exclusions", "Show, add and lift exclusions."),
    "media": ("media", "Audio, video and pictures of a campaign."),
    "metrics": ("metrics", "Add and list scores of automatic metrics."),
    "pearmut": ("pearmut", "Campaigns of Pearmut, on its own pages and ours."),
    "raters": ("raters", "Manage raters: enrol, link, change, erase."),
    "teams": ("teams", "Teams of raters, each with its coordinator."),
    "token": ("token", "Credentials."),
    "webhook": ("webhook", "Signed messages to your own systems when something happens."),
}
