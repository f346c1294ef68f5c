"""News from a town hall, in English and German."""

from __future__ import annotations

from app.demo.grammar import Domain, Sentence

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
