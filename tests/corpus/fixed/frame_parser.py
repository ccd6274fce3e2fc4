def frames(stream):
    """Payloads of the undamaged frames in a stream of numbers.

    A frame is a length n, then a payload of n numbers, then the sum of the payload modulo 256. Frames whose sum is
    wrong are dropped; an incomplete frame at the end is ignored.
    """
    payloads = []
    at = 0
    while at < len(stream):
        end = at + 1 + stream[at]
        if end >= len(stream):
            break
        payload = stream[at + 1 : end]
        if sum(payload) % 256 == stream[end]:
            payloads.append(payload)
        at = end + 1
    return payloads
