"""A task, a model and a reader for Mirada from another distribution."""
