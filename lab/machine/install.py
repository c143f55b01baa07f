"""`pip install`, done by uv where uv can be had: the same packages from the same places in a fraction of the time.

    python -m lab.machine.install -r requirements-cluster.txt

Needs the standard library alone, because it runs in environments that are still empty. What uv knows and pip does not,
such as `--torch-backend cpu`, is rejected where uv cannot be had.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

UV = "uv==0.13.9"
# Where pip is told to find packages, and uv's name for it; uv does not read pip's configuration.
NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def main(arguments: Sequence[str]) -> int:
    """Install what the arguments of `pip install` say, here; the installer's exit status."""
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
    """uv's environment variables for what `pip config list` prints: indexes, folders of wheels, certificates."""
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
    # pip takes the best version of all indexes, uv the first index that has the package.
    return variables | ({"UV_INDEX_STRATEGY": "unsafe-best-match"} if "UV_INDEX" in variables else {})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
