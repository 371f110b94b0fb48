"""Journals in a table of a PostgreSQL database. The only package that imports psycopg."""
