def free_hook(hooks):
    """Number of the first free hook, or the number of hooks if all are taken; a free hook holds None."""
    for number, owner in enumerate(hooks):
        if owner is None:
            return number
        return len(hooks)


def hand_in(hooks, owner):
    """Hang the coat of `owner` on the first free hook, a new one if need be; the number of the hook."""
    number = free_hook(hooks)
    if number == len(hooks):
        hooks.append(None)
    hooks[number] = owner
    return number


def collect(hooks, number):
    """Give back the coat on a hook: its owner, None if there is none. Free hooks at the end are taken down."""
    if number >= len(hooks):
        return None
    owner = hooks[number]
    hooks[number] = None
    while hooks and hooks[-1] is None:
        hooks.pop()
    return owner
