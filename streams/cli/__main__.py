"""``python -m streams.cli``: the command line where its script is not at hand."""

from streams.cli import main

main()
