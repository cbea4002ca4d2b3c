"""Decision traces: which options a planner ranked before each call, and what it then called.

They are read from JSON lines or from spans (:mod:`~engine.decisions.schema`,
:mod:`~engine.decisions.reading`), checked (:mod:`~engine.decisions.audit`), kept as spans
(:mod:`~engine.decisions.recording`) after redaction (:mod:`~engine.decisions.redaction`), and two
of one ticket are compared choice by choice (:mod:`~engine.decisions.diff`).
"""
