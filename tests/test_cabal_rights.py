"""Who may do what: every cell of document 002's table of steps and mechanisms, and what each role never may."""

from collections.abc import Callable

import pytest
from cabal_boards import KIT, PAGE, PRICE, at, concern, founded, inspection, product, refused, said, version, written

from looper.loops.cabal.board.answers import Charter, Told
from looper.loops.cabal.board.entities import Step
from looper.loops.cabal.board.feedback import collaborate, inspect, remark, resolve
from looper.loops.cabal.board.mission import charter, finish, halt, override, present, reflect, request
from looper.loops.cabal.board.operations import (
    Mark,
    NewAssignment,
    NewRemark,
    Override,
    Reparent,
    Resolution,
    UpdateProduct,
)
from looper.loops.cabal.board.rights import ACTORS, STEPS
from looper.loops.cabal.board.rounds import begin_round, close_round, enter
from looper.loops.cabal.board.table import Board, open_board
from looper.loops.cabal.board.tree import create, mark, reparent, update
from looper.loops.cabal.board.writing import assign, write

WHO = {"chair": "chair", "operative": "o2", "watchdog": "watchdog", "envoy": "envoy"}
TOLD = Told.model_validate({"messages": [{"member": "o1", "text": "We did it."}] * 3})


def anywhere(step: Step) -> Board:
    """A board at a step at which everything is there: a version by o1, an open concern on o2's product, work for o2."""
    if step == "bootstrap":
        return founded()
    board = written(founded(), PAGE)
    board = begin_round(close_round(said(at(board, "review"), "o3", PAGE)))
    board = said(board, "o1", PRICE)
    board = enter(board, "plan") if step != "reflect" else board
    if step not in ("reflect", "plan"):
        board = assign(board, "chair", NewAssignment(assignee="o2", product=PRICE, objective="Do it."))
    return enter(board, step)


DO: dict[str, Callable[[Board, str], Board]] = {
    "create": lambda board, who: create(board, who, [product("Another one", "o1")]),
    "update": lambda board, who: update(board, who, UpdateProduct(product=PAGE, title="Home page")),
    "reparent": lambda board, who: reparent(board, who, Reparent(product=PAGE)),
    "mark": lambda board, who: mark(board, who, Mark(product=PAGE, status="blocked", reason="no text yet")),
    "version": lambda board, who: write(board, who, version("p4" if who == "chair" else PRICE, "Ten.")),
    "collab": lambda board, who: collaborate(board, who, concern(PAGE, 5, "Say more.", criterion="1")),
    "remark": lambda board, who: remark(board, who, NewRemark(target="team", text="Well done.")),
    "assignment": lambda board, who: assign(board, who, NewAssignment(assignee="o3", product=KIT, objective="Go.")),
    "flag": lambda board, who: inspect(board, who, inspection(board, PAGE, 9)),
    "message": lambda board, who: present(board, who, TOLD),
}
TABLE: dict[str, dict[str, str]] = {
    # what the document's table says, column by column; `mark` and the others are the RUD of CRUD
    "bootstrap": {"create": "chair"},
    "reflect": {"collab": "operative", "remark": "operative"},
    "plan": {
        "create": "chair", "update": "chair", "reparent": "chair", "mark": "chair", "version": "chair",
        "remark": "chair", "assignment": "chair",
    },
    "write": {"version": "operative", "collab": "operative", "remark": "operative"},
    "review": {"collab": "operative", "remark": "operative"},
    "inspect": {"collab": "watchdog", "remark": "watchdog", "flag": "watchdog"},
    "present": {"message": "envoy"},
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("what", DO)
@pytest.mark.parametrize("role", WHO)
def test_a_cell_of_the_table_of_steps_and_mechanisms(step: Step, what: str, role: str) -> None:
    before = anywhere(step)
    after = DO[what](before, WHO[role])
    if TABLE[step].get(what) == role:
        assert after.rejections == before.rejections
        assert after != before
    else:
        assert refused(before, after)
        one = after.rejections[-1]
        assert (one.round, one.step, one.author) == (before.round, step, WHO[role])


def test_every_step_has_the_actor_of_the_document() -> None:
    assert [ACTORS[step] for step in STEPS] == [
        "chair", "operative", "chair", "operative", "operative", "watchdog", "envoy",
    ]  # fmt: skip


MORE: dict[str, tuple[Callable[[Board, str], Board], set[tuple[str, str]]]] = {
    "halt": (
        lambda board, who: halt(board, who, "Which market?"),
        {("bootstrap", "chair"), ("plan", "chair")},
    ),
    "override": (lambda board, who: override(board, who, Override(mission="Sell")), {("plan", "chair")}),
    "reflection": (lambda board, who: reflect(board, who, "All is well."), {("reflect", "operative")}),
    "resolve": (
        lambda board, who: resolve(board, who, Resolution(collab="c2", outcome="accepted", reason="yes")),
        {("reflect", "operative"), ("write", "operative")},
    ),
    "request": (
        lambda board, who: request(board, who, [PAGE]),
        {(step, ACTORS[step]) for step in STEPS if step != "bootstrap"},
    ),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("what", MORE)
@pytest.mark.parametrize("role", WHO)
def test_halts_overrides_reflections_resolutions_and_requests_have_their_steps(
    step: Step, what: str, role: str
) -> None:
    act, allowed = MORE[what]
    before = anywhere(step)
    after = act(before, WHO[role])
    if (step, role) in allowed:
        assert after.rejections == before.rejections
        assert after != before
    else:
        assert refused(before, after)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("role", ["operative", "watchdog", "envoy"])
def test_nobody_but_the_chair_founds_or_closes_a_mission(step: Step, role: str) -> None:
    board = anywhere(step)
    assert refused(board, finish(board, WHO[role]))
    op = Charter.model_validate(
        {
            "mission": "m", "objectives": ["o"], "team": [{"key": "k", "name": "n", "persona": "p",
            "responsibility": "r", "area": "a"}], "products": [product("One", "k")],
        }
    )  # fmt: skip
    assert refused(board, charter(board, WHO[role], op))


def test_the_chair_founds_a_mission_once() -> None:
    assert open_board().mission == ""
    board = founded()
    op = Charter.model_validate(
        {
            "mission": "m", "objectives": ["o"], "products": [product("One", "k")],
            "team": [{"key": "k", "name": "n", "persona": "p", "responsibility": "r", "area": "a"}],
        }
    )  # fmt: skip
    assert "override it in plan" in refused(board, charter(board, "chair", op))


def test_a_stranger_is_an_error_of_the_program_and_not_of_a_role() -> None:
    with pytest.raises(KeyError):
        remark(founded(), "o9", NewRemark(target="team", text="Hello"))
