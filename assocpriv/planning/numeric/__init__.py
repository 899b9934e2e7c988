"""Which plan of a table to publish: schemas, designs of single columns, how a promise is shared."""
