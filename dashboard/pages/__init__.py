"""One page a file: ``layout(service, look)`` gives a page, ``register(app, service)`` its callbacks."""
