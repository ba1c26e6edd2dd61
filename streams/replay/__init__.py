"""Replay: a history of the world, run on a virtual clock through the worker's own stages.

``history`` reads the file, ``world`` holds what the provider would answer, ``runner`` runs it, ``comparison`` says
where it differs from what was expected.
"""
