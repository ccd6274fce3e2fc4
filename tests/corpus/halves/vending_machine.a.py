class VendingMachine:
    """Sells drinks for coins; prices and credit in cents.

    The machine keeps its own account of prices and stock: the dictionaries it is given are not changed.
    """

    COINS = (200, 100, 50, 20, 10)

    def __init__(self, prices, stock):
        self.prices = dict(prices)
        self.stock = dict(stock)
        self.credit = 0

    def insert(self, coin):
        """Add a coin to the credit, if it is one that the machine knows; the credit."""
        if coin in self.COINS:
            self.credit += coin
        return self.credit

    def buy(self, name):
        """Sell one drink and give the change; None, and nothing happens, if it is sold out or the credit too small."""
        if self.stock.get(name, 1) == 0 or self.credit < self.prices[name]:
            return None
        self.stock[name] -= 1
        self.credit -= self.prices[name]
        return self.change()

    def change(self):
        """Give back all credit in as few coins as possible, largest first."""
        coins = []
        for coin in self.COINS:
            while self.credit >= coin:
                self.credit -= coin
                coins.append(coin)
        return coins
