from program import VendingMachine

PRICES = {"tea": 80, "cola": 150}


def machine(*coins):
    vending = VendingMachine(PRICES, {"tea": 2, "cola": 1})
    for coin in coins:
        vending.insert(coin)
    return vending


def test_credit_adds_up():
    assert machine(50, 20, 7).insert(10) == 80


def test_too_little_credit():
    assert machine(50).buy("tea") is None


def test_sold_out():
    assert machine(200).buy("milk") is None


def test_paid_exactly():
    assert machine(50, 20, 10).buy("tea") == []


def test_change():
    assert machine(100).buy("tea") == [20]


def test_all_money_back():
    assert machine(200, 50, 10).change() == [200, 50, 10]


def test_stock_goes_down():
    vending = machine(100)
    vending.buy("tea")
    assert vending.stock["tea"] == 1


def test_the_given_stock_is_not_changed():
    stock = {"cola": 3}
    vending = VendingMachine(PRICES, stock)
    vending.insert(200)
    vending.buy("cola")
    assert stock == {"cola": 3}


def test_two_machines_share_nothing():
    stock = {"cola": 1}
    first = VendingMachine(PRICES, stock)
    second = VendingMachine(PRICES, stock)
    first.insert(200)
    second.insert(200)
    assert first.buy("cola") == second.buy("cola") == [50]
