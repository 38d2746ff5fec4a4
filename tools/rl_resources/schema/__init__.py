"""What follows from a Table Schema: validation, JSON Schema, data dictionary."""
