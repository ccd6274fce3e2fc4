from program import TokenBucket


def test_a_full_bucket_gives_tokens():
    assert TokenBucket(5, 1).take(0, 3)


def test_it_can_be_emptied():
    assert TokenBucket(5, 1).take(0, 5)


def test_too_much_is_refused():
    assert not TokenBucket(5, 1).take(0, 6)


def test_tokens_left_after_taking():
    bucket = TokenBucket(5, 1)
    bucket.take(0, 3)
    assert bucket.tokens == 2


def test_time_counts_once():
    bucket = TokenBucket(10, 1)
    bucket.take(0, 9)
    bucket.refill(3)
    bucket.refill(4)
    assert bucket.tokens == 5


def test_what_was_gained_can_be_taken():
    bucket = TokenBucket(4, 2)
    bucket.drain(10)
    assert bucket.take(11, 2)


def test_refill_at_the_same_second_adds_nothing():
    bucket = TokenBucket(9, 3)
    bucket.drain(0)
    bucket.refill(2)
    bucket.refill(2)
    assert bucket.tokens == 6


def test_a_drained_bucket_is_empty():
    bucket = TokenBucket(4, 2)
    bucket.drain(10)
    assert not bucket.take(10, 1)


def test_it_does_not_overflow():
    bucket = TokenBucket(4, 2)
    bucket.refill(60)
    assert bucket.tokens == 4
