"""Who may see and send what: one gate before every route, and the page where a person signs in."""
