"""The gateway: providers' webhooks in over HTTP, authenticated, and out to the topic `webhooks`, byte for byte.

A delivery is answered 200 once Kafka has acknowledged it, and not before. ``app`` is what a request goes through, in
order; ``publisher`` is Kafka; ``connections`` cuts off what comes too slowly; ``process`` runs it all.
"""
