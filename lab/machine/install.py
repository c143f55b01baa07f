"""`pip install` by uv, if uv can be installed: the same packages from the same sources in a fraction of the time.

    python -m lab.machine.install -r requirements-cluster.txt

Uses only the standard library, because it runs in environments that are still empty. Options that only uv knows, such
as `--torch-backend cpu`, are rejected without uv.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

UV = "uv==0.13.9"
# pip's settings of package sources -> uv's environment variables; uv does not read pip's configuration.
NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def main(arguments: Sequence[str]) -> int:
    """Install into this environment. arguments: of `pip install`. Returns the installer's exit status."""
    pip = [sys.executable, "-m", "pip"]
    if find_spec("uv") or subprocess.run([*pip, "install", "--quiet", UV], stderr=subprocess.DEVNULL).returncode == 0:
        listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True).stdout
        uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
        return subprocess.call([*uv, *arguments], env=places(listed) | os.environ)
    if "--torch-backend" in arguments:
        print(f"TORCH={arguments[arguments.index('--torch-backend') + 1]} needs uv: pip install {UV}", file=sys.stderr)
        return 2
    print("uv cannot be had here: pip does it, which takes longer", file=sys.stderr)
    return subprocess.call([*pip, "install", "--quiet", *arguments])


def places(listed: str) -> dict[str, str]:
    """uv's environment variables for pip's indexes, wheel folders and certificates. listed: `pip config list`."""
    pairs = [line.partition("=") for line in listed.splitlines()]
    settings = {name: ast.literal_eval(value) for name, _, value in pairs}
    # pip's own order: the command's section overrides the global one, and PIP_… variables override both.
    values_of = {
        uv: settings[f"{section}.{name}"].split()
        for section in ("global", "install", ":env:")
        for name, uv in NAMES.items()
        if f"{section}.{name}" in settings
    }
    variables = {name: ("," if name == "UV_FIND_LINKS" else " ").join(values) for name, values in values_of.items()}
    # pip takes the best version from all indexes, uv by default the first index that has the package.
    return variables | ({"UV_INDEX_STRATEGY": "unsafe-best-match"} if "UV_INDEX" in variables else {})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
