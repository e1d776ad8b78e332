"""Parameters as YAML text that readers of YAML 1.1 and 1.2 understand alike.

They differ about `1e-5` (a text in 1.1), `0777`, `on` and `12:30`, so floats always have a point and a
signed exponent, and every text that might be taken for something else is quoted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = frozenset(["y", "yes", "n", "no", "true", "false", "on", "off", "null", "nan", "inf"])
# What neither version may hold as it is: controls, the further line ends, marks and halves of pairs.
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def dump(value: Any) -> str:
    """`value` (mappings, lists, texts, numbers, booleans, None) as a YAML document."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{_scalar(key)}:", item, inside_list=False)
    elif isinstance(value, list | tuple) and value:
        for item in value:
            yield from _entry("-", item, inside_list=True)
    else:
        yield _scalar(value)


def _entry(head: str, item: Any, *, inside_list: bool) -> Iterator[str]:
    if not isinstance(item, dict | list | tuple) or not item:
        yield f"{head} {_scalar(item)}"
        return
    lines = _lines(item)
    if inside_list:
        yield f"{head} {next(lines)}"
    else:
        yield head
    yield from (f"  {line}" for line in lines)


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, dict | list | tuple):
        return "{}" if isinstance(value, dict) else "[]"
    return _text(str(value))


def _float(value: float) -> str:
    if not math.isfinite(value):
        return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
    mantissa, _, exponent = repr(value).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    if not exponent:
        return mantissa
    return f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
