"""A travel guide, in English and German."""

from __future__ import annotations

from app.demo.grammar import Domain, Sentence

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
