class Thermostat:
    """Heating control with hysteresis.

    The heating goes on at `target` - `band` or below and off at `target` + `band` or above; in between it stays as it
    is. It is off at first. `starts` counts how often it went from off to on.
    """

    def __init__(self, target, band):
        self.target = target
        self.band = band
        self.heating = False
        self.starts = 0

    def read(self, temperature):
        """Take a temperature; whether the heating is on afterwards."""
        if temperature <= self.target - self.band:
            if not self.heating:
                self.starts += 1
            self.heating = True
        elif temperature >= self.target - self.band:
            self.heating = False
        return self.heating


def states(target, band, temperatures):
    """Whether the heating is on after each of `temperatures`."""
    thermostat = Thermostat(target, band)
    return [thermostat.read(temperature) for temperature in temperatures]


def starts(target, band, temperatures):
    """How often `temperatures` make the heating start."""
    thermostat = Thermostat(target, band)
    for temperature in temperatures:
        thermostat.read(temperature)
    return thermostat.starts
