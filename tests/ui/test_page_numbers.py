"""Numbers that modules write look like those that the server writes."""

from __future__ import annotations

import json

import pytest

from app.reports.kit.text_formatting import format_number
from app.ui.assets import FOLDER
from app.ui.messages import load_page_messages
from tests.ui.page_modules import run_module

VALUES = (-0.943, -1234.5, 0.5, 12)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_negative_number_has_the_minus_of_the_tables(language):
    messages = (FOLDER / "shared" / "messages.js").as_uri()
    written = run_module(f"""
      globalThis.document = {{ documentElement: {{ lang: {json.dumps(language)} }} }};
      const {{ number }} = await import({json.dumps(messages)});
      console.log(JSON.stringify({json.dumps(VALUES)}.map((value) => number(value, 3))));
    """)
    assert isinstance(written, list)
    cells = [load_page_messages(language).translate_cell(format_number(value, 3)) for value in VALUES]
    assert [text.startswith("−") for text in written] == [cell.startswith("−") for cell in cells]
    assert "-" not in "".join(written)


def test_decimals_of_a_column_stand_below_one_another():
    messages = (FOLDER / "shared" / "messages.js").as_uri()
    written = run_module(f"""
      globalThis.document = {{ documentElement: {{ lang: "en" }} }};
      const {{ number }} = await import({json.dumps(messages)});
      console.log(JSON.stringify([-0.52, -0.5472, 1].map((value) => number(value, 3, 3))));
    """)
    assert written == ["−0.520", "−0.547", "1.000"]
