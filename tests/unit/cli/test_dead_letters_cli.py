"""``proofstream dead-letters`` where it is asked for what cannot be."""

import pytest
from click.testing import CliRunner

from streams.cli.dead_letters import dead_letters


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("requeue",), "name the dead letters by their ids, or give --all"),
        (("requeue", "--stage", "intake"), "name the dead letters by their ids, or give --all"),
        (("requeue", "3/17", "--all"), "name the dead letters by their ids, or give --all"),
        (("requeue", "3/17", "--class", "not_json"), "filters go with --all, not with ids"),
        (("requeue", "3/17", "3-18"), "'3-18' is no dead letter's id"),
        (("show", "3"), "'3' is no dead letter's id"),
        (("list", "--since", "yesterday"), "'yesterday' is not an RFC 3339 date-time"),
        (("list", "--stage", "nowhere"), "'nowhere' is not one of"),
        (("list", "--limit", "0"), "0 is not in the range"),
    ],
)
def test_what_cannot_be_is_named(arguments: tuple[str, ...], sentence: str) -> None:
    result = CliRunner().invoke(dead_letters, arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_broker_that_does_not_answer_is_named() -> None:
    result = CliRunner().invoke(dead_letters, ["list", "--bootstrap-servers", "127.0.0.1:1"])
    assert result.exit_code == 1
    assert "Kafka does not answer at 127.0.0.1:1" in result.stderr
