"""The laboratory: what recorded runs say of the designs, and how sure that is (SPEC section 6)."""
