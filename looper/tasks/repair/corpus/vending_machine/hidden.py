from program import VendingMachine


def bought(price, *coins):
    vending = VendingMachine({"x": price}, {"x": 9})
    for coin in coins:
        vending.insert(coin)
    return vending.buy("x")


def test_change():
    assert bought(10, 10) == []
    assert bought(10, 20) == [10]
    assert bought(10, 50) == [20, 20]
    assert bought(10, 100) == [50, 20, 20]
    assert bought(10, 200, 200) == [200, 100, 50, 20, 20]
    assert bought(200, 200, 200, 200) == [200, 200]
    assert bought(60, 50) is None
    assert bought(0) == []
    assert bought(30, 100, 5, 1) == [50, 20]


def test_state():
    prices = {"a": 50, "b": 70}
    stock = {"a": 1, "b": 0}
    vending = VendingMachine(prices, stock)
    vending.insert(100)
    assert vending.buy("b") is None
    assert vending.credit == 100
    assert vending.buy("c") is None
    assert vending.buy("a") == [50]
    assert vending.credit == 0
    assert vending.change() == []
    vending.insert(50)
    assert vending.buy("a") is None
    assert vending.change() == [50]
    assert stock == {"a": 1, "b": 0}
    assert vending.stock == {"a": 0, "b": 0}
    vending.prices["a"] = 1
    assert prices == {"a": 50, "b": 70}
