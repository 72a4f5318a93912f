"""Messages of protobuf, read without knowing what their fields are called."""


def fields(message):
    """[(number, value)]: a number, or bytes."""
    out, at = [], 0

    def cut_varint():
        nonlocal at
        n = shift = 0
        while True:
            byte, at = message[at], at + 1
            n, shift = n | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return n

    while at < len(message):
        tag = cut_varint()
        value = cut_varint()
        if tag & 7 == 2:
            assert at + value <= len(message), "a message ends early"
            value, at = message[at:at + value], at + value
        else:
            assert tag & 7 == 0, f"wire type {tag & 7}"
        out.append((tag >> 3, value))
    return out
