"""Search over the rows of one workspace, without SQL: snapshots as arrays, and views of them for a reader."""
