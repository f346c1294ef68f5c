"""Answers of a help desk, in English and German."""

from __future__ import annotations

from app.demo.grammar import Domain, Sentence

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
