"""Reports: a builder turns values into a document, and a serialiser turns the document into text.

A builder (`plan`, `apply`, `status` and others) decides what a report says. A serialiser (`terminal`, `markdown`,
`html`) escapes and lays out the text, and decides nothing. `json` serialises the values directly.
"""
