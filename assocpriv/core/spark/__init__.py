"""Spark as a machine: sessions, and whole numbers added up over the tasks of a job. It knows no plan and no report."""
