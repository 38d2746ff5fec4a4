"""Rules on what stands in one script, and what they know of bash and of the framework."""
