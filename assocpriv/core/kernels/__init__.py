"""All compiled loops but those that read raw data, by topic."""
