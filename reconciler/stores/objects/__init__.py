"""A record in an object store: S3, Google Cloud Storage, Azure Blob Storage, and what speaks as they do."""
