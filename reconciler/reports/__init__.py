"""Values in, text and documents out: `formats` has a table of renderers for each kind of value. No I/O.

Names, URLs and responses come from elsewhere: in no format can they begin a line or be anything but text.
"""
