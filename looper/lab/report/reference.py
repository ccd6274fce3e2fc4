"""Published cost and accuracy of agents on HumanEval, to lay under one's own points: other models and prices."""

from pathlib import Path

import pandas as pd

from looper.lab.statistics.frames import only

RUNS = Path(__file__).with_name("reference.csv")
"""13 agents, 5 runs each: problems solved of 164, and US dollars of the whole run at prices of April 2024."""
SOURCE = (
    "Kapoor, Stroebl, Siegel, Nadgir, Narayanan 2024, AI Agents That Matter, arXiv 2407.01502, Table A1; single runs: "
    "github.com/benediktstroebl/agent-eval, plot_data_0409.csv at cb430690"
)
NOTE = (
    "mean of 5 runs on 164 problems; usd is the cost of all problems together at prices of April 2024; "
    "gpt-4-turbo-2024-04-09 and gpt-3.5-turbo-0125"
)
NOTES = {
    "Escalation": "Llama-3 8B, GPT-3.5, Llama-3 70B, GPT-4 in turn until the example tests pass",
    "LATS (GPT-4)": "some runs were interrupted and continued, so the authors call its accuracy not entirely precise",
    "LATS (GPT-3.5)": "some runs were interrupted and continued, so the authors call its accuracy not entirely precise",
    "LDB (GPT-4, GPT-3.5)": "first model writes, second debugs",
    "LDB (Reflexion, GPT-4)": "Reflexion with GPT-4 writes, GPT-4 debugs",
    "LDB (Reflexion, GPT-3.5)": "Reflexion with GPT-4 writes, GPT-3.5 debugs",
}


def reference_runs() -> pd.DataFrame:
    """label, run, solved, problems, usd: the single runs."""
    return pd.read_csv(RUNS)


def reference() -> pd.DataFrame:
    """label, accuracy (0 to 1), usd (of all problems together), source, note; the accuracy's range, runs, problems."""
    runs = reference_runs().assign(accuracy=lambda frame: frame["solved"] / frame["problems"])
    table = runs.groupby("label", sort=False).agg(
        accuracy=("accuracy", "mean"),
        usd=("usd", "mean"),
        accuracy_low=("accuracy", "min"),
        accuracy_high=("accuracy", "max"),
        runs=("run", "size"),
        problems=("problems", "first"),
    )
    notes = [f"{NOTE}; {NOTES[label]}" if label in NOTES else NOTE for label in table.index]
    frame = table.reset_index().assign(source=SOURCE, note=notes)
    return only(
        frame, ["label", "accuracy", "usd", "source", "note", "accuracy_low", "accuracy_high", "runs", "problems"]
    )
