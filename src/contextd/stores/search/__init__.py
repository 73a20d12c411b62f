"""Search of one workspace without SQL: snapshots as arrays, and views of a snapshot for a reader."""
