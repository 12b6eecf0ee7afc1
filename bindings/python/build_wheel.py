#!/usr/bin/env python3
"""Builds the wheel of tilert_jit with the standard library alone: a PEP 517 back end, and by itself build_wheel.py FOLDER.

With TILERT_LIB_DIR, libtilert.so.0 and its plugin go into the wheel, which is then for this platform; else the library is found at
run time. Not here: what is in the package.
"""

import base64
import hashlib
import os
import platform
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "tilert_jit"
LIBRARIES = ("libtilert.so.0", "libtilert_llvm.so")
STAMP = (1980, 1, 1, 0, 0, 0)  # the same bytes each time


def _project():
    """Version, summary and Python of pyproject.toml."""
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    return {key: re.search(rf'^{key} = "(.*)"$', text, re.M)[1] for key in ("version", "description", "requires-python")}


def _files():
    """{name in the wheel: bytes} of the package and, where asked for, the libraries."""
    out = {}
    for name in sorted(os.listdir(os.path.join(HERE, NAME))):
        if name.endswith(".py") or name == "py.typed":
            with open(os.path.join(HERE, NAME, name), "rb") as file:
                out[f"{NAME}/{name}"] = file.read()
    folder = os.environ.get("TILERT_LIB_DIR")
    for name in LIBRARIES if folder else ():
        # Where it is installed, the plugin lies in a folder below the library.
        places = [os.path.join(folder, below, name) for below in ("", "tilert-0")]
        with open(next((place for place in places if os.path.exists(place)), places[0]), "rb") as file:
            out[f"{NAME}/{name}"] = file.read()
    return out


def _metadata(project):
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {project['version']}\nSummary: {project['description']}\n"
            f"License: Apache-2.0\nRequires-Python: {project['requires-python']}\nDescription-Content-Type: text/markdown\n\n{readme}")


def _record(files):
    rows = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}")
    return rows


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel; its name."""
    project, files = _project(), _files()
    bundled = any(name.endswith((".so", ".so.0")) for name in files)
    tag = f"py3-none-linux_{platform.machine()}" if bundled else "py3-none-any"
    info = f"{NAME}-{project['version']}.dist-info"
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: {str(not bundled).lower()}\nTag: {tag}\n".encode()
    files[f"{info}/RECORD"] = "\n".join([*_record(files), f"{info}/RECORD,,", ""]).encode()
    wheel = f"{NAME}-{project['version']}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), data, zipfile.ZIP_DEFLATED)
    return wheel


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    print(build_wheel(sys.argv[1]))
