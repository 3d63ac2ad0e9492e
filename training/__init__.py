"""How citeproof's own entailment model is trained, calibrated and measured. Not in the wheel."""
