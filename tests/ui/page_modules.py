"""The modules of pages without a browser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from playwright._impl._driver import compute_driver_executable

from app.ui.assets import FOLDER


def run_module(script: str) -> object:
    """What a script prints as JSON, beside the modules of the pages."""
    node, _ = compute_driver_executable()
    done = subprocess.run(
        [str(node), "--input-type=module", "-e", script], capture_output=True, text=True, check=True, cwd=Path(FOLDER)
    )
    return json.loads(done.stdout)
