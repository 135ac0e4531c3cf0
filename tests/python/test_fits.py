"""Measurements of one's own in Python: ``fit=`` of every call that takes a machine, and what else people see first."""

import subprocess
import sys
import textwrap

import pytest

flopcast = pytest.importorskip("flopcast")


@pytest.fixture(scope="module")
def constants(tmp_path_factory):
    file = tmp_path_factory.mktemp("fits") / "training.toml"
    file.write_text("[all]\nstep_s = 0.4\n")
    return file


def test_a_fit_moves_the_answer_and_is_told(constants):
    plain = flopcast.TrainingModel("llama-3-8b", "dgx-h100").estimate(tp=8, global_batch=16)
    own = flopcast.TrainingModel("llama-3-8b", "dgx-h100", fit=[constants]).estimate(tp=8, global_batch=16)
    assert own.time_s > plain.time_s + 0.3
    assert own.to_dict()["own_fits"] == [{"file": str(constants), "kind": "constants"}]
    assert str(constants) in str(own)
    one = flopcast.plan("llama-3-8b", "dgx-h100", fit=constants, global_batch=16, constraints=["tp=8"], best=1)
    assert str(constants) in str(one)


@pytest.mark.parametrize(
    "call",
    [
        lambda fit: flopcast.Cluster("2 x dgx-h100", fit=fit),
        lambda fit: flopcast.KernelModel("h100", fit=fit),
        lambda fit: flopcast.serve("llama-3-8b", "dgx-h100", fit=fit, users=4, input=64, output=8, tp=8),
        lambda fit: flopcast.serve_plan("llama-3-8b", "dgx-h100", fit=fit, users=4, input=64, output=8, slo="ttft.p99<9s"),
        lambda fit: flopcast.map("gpt3-175b", f"8 x sn10, fit {fit}"),
    ],
    ids=["net", "kernels", "serve", "serve_plan", "map"],
)
def test_a_fit_that_would_not_be_used_is_refused_by_name(call, constants):
    with pytest.raises(flopcast.FlopcastError, match="training.toml"):
        call(constants)


def test_a_fit_needs_a_machine(constants):
    with pytest.raises(flopcast.FlopcastError, match="no machine"):
        flopcast.serve(fit=constants)


def test_dir_shows_what_is_public():
    assert dir(flopcast) == sorted(flopcast.__all__)
    for name in dir(flopcast):
        assert getattr(flopcast, name) is not None


def test_without_pandas_a_data_frame_says_what_to_install():
    script = textwrap.dedent("""
        import sys
        sys.modules["pandas"] = None  # as where it is not installed
        import flopcast
        step = flopcast.estimate("llama-3-8b", "dgx-h100", tp=8, global_batch=16)
        for frame in (step.to_pandas, step.stages_to_pandas):
            try:
                frame()
            except ImportError as error:
                print(error)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "a data frame needs pandas: pip install pandas\n" * 2
