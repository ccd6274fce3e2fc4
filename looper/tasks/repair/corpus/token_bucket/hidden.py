from program import TokenBucket


def results(size, rate, requests):
    bucket = TokenBucket(size, rate)
    return [bucket.take(now, amount) for now, amount in requests]


def test_series_of_requests():
    assert results(2, 1, [(0, 1), (0, 1), (0, 1)]) == [True, True, False]
    assert results(2, 1, [(0, 2), (1, 2), (2, 2)]) == [True, False, True]
    assert results(1, 1, [(5, 1), (6, 1), (6, 1), (7, 1)]) == [True, True, False, True]
    assert results(3, 0, [(0, 3), (100, 1)]) == [True, False]
    assert results(10, 2, [(1, 10), (2, 3), (3, 4), (3, 1)]) == [True, False, True, False]
    assert results(5, 1, [(0, 0), (0, 5), (0, 0)]) == [True, True, True]
    assert results(5, 5, [(0, 6), (9, 6)]) == [False, False]


def test_state():
    bucket = TokenBucket(8, 2)
    bucket.drain(3)
    assert bucket.tokens == 0
    bucket.refill(5)
    assert bucket.tokens == 4
    assert bucket.last == 5
    bucket.refill(6)
    assert bucket.tokens == 6
    assert not bucket.take(6, 7)
    assert bucket.tokens == 6
    assert bucket.take(7, 8)
    assert bucket.tokens == 0
    assert bucket.last == 7
