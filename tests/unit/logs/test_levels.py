from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from contrail.logs import indexer, levels
from contrail.logs.levels import LevelParser
from contrail.model.logs import Level

INFO, WARNING, ERROR = Level.INFO, Level.WARNING, Level.ERROR

LINES = [
    # Python logging, several layouts
    ("INFO:root:started", INFO),
    ("DEBUG:root:an ERROR word later", INFO),
    ("WARNING:py.warnings:x", WARNING),
    ("ERROR:root:boom", ERROR),
    ("CRITICAL:root:boom", ERROR),
    ("2026-01-02 03:04:05,678 - train - ERROR - no such file", ERROR),
    ("2026-01-02 03:04:05,678 - train - INFO - 3 ERROR lines found", INFO),
    ("[2026-01-02 03:04:05,678][train][WARNING] - slow", WARNING),
    ("[INFO|trainer.py:123] 2026-01-02 >> ***** Running *****", INFO),
    ("[WARNING|modeling.py:9] 2026-01-02 >> weights", WARNING),
    # loguru
    ("2026-01-02 03:04:05.678 | ERROR    | __main__:f:3 - bad", ERROR),
    ("2026-01-02 03:04:05.678 | WARNING  | __main__:f:3 - hm", WARNING),
    ("2026-01-02 03:04:05.678 | SUCCESS  | __main__:f:3 - ERROR gone", INFO),
    ("\x1b[32m2026-01-02\x1b[0m | \x1b[31m\x1b[1mERROR   \x1b[0m | x - y", ERROR),
    # absl and glog
    ("E0102 03:04:05.678901 12345 file.cc:10] bad", ERROR),
    ("W20260102 03:04:05.678901 1 file.cc:10] hm", WARNING),
    ("F0102 03:04:05.678901 1 file.cc:10] check failed", ERROR),
    ("I0102 03:04:05.678901 1 file.cc:10] ERROR handled", INFO),
    # JSON and logfmt
    ('{"level": "error", "msg": "x"}', ERROR),
    ('{"event": "x", "levelname": "WARNING"}', WARNING),
    ('{"msg": "an ERROR", "severity": "info"}', INFO),
    ('{"level":50,"msg":"pino"}', ERROR),
    ('{"level":40,"msg":"pino"}', WARNING),
    ('{"level":30,"msg":"pino error"}', INFO),
    ('{"loss": 0.3, "error": 0.1}', INFO),
    ('time="2026" level=warning msg="x"', WARNING),
    ('time="2026" level=error msg="x"', ERROR),
    # warnings module, compilers, tools
    ("/a/b.py:12: UserWarning: deprecated", WARNING),
    ("FutureWarning: soon", WARNING),
    ("warning: unused variable", WARNING),
    ("main.c:3:5: error: expected ;", ERROR),
    ("fatal: not a git repository", ERROR),
    ("[error] cannot open", ERROR),
    ("npm ERR! code E404", ERROR),
    ("npm WARN deprecated", WARNING),
    # native code, NCCL, launchers
    ("node1:123:456 [0] NCCL WARN Connect failed", WARNING),
    ("node1:123:456 [0] NCCL INFO Channel 00", INFO),
    ("[rank3]: ValueError: bad shape", ERROR),
    ("[rank0]:[E1130 10:00:00.000 ProcessGroupNCCL.cpp:616] Watchdog caught", ERROR),
    ("[default0]: WARNING: x", WARNING),
    ("0: ERROR: x", ERROR),
    ("(RayTrainWorker pid=12, ip=10.0.0.1) ERROR x", ERROR),
    ("terminate called after throwing an instance of 'c10::Error'", ERROR),
    ("  what():  CUDA error: device-side assert", ERROR),
    ("Segmentation fault (core dumped)", ERROR),
    ("Killed", ERROR),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", ERROR),
    ("KeyboardInterrupt", ERROR),
    # and what is no level at all
    ("epoch 3 validation error: 0.12", INFO),
    ("error: 0.05", INFO),
    ("no errors found", INFO),
    ("Loading ErrorModel", INFO),
    ("loss=0.3 ERROR_RATE=1", INFO),
    (" 10%|#         | 1/10", INFO),
    ("x" * 300 + " ERROR", INFO),
    ("", INFO),
]


@pytest.mark.parametrize(("line", "level"), LINES)
def test_level_of_a_line(line, level):
    """Known forms give their level; a word inside a sentence, a metric or a name does not."""
    assert LevelParser().line(line.encode())[0] is level


PIECES = st.sampled_from(
    [line for line, _ in LINES]
    + ["ERROR", "warn", "level", '"level": 5', ":", " ", "[", "]", "W0102 03:04", "Error", "\x1b[1m"]
)


@given(st.lists(PIECES | st.text(max_size=6), max_size=4).map("".join))
def test_only_suspicious_lines_can_have_a_level(line):
    """The quick scan over whole blocks never passes over a line that is not info."""
    text = line.replace("\n", " ").encode("utf-8", "replace")
    if LevelParser().line(text) != (INFO, False):
        assert indexer._SUSPICIOUS.search(text) is not None


def test_the_quick_scan_is_valid_re2():
    """Both regular expression engines know the pattern."""
    assert re2.compile(levels.SUSPICIOUS, indexer._options())


def test_a_warning_takes_its_source_line_along():
    """The line of source that the warnings module prints below belongs to the warning, the next line does not."""
    parser = LevelParser()
    lines = [b"a.py:1: UserWarning: x", b"  warnings.warn(x)", b"  indented table"]
    assert [parser.line(line) for line in lines] == [(WARNING, False), (WARNING, True), (INFO, False)]


def test_progress_bars_below_an_error_are_not_part_of_it():
    """A bar begins with blanks like a continuation, but it is none."""
    parser = LevelParser()
    assert [parser.line(line)[0] for line in (b"ValueError: x", b"  5%|# | 1/20")] == [ERROR, INFO]
