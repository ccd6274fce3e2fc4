"""The command board: what lies on the board of a cabal, as text, as data or as a page (issue 6, item 4)."""

import json

from looper.commands.request import Request
from looper.commands.shelf import pick
from looper.console.story import Story
from looper.errors import ConfigError, Paused
from looper.journal import load_payload, write_whole
from looper.loops.cabal.board.table import Board

PAGE = "board.html"
DESIGN = "cabal"


def show_board(request: Request) -> int:
    """The board of a run. Raises ConfigError for a run without one."""
    if request.flags == {"--json", "--html"}:
        raise ConfigError("board: give --json or --html, not both.")
    story = Story.of(pick(request.outputs, request.name))
    board = board_of(story)
    if "--html" in request.flags:
        request.screen.say(_page(story, board))
        return 0
    from looper.console.minutes import board_card, board_lines

    card = request.as_json
    request.screen.say(json.dumps(board_card(story, board)) if card else "\n".join(board_lines(story, board)))
    return 0


def board_of(story: Story) -> Board:
    """The latest board that the journal tells. Raises ConfigError without one, JournalDamaged for a changed one."""
    from pydantic import ValidationError

    from looper.loops.cabal import output

    told = next((event for event in reversed(story.events) if event.event == "board_updated"), None)
    if told is None:
        raise ConfigError(_without(story))
    try:
        return output.board_of(load_payload(story.folder.path, told))
    except ValidationError as error:
        raise ConfigError(
            f"{story.name}: its board does not fit this version of looper ({error.error_count()} differences); "
            f"`looper history {story.name} --full` shows it as it was written."
        ) from error


def _without(story: Story) -> str:
    design = story.state["design"]
    if design == DESIGN:
        return (
            f"{story.name}: there is no board yet, the chair has not answered; `looper status {story.name}` says why."
        )
    return (
        f"{story.name}: design {design or '(unknown)'} keeps no board, only {DESIGN} does; "
        f"`looper status {story.name}` shows where it stands."
    )


def _page(story: Story, board: Board) -> str:
    """Write the page into the run's folder; its path."""
    from looper.console.page import board_page

    file = story.folder.path / PAGE
    try:
        write_whole(file, board_page(story, board).encode())
    except Paused as error:
        raise ConfigError(f"{file}: cannot be written; free some space or make the folder writable.") from error
    return str(file)
