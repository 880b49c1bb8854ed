"""Readers, one file per dataset: from the folder that its owner ships to ``frames`` and ``hands`` tables."""
