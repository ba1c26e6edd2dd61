"""Dead letters, for repair: found, looked at, and put back where they came from once the cause is mended.

``letter`` reads one from its record; ``search`` finds them; ``show`` writes one out; ``requeue`` makes the record that
goes back, and the mark that says so; ``desk`` does all of it on the topics.
"""
