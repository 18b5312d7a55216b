"""The side of the storage core that writes: a store of our own. Readers need not load it."""
