"""Who answers: one file per kind."""
