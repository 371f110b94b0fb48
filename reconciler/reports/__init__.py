"""Reports: values become documents, and documents become terminal text, Markdown or HTML.

A builder (`plan`, `apply`, `status` and others) decides what is said, once. A serialiser (`terminal`, `markdown`,
`html`) escapes and lays out, and decides nothing. `json` takes the values themselves.
"""
