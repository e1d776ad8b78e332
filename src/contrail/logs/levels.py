"""The level of a log line, from the line alone.

Only the first bytes of a line are looked at, anchored or near its start: an ERROR in the middle of a sentence does
not make the line an error. Known forms: Python logging in its many layouts, loguru, absl and glog, JSON lines,
logfmt, the warnings module, compilers (`file:1:2: error:`), NCCL, and a few words with which native code dies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contrail.model.logs import Level

HEAD_BYTES = 2048  # as much of a line as the level may depend on
_NEAR = 200  # level words count only this near to the start

ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^-~])")

# What launchers put before each line: torchrun `[rank0]:`, `[default0]:`, srun `0:`, Ray `(Worker pid=1)`.
_PREFIX = re.compile(
    rb"(?:\[(?:rank|default|node)?\d+(?:/\d+)?\]:? ?|\d+: |\([\w:]+ pid=\d+(?:, ip=[\d.]+)?\) ?)"
)

_WORDS = {
    b"WARN": Level.WARNING,
    b"WARNING": Level.WARNING,
    b"ERROR": Level.ERROR,
    b"ERR": Level.ERROR,
    b"ERR!": Level.ERROR,
    b"FATAL": Level.ERROR,
    b"CRITICAL": Level.ERROR,
    b"CRIT": Level.ERROR,
    b"SEVERE": Level.ERROR,
    b"PANIC": Level.ERROR,
    b"EMERG": Level.ERROR,
    b"EMERGENCY": Level.ERROR,
    b"ALERT": Level.ERROR,
    b"FATAL ERROR": Level.ERROR,
}

# Lines without any of these are info; one scan over a whole block is far cheaper than a look at every line.
# Coloured lines are always looked at, because a colour may sit inside a word.
SUSPICIOUS = (
    rb"(?i:warn|error|err!|\berr\b|fatal|crit|severe|panic|emerg|alert|exception|traceback|interrupt|terminate called"
    rb"|what\(\):|segmentation fault|killed|aborted|core dumped|illegal instruction"
    rb"|(?:level|levelname|severity|lvl)[\"'] ?: ?[\"']?[4-6]\d)|[WEF]\d{4,8} \d\d:\d\d|\x1b"
)

_GLOG = re.compile(rb"\[?([IWEF])\d{4}(?:\d{4})? \d\d:\d\d:\d\d")
_GLOG_LEVELS = {b"I": Level.INFO, b"W": Level.WARNING, b"E": Level.ERROR, b"F": Level.ERROR}
_JSON = re.compile(
    rb"[\"'](?:level|levelname|severity|lvl|log\.level|loglevel|log_level)[\"'] ?: ?[\"']?(\w+)", re.I
)
_LOGFMT = re.compile(rb"(?:^|\s)(?:level|lvl|severity)=\"?(\w+)", re.I)
_TOKEN = re.compile(
    rb"(?:^|[\s\[(|<:\-])(TRACE|DEBUG|INFO|NOTICE|SUCCESS|WARN(?:ING)?|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|PANIC|"
    rb"EMERG(?:ENCY)?|ALERT)(?=[\s\])|>:,\-/]|$)"
)
_BRACKET = re.compile(rb"\[(trace|debug|info|notice|warn(?:ing)?|error|critical|fatal|panic)\]", re.I)
# `error:` at the start, or behind one `file:1:2:` or `program:`; followed by a number it is a metric, not an error.
_LEAD = re.compile(
    rb"(?:\S+: )?(fatal error|error|err!|fatal|critical|panic|warning|warn)(?:\[\w+\])?:"
    rb"(?!\s*[-+.\d]+\s*(?:$|[,;|]))",
    re.I,
)
_NPM = re.compile(rb"npm (ERR!|WARN|error|warn)(?=\s|$)")
_WARNINGS_MODULE = re.compile(rb"(?:\S.*?:\d+: )?(?:[A-Za-z_][\w.]*)?Warning: ")
_EXCEPTION = re.compile(rb"(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?::(?: |$)|$)")
_DEATH = re.compile(
    rb"(?:terminate called|\s+what\(\):|Segmentation fault|Killed$|Aborted(?:$| \(core)|Bus error|Fatal Python error|"
    rb"Floating point exception|Illegal instruction)|.*\(core dumped\)"
)
_TRACEBACK = re.compile(
    rb"[\s|+]*(?:Exception Group )?Traceback \(most recent call last\)|.{0,120}Traceback \(most recent call last\):\s*$"
)
_CHAIN = (b"During handling of the above exception", b"The above exception was the direct cause")
_LAST_OF_TRACEBACK = re.compile(rb"([A-Za-z_][\w.]*)(?::(?: |$)|$)")
_LEVEL_NAMES = {*_WORDS, b"INFO", b"DEBUG", b"TRACE", b"NOTICE", b"SUCCESS"}
_INDENTS = (b" ", b"\t", b"|", b"+")
_FOREIGN_MAX = 20  # lines of other processes inside a traceback, after which it counts as cut off
_MESSAGE_MAX = 1000  # indented lines below an exception
_BLOCKS_MAX = 256
_PROGRESS = re.compile(rb"\s*\d{1,3}%")


def split_prefix(head: bytes) -> tuple[bytes, bytes]:
    """The launcher's prefix (empty if there is none) and the rest, both without colours."""
    if b"\x1b" in head:
        head = ANSI.sub(b"", head)
    found = _PREFIX.match(head)
    return (found.group(), head[found.end() :]) if found else (b"", head)


def of_line(text: bytes) -> Level:
    """The level of one line without prefix and colours."""
    if text[:1] == b"{" and (found := _JSON.search(text)):
        return _of_value(found.group(1))
    if found := _GLOG.match(text):
        return _GLOG_LEVELS[found.group(1)]
    near = text[:_NEAR]
    if found := _TOKEN.search(near) or _BRACKET.search(near) or _LOGFMT.search(near) or _NPM.match(near):
        return _WORDS.get(found.group(1).upper(), Level.INFO)
    if _WARNINGS_MODULE.match(near):
        return Level.WARNING
    if found := _LEAD.match(near):
        return _WORDS[found.group(1).upper()]
    if _EXCEPTION.match(near) or _DEATH.match(near):
        return Level.ERROR
    return Level.INFO


def _of_value(value: bytes) -> Level:
    """The level in a JSON field. Numbers are those of pino and bunyan: 30 info, 40 warn, 50 error, 60 fatal."""
    if len(value) == 2 and value.isdigit():
        return (
            Level.ERROR if b"50" <= value < b"70" else Level.WARNING if b"40" <= value < b"50" else Level.INFO
        )
    return _WORDS.get(value.upper(), Level.INFO)


@dataclass(slots=True)
class _Block:
    """What following lines of the same launcher prefix may belong to."""

    level: Level
    frames: bool  # inside a traceback, before its last line
    lines_left: int  # how many more lines may join (or, inside a traceback, come in between)


class LevelParser:
    """Levels of lines in order; remembers unfinished tracebacks, one per launcher prefix (so per rank)."""

    def __init__(self, state: Mapping[str, Sequence[int]] | None = None):
        self._blocks = {
            prefix.encode("latin-1"): _Block(Level(level), bool(frames), left)
            for prefix, (level, frames, left) in (state or {}).items()
        }

    @property
    def active(self) -> bool:
        """Whether the next line can belong to an earlier one."""
        return bool(self._blocks)

    def state(self) -> dict[str, list[int]]:
        """What another parser needs to go on, as JSON."""
        return {
            prefix.decode("latin-1"): [int(block.level), int(block.frames), block.lines_left]
            for prefix, block in self._blocks.items()
        }

    def line(self, head: bytes) -> tuple[Level, bool]:
        """The level of the next line, and whether it belongs to the line before."""
        prefix, text = split_prefix(head)
        block = self._blocks.get(prefix)
        if block is not None and self._joins(prefix, block, text):
            return block.level, True
        if _TRACEBACK.match(text):
            self._open(prefix, _Block(Level.ERROR, True, _FOREIGN_MAX))
            return Level.ERROR, False
        level = of_line(text)
        if level is Level.WARNING and _WARNINGS_MODULE.match(text[:_NEAR]):
            self._open(prefix, _Block(level, False, 1))  # the source line that Python shows below
        elif level is Level.ERROR and _EXCEPTION.match(text[:_NEAR]):
            self._open(prefix, _Block(level, False, _MESSAGE_MAX))
        return level, False

    def _open(self, prefix: bytes, block: _Block) -> None:
        if len(self._blocks) >= _BLOCKS_MAX:
            self._blocks.clear()
        self._blocks[prefix] = block

    def _joins(self, prefix: bytes, block: _Block, text: bytes) -> bool:
        if block.frames:
            return self._joins_traceback(prefix, block, text)
        if not text.strip():
            return False  # a blank line may stand between two chained tracebacks
        if text.startswith(_CHAIN):
            return True
        if block.level is Level.ERROR and _TRACEBACK.match(text):
            block.frames, block.lines_left = True, _FOREIGN_MAX
            return True
        block.lines_left -= 1
        joins = text[:1] in _INDENTS and not _PROGRESS.match(text)
        if not joins or block.lines_left <= 0:
            del self._blocks[prefix]
        return joins

    def _joins_traceback(self, prefix: bytes, block: _Block, text: bytes) -> bool:
        if not text.strip() or (text[:1] in _INDENTS and not _PROGRESS.match(text)) or _TRACEBACK.match(text):
            return True
        found = _LAST_OF_TRACEBACK.match(text)
        if found and found.group(1).upper() not in _LEVEL_NAMES:
            block.frames, block.lines_left = False, _MESSAGE_MAX
            return True
        block.lines_left -= 1  # another process wrote in between
        if block.lines_left <= 0:
            del self._blocks[prefix]
        return False
