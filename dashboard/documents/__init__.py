"""The values that the command and the API write for programs: frozen structs, one module a theme.

People script against these shapes, so they are kept stable. Rates are in [0, 1], tokens are their
text, times are RFC 3339 in UTC, and where there is no number the value is null.
"""
