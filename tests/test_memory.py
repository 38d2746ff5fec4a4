"""The least memory of a run: the bytes of weights, gradients and optimizer states."""

from cases import each, read_cases
from rl_resources.facts.models import minimum_memory_gb, parameters_in_name

CASES = read_cases("memory")


@each(CASES["bytes"], "weights saved size")
def test_each_parameter_takes_so_many_bytes(weights, saved, size):
    assert minimum_memory_gb(7, weights, saved) == 7 * size


@each(CASES["names"], "name billions")
def test_a_name_says_all_parameters_of_a_model_or_none(name, billions):
    assert parameters_in_name(name) == billions
