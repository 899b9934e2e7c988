"""The verbs of the public API, which look up the plan type and call what it registers (plans/registry.py).

Modules here hold what needs packages of both trust domains, or tables that may be files. Each function imports what it
needs when it is called.
"""
