"""All phrases of the demo campaign."""

from __future__ import annotations

from collections.abc import Mapping

from app.demo.phrases_news import NEWS
from app.demo.phrases_support import SUPPORT
from app.demo.phrases_travel import TRAVEL

DOMAINS = (NEWS, TRAVEL, SUPPORT)

# Words that a translator would not use here: understandable, but not the term.
POOR_TERMS: Mapping[str, str] = {
    "Anwohner": "Anlieger",
    "Beschluss": "Schluss",
    "Busse": "Reisewagen",
    "Fahrräder": "Zweiräder",
    "Frühstück": "Morgenmahl",
    "Führungen": "Leitungen",
    "Fähren": "Kähnen",
    "Garantie": "Bürgschaft",
    "Gärten": "Grünflächen",
    "Kapelle": "Kirchenhalle",
    "Lastwagen": "Ladewagen",
    "Petition": "Bittschrift",
    "Projekt": "Unterfangen",
    "Stadtrat": "Stadtberater",
    "Techniker": "Technologen",
    "Treiber": "Fahrer",
    "Unternehmen": "Geschäft",
    "Vorhaben": "Vorsatz",
    "Weg": "Pfad",
    "Zimmer": "Kammern",
}
