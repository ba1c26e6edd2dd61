"""The command line: ``proofstream``."""

import click

from streams.cli.contract_writing import new_contract, print_schema, test_contract
from streams.cli.contracts import contracts_group
from streams.cli.dead_letters import dead_letters
from streams.cli.demo import demo
from streams.cli.gateway import gateway
from streams.cli.operations import operations
from streams.cli.replay import replay
from streams.cli.verdicts import verdicts
from streams.cli.worker import worker
from streams.shadowing import refuse_shadowed_packages


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="proofstream")
def cli() -> None:
    """Prove that operations really happened.

    An API answered 200 to "refund this". A completion contract says what evidence proves it; the worker gathers that
    evidence from webhooks and from reading the provider back, and publishes a verdict: VERIFIED, CONTRADICTED, FAILED
    or UNVERIFIABLE.

    Try it with `proofstream demo`. Settings come from the environment (PROOFSTREAM_…), see the README.
    """


for command in (print_schema, new_contract, test_contract):
    contracts_group.add_command(command)
for command in (demo, worker, gateway, operations, verdicts, dead_letters, replay, contracts_group):
    cli.add_command(command)


def main() -> None:
    """Run the command line."""
    refuse_shadowed_packages()
    cli()
