"""Language modelling: what comes next in a text, and so, how it goes on."""
