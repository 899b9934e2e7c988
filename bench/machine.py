"""The machine and package versions that figures were measured with."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import assocpriv

CPU = Path("/sys/devices/system/cpu/cpu0/cache")
OURS = ("numpy", "scipy", "pyarrow", "pandas")
PEERS = ("pyfim", "mlxtend", "efficient-apriori", "pyspark")


def machine() -> dict[str, object]:
    """Return processor, cores, caches and memory."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "caches": caches(),
        "memory_gib": round(memory_bytes() / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def cpu_model() -> str:
    """Return the processor's name, with its family and model where the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    fields = dict(reversed([(part.strip() for part in line.split(":", 1)) for line in lines if ":" in line]))
    name = fields.get("model name", platform.processor())
    return f"{name}, family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"


def caches() -> dict[str, str]:
    """Return the sizes of the first core's caches by level and kind."""
    found = {}
    for index in sorted(CPU.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level} {kind.lower()}"] = size
    return found


def memory_bytes() -> int:
    """Return the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def versions() -> dict[str, str]:
    """Return the versions of all measured packages; peers that are not installed are left out."""
    found = {"assocpriv": assocpriv.__version__}  # metadata of an editable installation may be of an older version
    for name in OURS + PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
