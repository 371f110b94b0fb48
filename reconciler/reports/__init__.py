"""Values in, text and documents out. No I/O; each format escapes its own text.

Names, URLs and what the service said come from elsewhere: no format lets them begin a line, or act as anything but
text.
"""
