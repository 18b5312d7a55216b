"""What the doctor looks at, one subject a file. The order, and what becomes of it, is for `storage.diagnosis`."""
