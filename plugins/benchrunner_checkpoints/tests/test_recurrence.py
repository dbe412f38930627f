"""An LSTM over the sequences of a flat batch reads each sequence as if it were alone."""

import numpy as np
import pytest
import torch
from torch import nn

from benchrunner_checkpoints.recurrence import read_one_way

LENGTHS = [3, 1, 7, 7, 2]


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("projection", [0, 4], ids=["plain", "projected"])
def test_outputs_and_gradients_are_those_of_each_sequence_alone(backward: bool, projection: int) -> None:
    """The sequences are in any order, with tokens between and after them that belong to none."""
    torch.manual_seed(0)
    lstm = nn.LSTM(5, 6, proj_size=projection)
    starts, lengths = np.array([21, 0, 2, 10, 18]), np.array(LENGTHS)
    states = torch.randn(27, 5, requires_grad=True)
    outputs = read_one_way(lstm, states, starts, lengths, backward=backward)
    weight = torch.randn(outputs.shape)
    (outputs * weight).sum().backward()
    gradients = [states.grad, *(parameter.grad for parameter in lstm.parameters())]
    again = states.detach().clone().requires_grad_()
    alone = nn.LSTM(5, 6, proj_size=projection)
    alone.load_state_dict(lstm.state_dict())
    total, covered = torch.zeros(()), torch.zeros(27, dtype=torch.bool)
    for start, length in zip(starts.tolist(), LENGTHS, strict=True):
        places = list(range(start, start + length))
        ordered = places[::-1] if backward else places
        for place, output in zip(ordered, _token_by_token(alone, again[ordered]), strict=True):
            torch.testing.assert_close(outputs[place], output, rtol=0, atol=1e-6)
            total = total + (output * weight[place]).sum()
        covered[places] = True
    assert not outputs[~covered].any() and (~covered).sum() == 7
    total.backward()
    for mine, theirs in zip(gradients, [again.grad, *(weight.grad for weight in alone.parameters())], strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5)


def _token_by_token(lstm: nn.LSTM, states: torch.Tensor) -> list[torch.Tensor]:
    """Feed one token at a time, with the memory of the tokens before."""
    outputs, memory = [], None
    torch.backends.mkldnn.enabled = False
    for token in states:
        output, memory = lstm(token[None], memory)
        outputs.append(output[0])
    torch.backends.mkldnn.enabled = True
    return outputs
