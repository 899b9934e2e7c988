"""The kinds of plans: what each of them needs is named by text, which is loaded when it is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assocpriv.promise.errors import PlanError

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

KINDS = {
    "select-a-size": "assocpriv.plans.baskets:Plan",
    "fixed-size": "assocpriv.plans.baskets:Plan",
    "table": "assocpriv.plans.tables:TablePlan",
    "guided": "assocpriv.plans.guided:GuidedPlan",
}


def load(reference: str) -> Any:
    """Return the object that ``module:name`` stands for, importing the module.

    >>> load("fractions:Fraction")(1, 3)
    Fraction(1, 3)
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def load_for(kind: str, registry: Mapping[str, str], done: str) -> Any:
    """Return what a registry names for a kind of plan; ``done`` says what is done with it, in the past.

    Raises:
        PlanError: it has no line for the kind.
    """
    if kind not in registry:
        raise PlanError(f"plans of the kind {kind} cannot be {done} here; a newer release may know how")
    return load(registry[kind])


def parse_plan(text: str) -> "PublishedPlan":
    """Read a plan of any kind from JSON text.

    Raises:
        PlanError: not a plan, one of a kind that is not known here, or one whose fields contradict each other.
    """
    from assocpriv.plans.published import UNKNOWN, check_envelope, parse_text

    content = check_envelope(parse_text(text))
    if content["kind"] not in KINDS:
        raise PlanError(UNKNOWN)
    plan: PublishedPlan = load(KINDS[content["kind"]]).from_json(content)
    return plan


def shown_by(reference: str) -> Callable[[Any], str]:
    """Return a ``_repr_html_``: what ``module:function`` makes of an object, for notebooks, which alone load it."""
    return lambda thing: str(load(reference)(thing))


def on_first_use(
    variables: dict[str, Any], homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a module's ``__getattr__`` and ``__dir__``, which load the names of other modules on first use (PEP 562).

    ``variables`` are the module's globals, ``__all__`` among them, which is all that ``dir`` shows; ``homes`` has names
    like "make_plan" or "make_plan as plan" by their module.
    """
    pairs = [(home, *name.partition(" as ")[::2]) for home, names in homes.items() for name in names]
    home_of = {alias or name: (home, name) for home, name, alias in pairs}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {variables['__name__']!r} has no attribute {name!r}")
        home, there = home_of[name]
        variables[name] = getattr(import_module(home), there)  # looked up once
        return variables[name]

    return get, lambda: sorted([*variables["__all__"], *(name for name in variables if name.startswith("__"))])
