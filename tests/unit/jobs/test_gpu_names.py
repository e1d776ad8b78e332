"""Matching accelerator types with what drivers call their devices."""

from __future__ import annotations

import pytest

from contrail.engines import gpus
from contrail.engines.base import Gpu
from contrail.model.errors import InvalidParameterValue


@pytest.mark.parametrize(
    ("name", "model", "is_it"),
    [
        ("NVIDIA H100 80GB HBM3", "H100", True),
        ("NVIDIA H100 80GB HBM3", "h100_80gb", True),
        ("NVIDIA A100-SXM4-80GB", "A100", True),
        ("NVIDIA A100-SXM4-80GB", "A10", False),
        ("NVIDIA A10", "A10", True),
        ("NVIDIA A10G", "A10", False),
        ("NVIDIA GeForce RTX 4090", "RTX4090", True),
        ("NVIDIA GeForce RTX 4090", "4090", True),
        ("A10", "A10", True),
    ],
)
def test_a_model_is_whole_words_of_a_name(name: str, model: str, is_it: bool) -> None:
    """A10 is not A100, and spaces do not matter."""
    assert gpus.is_model(name, model) is is_it


@pytest.mark.parametrize(
    "name", ["NVIDIA H100 80GB HBM3", "NVIDIA A10", "NVIDIA GeForce RTX 4090", "Tesla T4", "A10"]
)
def test_a_short_name_finds_its_device(name: str) -> None:
    """What we offer can be asked for."""
    assert gpus.is_model(name, gpus.model_of(name))


def test_declared_gpus_are_numbered() -> None:
    """Several models in one setting."""
    assert gpus.declared("2xA10, 1xH100") == (Gpu("0", "A10"), Gpu("1", "A10"), Gpu("2", "H100"))


@pytest.mark.parametrize("text", ["A10", "0xA10", "2x", "2xA 10", "-1xA10"])
def test_a_bad_declaration_is_refused(text: str) -> None:
    """The error names the setting."""
    with pytest.raises(InvalidParameterValue, match="CONTRAIL_LOCAL_GPUS"):
        gpus.declared(text)


def test_a_machine_without_a_driver_has_no_gpus() -> None:
    """Asking NVML where there is none is no error."""
    assert isinstance(gpus.installed(), tuple)
