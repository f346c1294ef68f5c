"""The phrase grammar of the demo campaign: English sentences with two German translations each.

`{name}` is a slot; its options are (English, German) in the grammatical case that its sentences need. All sentences
were written for this project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One English sentence and two ways to say it in German."""

    english: str
    german: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Domain:
    """Sentences that make a document in this order, what fills their slots, and which slots can get lost."""

    name: str
    sentences: tuple[Sentence, ...]
    slots: Mapping[str, Options]
    omissible: frozenset[str]


NEWS = Domain(
    "news",
    (
        Sentence(
            "The city council of {city} decided {time} to renovate {building}.",
            (
                "Der Stadtrat von {city} hat {time} beschlossen, {building} zu renovieren.",
                "Im Stadtrat von {city} fiel {time} der Beschluss, {building} zu sanieren.",
            ),
        ),
        Sentence(
            "The work will cost {money} and take about {weeks} weeks.",
            (
                "Die Arbeiten kosten {money} und dauern etwa {weeks} Wochen.",
                "Für die Arbeiten sind {money} und rund {weeks} Wochen eingeplant.",
            ),
        ),
        Sentence(
            "“We have waited long enough,” {person} said after the vote.",
            (
                "„Wir haben lange genug gewartet“, sagte {person} nach der Abstimmung.",
                "„Wir haben lange genug gewartet“, erklärte {person} im Anschluss an die Abstimmung.",
            ),
        ),
        Sentence(
            "The plan had been postponed several times {reason}.",
            (
                "Der Plan war {reason} mehrfach verschoben worden.",
                "Das Vorhaben wurde {reason} schon mehrmals vertagt.",
            ),
        ),
        Sentence(
            "More than {people} residents signed a petition against the project.",
            (
                "Mehr als {people} Anwohner haben eine Petition gegen das Projekt unterschrieben.",
                "Über {people} Anwohner unterzeichneten eine Petition gegen das Vorhaben.",
            ),
        ),
        Sentence(
            "During construction, buses will stop {place} instead.",
            (
                "Während der Bauzeit halten die Busse stattdessen {place}.",
                "Solange gebaut wird, halten die Busse ersatzweise {place}.",
            ),
        ),
        Sentence(
            "Critics say that the money is urgently needed for {purpose}.",
            (
                "Kritiker sagen, das Geld werde dringend für {purpose} gebraucht.",
                "Kritiker meinen, dass das Geld dringend für {purpose} benötigt wird.",
            ),
        ),
        Sentence(
            "If no other company objects, the first trucks will arrive {start}.",
            (
                "Wenn kein anderes Unternehmen Einspruch erhebt, rollen {start} die ersten Lastwagen an.",
                "Legt kein anderes Unternehmen Einspruch ein, kommen {start} die ersten Lastwagen.",
            ),
        ),
        Sentence(
            "A new vote, {person} added, would only cause further delays.",
            (
                "Eine neue Abstimmung, so {person} weiter, würde nur zu weiteren Verzögerungen führen.",
                "Eine erneute Abstimmung, fügte {person} hinzu, brächte nur weitere Verzögerungen.",
            ),
        ),
    ),
    {
        "city": (
            ("Lindenau", "Lindenau"),
            ("Bergheim", "Bergheim"),
            ("Rosental", "Rosental"),
            ("Neuwerder", "Neuwerder"),
            ("Sandhofen", "Sandhofen"),
        ),
        "time": (
            ("on Monday morning", "am Montagmorgen"),
            ("on Tuesday evening", "am Dienstagabend"),
            ("last night", "in der vergangenen Nacht"),
            ("on Friday afternoon", "am Freitagnachmittag"),
        ),
        "building": (
            ("the old town hall", "das alte Rathaus"),
            ("the central library", "die Zentralbibliothek"),
            ("the railway bridge", "die Eisenbahnbrücke"),
            ("the music school", "die Musikschule"),
            ("the indoor swimming pool", "das Hallenbad"),
        ),
        "money": (
            ("two million euros", "zwei Millionen Euro"),
            ("half a million euros", "eine halbe Million Euro"),
            ("eighty thousand euros", "achtzigtausend Euro"),
        ),
        "weeks": (("twelve", "zwölf"), ("twenty", "zwanzig"), ("thirty", "dreißig")),
        "people": (
            ("three hundred", "dreihundert"),
            ("a thousand", "tausend"),
            ("six hundred", "sechshundert"),
        ),
        "person": (
            ("the mayor", "die Bürgermeisterin"),
            ("the treasurer", "die Kämmerin"),
            ("the head of the building department", "der Leiter des Bauamts"),
            ("a spokeswoman for the council", "eine Sprecherin des Stadtrats"),
        ),
        "reason": (
            ("because of high costs", "wegen hoher Kosten"),
            ("after months of debate", "nach monatelanger Debatte"),
            ("despite strong support", "trotz großer Zustimmung"),
        ),
        "place": (
            ("at the market square", "am Marktplatz"),
            ("in front of the station", "vor dem Bahnhof"),
            ("next to the hospital", "neben dem Krankenhaus"),
        ),
        "purpose": (
            ("schools", "Schulen"),
            ("cycle paths", "Radwege"),
            ("childcare", "die Kinderbetreuung"),
            ("affordable housing", "bezahlbaren Wohnraum"),
        ),
        "start": (
            ("in early spring", "im Vorfrühling"),
            ("next autumn", "im nächsten Herbst"),
            ("at the end of May", "Ende Mai"),
        ),
    },
    frozenset({"time", "reason", "start"}),
)

TRAVEL = Domain(
    "travel",
    (
        Sentence(
            "{town} lies {where} and is best reached by train.",
            (
                "{town} liegt {where} und ist am besten mit der Bahn zu erreichen.",
                "{town} liegt {where}, und am einfachsten kommt man mit dem Zug dorthin.",
            ),
        ),
        Sentence(
            "The hotel has {rooms} bright rooms, and breakfast is served until {hour}.",
            (
                "Das Hotel hat {rooms} helle Zimmer, und Frühstück gibt es bis {hour}.",
                "Das Hotel verfügt über {rooms} helle Zimmer, das Frühstück wird bis {hour} serviert.",
            ),
        ),
        Sentence(
            "From the terrace you can see {sight}, especially {daytime}.",
            (
                "Von der Terrasse aus sieht man {sight}, besonders {daytime}.",
                "Die Terrasse bietet vor allem {daytime} einen schönen Blick auf {sight}.",
            ),
        ),
        Sentence(
            "Bicycles can be hired {hire} for {price} a day.",
            (
                "Fahrräder kann man {hire} für {price} am Tag mieten.",
                "Wer möchte, leiht sich {hire} für {price} pro Tag ein Fahrrad.",
            ),
        ),
        Sentence(
            "Do not miss {dish}: everything here is still made by hand.",
            (
                "Lassen Sie sich {dish} nicht entgehen: Hier wird noch alles von Hand gemacht.",
                "Probieren Sie unbedingt {dish}: Hier entsteht noch alles in Handarbeit.",
            ),
        ),
        Sentence(
            "The museum is closed {day}, but the gardens are open all year round.",
            (
                "Das Museum ist {day} geschlossen, die Gärten sind aber das ganze Jahr über geöffnet.",
                "Während das Museum {day} geschlossen bleibt, sind die Gärten ganzjährig zugänglich.",
            ),
        ),
        Sentence(
            "A marked path leads through {nature} to a small chapel.",
            (
                "Ein markierter Weg führt durch {nature} zu einer kleinen Kapelle.",
                "Durch {nature} führt ein markierter Weg zu einer kleinen Kapelle.",
            ),
        ),
        Sentence(
            "Children under {age} travel free of charge on all ferries.",
            (
                "Kinder unter {age} Jahren fahren auf allen Fähren kostenlos.",
                "Auf allen Fähren fahren Kinder unter {age} Jahren gratis.",
            ),
        ),
        Sentence(
            "Book early, because the guided tours fill up quickly {season}.",
            (
                "Buchen Sie früh, denn die Führungen sind {season} schnell ausgebucht.",
                "Eine frühe Buchung lohnt sich, weil die Führungen {season} rasch ausgebucht sind.",
            ),
        ),
    ),
    {
        "town": (
            ("Marienthal", "Marienthal"),
            ("Hohenstein", "Hohenstein"),
            ("Wiesenbrück", "Wiesenbrück"),
            ("Steinach", "Steinach"),
            ("Falkensee", "Falkensee"),
        ),
        "where": (
            ("on the shore of a deep lake", "am Ufer eines tiefen Sees"),
            ("at the foot of the mountains", "am Fuß der Berge"),
            ("in the middle of a vast forest", "mitten in einem weiten Wald"),
        ),
        "rooms": (("twenty", "zwanzig"), ("thirty-five", "fünfunddreißig"), ("sixty", "sechzig")),
        "hour": (("ten o’clock", "zehn Uhr"), ("half past nine", "halb zehn"), ("eleven o’clock", "elf Uhr")),
        "sight": (
            ("the old castle", "das alte Schloss"),
            ("the harbour", "den Hafen"),
            ("the snow-covered peaks", "die verschneiten Gipfel"),
        ),
        "daytime": (
            ("at sunrise", "bei Sonnenaufgang"),
            ("in the evening", "am Abend"),
            ("on clear days", "an klaren Tagen"),
        ),
        "hire": (
            ("at the station", "am Bahnhof"),
            ("at the reception desk", "an der Rezeption"),
            ("next to the museum", "neben dem Museum"),
        ),
        "price": (("nine euros", "neun Euro"), ("twelve euros", "zwölf Euro"), ("fifteen euros", "fünfzehn Euro")),
        "dish": (
            ("the plum cake", "den Pflaumenkuchen"),
            ("the goat cheese", "den Ziegenkäse"),
            ("the rye bread", "das Roggenbrot"),
        ),
        "day": (("on Mondays", "montags"), ("on public holidays", "an Feiertagen"), ("in January", "im Januar")),
        "nature": (
            ("the vineyards", "die Weinberge"),
            ("the beech forest", "den Buchenwald"),
            ("the gorge", "die Schlucht"),
        ),
        "age": (("six", "sechs"), ("twelve", "zwölf"), ("fourteen", "vierzehn")),
        "season": (
            ("in summer", "im Sommer"),
            ("during the school holidays", "in den Schulferien"),
            ("around Christmas", "um Weihnachten"),
        ),
    },
    frozenset({"hire", "day", "season"}),
)

SUPPORT = Domain(
    "support",
    (
        Sentence(
            "Thank you for contacting us about {product}.",
            (
                "Vielen Dank für Ihre Anfrage zu {product}.",
                "Danke, dass Sie sich mit Ihrer Frage zu {product} an uns gewandt haben.",
            ),
        ),
        Sentence(
            "Please switch the device off and wait for at least {wait} before you restart it.",
            (
                "Bitte schalten Sie das Gerät aus und warten Sie mindestens {wait}, bevor Sie es neu starten.",
                "Schalten Sie das Gerät bitte aus, und starten Sie es frühestens nach {wait} neu.",
            ),
        ),
        Sentence(
            "If {symptom}, check whether the cable is damaged.",
            (
                "Wenn {symptom}, prüfen Sie, ob das Kabel beschädigt ist.",
                "Prüfen Sie, ob das Kabel beschädigt ist, wenn {symptom}.",
            ),
        ),
        Sentence(
            "The latest driver is available for download {source}.",
            (
                "Der neueste Treiber steht {source} zum Herunterladen bereit.",
                "Den neuesten Treiber finden Sie {source} zum Herunterladen.",
            ),
        ),
        Sentence(
            "Your data will not be deleted unless you choose {option}.",
            (
                "Ihre Daten werden nur gelöscht, wenn Sie {option} wählen.",
                "Es werden keine Daten gelöscht, es sei denn, Sie wählen {option}.",
            ),
        ),
        Sentence(
            "We will refund {amount} within {period}.",
            (
                "Wir erstatten Ihnen {amount} innerhalb von {period}.",
                "Sie erhalten {amount} innerhalb von {period} zurück.",
            ),
        ),
        Sentence(
            "The warranty covers {defect}, but not damage caused by liquids.",
            (
                "Die Garantie gilt für {defect}, aber nicht für Schäden durch Flüssigkeiten.",
                "Von der Garantie abgedeckt sind {defect}, nicht jedoch Schäden durch Flüssigkeiten.",
            ),
        ),
        Sentence(
            "Should the problem persist, our technicians can be reached by phone {hours}.",
            (
                "Sollte das Problem weiter bestehen, erreichen Sie unsere Techniker {hours} telefonisch.",
                "Falls das Problem bestehen bleibt, sind unsere Techniker {hours} telefonisch erreichbar.",
            ),
        ),
        Sentence(
            "We apologise for the inconvenience and wish you {wish}.",
            (
                "Wir bitten um Entschuldigung für die Unannehmlichkeiten und wünschen Ihnen {wish}.",
                "Bitte entschuldigen Sie die Umstände, und wir wünschen Ihnen {wish}.",
            ),
        ),
    ),
    {
        "product": (
            ("your new printer", "Ihrem neuen Drucker"),
            ("your order", "Ihrer Bestellung"),
            ("your subscription", "Ihrem Abonnement"),
            ("your vacuum cleaner", "Ihrem Staubsauger"),
        ),
        "wait": (
            ("ten seconds", "zehn Sekunden"),
            ("thirty seconds", "dreißig Sekunden"),
            ("two minutes", "zwei Minuten"),
        ),
        "symptom": (
            ("the screen stays black", "der Bildschirm schwarz bleibt"),
            ("the light keeps flashing", "die Leuchte ständig blinkt"),
            ("the fan makes a noise", "der Lüfter Geräusche macht"),
        ),
        "source": (
            ("on our website", "auf unserer Website"),
            ("in your customer account", "in Ihrem Kundenkonto"),
            ("in the app", "in der App"),
        ),
        "option": (
            ("“Reset everything”", "„Alles zurücksetzen“"),
            ("“Delete account”", "„Konto löschen“"),
            ("“Erase memory”", "„Speicher leeren“"),
        ),
        "amount": (
            ("the full purchase price", "den vollen Kaufpreis"),
            ("the shipping costs", "die Versandkosten"),
            ("the deposit", "die Anzahlung"),
        ),
        "period": (
            ("five working days", "fünf Werktagen"),
            ("two weeks", "zwei Wochen"),
            ("a month", "einem Monat"),
        ),
        "defect": (
            ("manufacturing defects", "Herstellungsfehler"),
            ("broken hinges", "gebrochene Scharniere"),
            ("faulty batteries", "defekte Akkus"),
        ),
        "hours": (
            ("around the clock", "rund um die Uhr"),
            ("on weekdays until eight", "werktags bis acht Uhr"),
            ("every morning", "jeden Vormittag"),
        ),
        "wish": (
            ("a pleasant weekend", "ein angenehmes Wochenende"),
            ("much success with your work", "viel Erfolg bei der Arbeit"),
            ("a good start to the week", "einen guten Start in die Woche"),
        ),
    },
    frozenset({"hours", "source"}),
)

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
