class TokenBucket:
    """Rate limit: a bucket of at most `size` tokens that gains `rate` tokens a second. It is full at second 0."""

    def __init__(self, size, rate):
        self.size = size
        self.rate = rate
        self.tokens = size
        self.last = 0

    def refill(self, now):
        """Add what has been gained up to second `now`; the bucket never holds more than its size."""
        self.last = now
        gained = (now - self.last) * self.rate
        self.tokens = min(self.size, self.tokens + gained)

    def take(self, now, amount):
        """Take `amount` tokens at second `now`; False, and nothing taken, if there are not enough."""
        self.refill(now)
        if amount < self.tokens:
            self.tokens -= amount
            return True
        return False

    def drain(self, now):
        """Throw all tokens away at second `now`."""
        self.tokens = 0
        self.last = now
