"""Statements for PostgreSQL by psql."""

# Without the user's settings; one row a line, fields separated by "|"; the first error ends the run.
PSQL = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1")
