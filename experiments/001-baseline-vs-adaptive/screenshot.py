"""A picture of MLflow's own page that compares the four designs on one need of the band sweep.

    python experiments/001-baseline-vs-adaptive/screenshot.py outputs PORT

PORT is that of `looper ui outputs=...`, which has to be running; Chromium takes the picture, mlflow.png beside this
file.
"""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

HERE = Path(__file__).parent
NEED = "stop_server"
RUNS = """
    SELECT r.run_uuid, r.experiment_id FROM runs r
    JOIN tags d ON d.run_uuid = r.run_uuid AND d.key = 'design'
    JOIN tags s ON s.run_uuid = r.run_uuid AND s.key = 'seed' AND s.value = '0'
    JOIN tags e ON e.run_uuid = r.run_uuid AND e.key = 'experiment' AND e.value = 'baseline_vs_adaptive'
    JOIN params p ON p.run_uuid = r.run_uuid AND p.key = 'task.need' AND p.value = ?
    ORDER BY d.value
"""


def main() -> None:
    outputs, port = Path(sys.argv[1]), sys.argv[2]
    with sqlite3.connect(outputs / "mlflow.db") as store:
        rows = store.execute(RUNS, (NEED,)).fetchall()
    runs, experiments = (quote(json.dumps(sorted({str(row[place]) for row in rows}))) for place in (0, 1))
    order = quote(json.dumps([row[0] for row in rows])) if rows else runs
    page = f"http://127.0.0.1:{port}/#/compare-runs?runs={order}&experiments={experiments}"
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1750,2060",
               "--virtual-time-budget=30000", f"--screenshot={HERE / 'mlflow.png'}", page]  # fmt: skip
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
