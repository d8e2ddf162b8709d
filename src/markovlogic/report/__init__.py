"""Results for people: tables, charts and pages."""
