"""What a launch script's name and text say. Scripts are parsed, never executed."""
