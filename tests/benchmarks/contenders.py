"""The solvers that are compared, each brought to the same exploitability in the same game.

Counted as solving: a peer's iterations; for a linear program the call of its solver.  Counted as
building: loading the exported file and setting the solver's state up.  Not counted: writing the
file, importing, compiling, evaluating.  For ours the whole of one ``solve_exact`` is counted,
with the tree and with evaluating; its building is that of a call with a single iteration.

Exploitability is NashConv / 2 of the average strategies, computed on the sequence form of the
exported game; that of the last strategy of each peer once more by the peer's own library, and
that of ours by the judge.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
from race import Peer, Row, Task, Weights, memory_limit, race
from sequence_form import SequenceForm, in_steps, num_moves, read_form, solve_program

import solver

__all__ = ["CONTENDERS"]

BYTES_AN_ENTRY = 250
"""What JaxCFR takes in memory for each history and distinct action, as seen at 3x6."""


def infoset_number(infostate_string: str) -> int:
    """Return the number in the file of an infoset of OpenSpiel's ``efg_game``, less 1.

    Its strings read ``player-player-number-name``.
    """
    return int(infostate_string.split("-")[2]) - 1


def run_openspiel(task: Task) -> Iterator[Row]:
    """OpenSpiel's CFR+ in C++ (alternating updates, linear averaging), on one thread."""
    import pyspiel

    form = read_form(task.file.read_text().splitlines())
    start = time.perf_counter()
    game = pyspiel.load_game(f"efg_game(filename={task.file})")
    cfr = pyspiel.CFRPlusSolver(game)
    building = time.perf_counter() - start

    def step(num: int) -> None:
        for _ in range(num):
            cfr.evaluate_and_update_policy()

    def weights() -> Weights:
        found = tuple(np.zeros(side.num_sequences) for side in form.sides)
        for key, action_probs in cfr.tabular_average_policy().policy_table().items():
            player, infoset = int(key[0]), infoset_number(key)
            first = form.sides[player].start[infoset]
            found[player][first : first + len(action_probs)] = [p for _, p in action_probs]
        return found

    def own_exploitability(_: Weights) -> float:
        return pyspiel.exploitability(game, cfr.tabular_average_policy())

    peer = Peer("OpenSpiel CFR+", "C++, 1 thread", building, step, weights, own_exploitability)
    yield from race(task, form, peer)


def run_jax_steps(task: Task) -> Iterator[Row]:
    """OpenSpiel's JaxCFR where a setup is chosen in steps of two moves.

    The steps change neither strategies nor values, and make it several times faster.
    """
    yield from run_jax(task, branching=2)


def run_jax(task: Task, branching: int | None = None) -> Iterator[Row]:
    """OpenSpiel's JaxCFR with its defaults, CFR+ in float32, on all cores.

    It keeps an entry for each history and each distinct action of the game, and every setup is an
    action of its own; ``branching`` is that of :func:`sequence_form.in_steps`, which avoids this.
    """
    import jax
    import pyspiel
    from open_spiel.python.jax.cfr.jax_cfr import JaxCFR

    name = "OpenSpiel JaxCFR"
    settings = "all cores" if branching is None else f"all cores, setups in steps of {branching}"
    lines, file = task.file.read_text().splitlines(), task.file
    if branching is not None:
        lines = list(in_steps(lines, branching))
        file = file.with_stem(f"{file.stem}-steps")
        file.write_text("".join(line + "\n" for line in lines))
    form = read_form(lines)
    start = time.perf_counter()
    game = pyspiel.load_game(f"efg_game(filename={file})")
    needed = form.num_nodes * game.num_distinct_actions() * BYTES_AN_ENTRY
    if needed > memory_limit():
        note = f"not run: it would take about {needed / 1e9:.0f} GB"
        yield from (Row(name, settings, target, note=note) for target in task.targets)
        return
    cfr = JaxCFR(game)
    building = time.perf_counter() - start
    jax.block_until_ready(cfr.jit_step(cfr.regrets, cfr.averages, 1, 0))  # compiles, no more

    def step(num: int) -> None:
        cfr.multiple_steps(num)
        jax.block_until_ready((cfr.regrets, cfr.averages))

    masks = [np.asarray(mask) > 0 for mask in cfr.constants.iset_action_mask]

    def weights() -> Weights:
        found = tuple(np.zeros(side.num_sequences) for side in form.sides)
        for player, side in enumerate(form.sides):
            rows = np.zeros(len(side.parent), np.int64)
            for key, row in cfr.iset_map[player].items():
                if key:  # the empty string is a row of its own, before the game
                    rows[infoset_number(key)] = row
            averages = np.asarray(cfr.averages[player], np.float64)[rows]
            found[player][1:] = averages[masks[player][rows]]
        return found

    def own_exploitability(average: Weights) -> float:
        policy = {}
        for player, side in enumerate(form.sides):
            for key, row in cfr.iset_map[player].items():
                if key:
                    infoset = infoset_number(key)
                    part = average[player][side.start[infoset] : side.start[infoset + 1]]
                    total = part.sum()
                    probs = part / total if total > 0 else np.full(len(part), 1 / len(part))
                    actions = np.flatnonzero(masks[player][row])
                    policy[key] = list(zip(actions.tolist(), probs.tolist(), strict=True))
        return pyspiel.exploitability(game, policy)

    yield from race(task, form, Peer(name, settings, building, step, weights, own_exploitability))


def liteefg_lines(lines: list[str]) -> Iterator[str]:
    """Yield LiteEFG's own file of a game from the lines of an ``.efg`` file.

    Node ``n<i>`` is line ``i`` of the file; infoset ``pl<player>_<number>`` that of the file.
    """
    children: list[list[int]] = [[] for _ in lines]
    infosets: dict[str, list[int]] = {}
    waiting: list[int] = []  # nodes whose children come next, once for each child
    for node, line in enumerate(lines[1:], 1):
        if waiting:
            children[waiting.pop()].append(node)
        if line[0] == "p":
            waiting += [node] * num_moves(line)
    # "openspiel" tells LiteEFG how to read the rest
    yield from ("# exported game", "#", "# Opt {", "#     openspiel,", "#     players: 2,", "# }")
    for node, line in enumerate(lines[1:], 1):
        if line[0] == "t":
            payoffs = line[line.rindex("{") + 1 :].split()
            yield f"node n{node} leaf payoffs 1={payoffs[0]} 2={payoffs[1]}"
        else:
            _, _, player, number, _ = line.split(maxsplit=4)
            infosets.setdefault(f"pl{player}_{number}", []).append(node)
            actions = " ".join(f"n{child}" for child in children[node])
            yield f"node n{node} player {player} actions {actions}"
    for name, nodes in infosets.items():
        yield f"infoset {name} nodes {' '.join(f'n{node}' for node in nodes)}"


def run_liteefg(task: Task) -> Iterator[Row]:
    """LiteEFG's baselines CFR+, DCFR and PCFR+, on one thread.

    The game is given as a file of LiteEFG's own format: ``LiteEFG.OpenSpielEnv`` would take 36 kB
    of memory for each node to write the same file.  DCFR keeps its own average, for the others
    LiteEFG keeps the linear one.
    """
    import LiteEFG

    lines = task.file.read_text().splitlines()
    form = read_form(lines)
    file = task.file.with_suffix(".liteefg")
    file.write_text("".join(line + "\n" for line in liteefg_lines(lines)))
    for name, module in (("CFR+", "CFRplus"), ("DCFR", "DCFR"), ("PCFR+", "PCFR")):
        baseline = importlib.import_module(f"LiteEFG.baselines.{module}")
        with contextlib.redirect_stdout(io.StringIO()):  # it reports what it does
            start = time.perf_counter()
            env = LiteEFG.FileEnv(str(file), traverse_type="Enumerate")
            graph = baseline.graph()
            env.set_graph(graph)
            building = time.perf_counter() - start
        yield from run_baseline(task, form, f"LiteEFG {name}", building, env, graph)


def run_baseline(
    task: Task, form: SequenceForm, name: str, building: float, env: object, graph: object
) -> Iterator[Row]:
    """Run one baseline of LiteEFG, set up in an environment of its own."""
    own_average = "type_name" in inspect.signature(graph.current_strategy).parameters
    kind = "last-iterate" if own_average else "linear-avg-iterate"
    node = graph.current_strategy(*(["average-iterate"] if own_average else []))

    def step(num: int) -> None:
        for _ in range(num):
            graph.update_graph(env)
            if not own_average:
                env.update_strategy(node)

    def weights() -> Weights:
        if own_average:
            env.update_strategy(node)  # names the strategy that is asked for
        found = tuple(np.zeros(side.num_sequences) for side in form.sides)
        for player, side in enumerate(form.sides):
            for key, probs in env.get_strategy(player + 1, node, kind):
                first = side.start[int(key.split("_")[1]) - 1]
                found[player][first : first + len(probs)] = probs
        return found

    def own_exploitability(_: Weights) -> float:
        return sum(env.exploitability(node, kind)) / 2

    settings = f"C++, 1 thread, {'own' if own_average else 'linear'} average"
    yield from race(task, form, Peer(name, settings, building, step, weights, own_exploitability))


def run_program(task: Task, method: str, settings: str) -> Iterator[Row]:
    """Solve the linear program of the sequence form by HiGHS."""
    name = "sequence-form LP"
    start = time.perf_counter()
    form = read_form(task.file.read_text().splitlines())
    building = time.perf_counter() - start
    start = time.perf_counter()
    found = solve_program(form, method=method, time_limit=task.time_limit)
    seconds = time.perf_counter() - start
    for target in task.targets:
        if found is None:
            yield Row(
                name,
                settings,
                target,
                seconds=seconds,
                seconds_with_building=seconds + building,
                note="no solution within the time limit",
            )
            continue
        value = form.exploitability(*found[1:])
        yield Row(
            name,
            settings,
            target,
            seconds=seconds,
            seconds_with_building=seconds + building,
            exploitability=value,
            reached=value <= target,
        )


def run_simplex(task: Task) -> Iterator[Row]:
    """Solve the linear program as HiGHS does by itself, which is by its dual simplex."""
    yield from run_program(task, "highs", "HiGHS, default")


def run_interior_point(task: Task) -> Iterator[Row]:
    """Solve the linear program by the interior-point method of HiGHS."""
    yield from run_program(task, "highs-ipm", "HiGHS, interior point")


def run_ours(task: Task) -> Iterator[Row]:
    """Solve by this project, with one thread and with two."""
    for choice in ({"threads": 1}, {"threads": 2}):
        solver.solve_exact(task.game, iterations=1, **choice)  # compiles what it has to
        for target in task.targets:
            totals, builds = [], []
            for _ in range(task.repeats):
                start = time.perf_counter()
                solver.solve_exact(task.game, iterations=1, **choice)
                builds.append(time.perf_counter() - start)
                start = time.perf_counter()
                solution = solver.solve_exact(task.game, target=target, **choice)
                totals.append(time.perf_counter() - start)
            total = statistics.median(totals)
            seconds = max(0.0, total - statistics.median(builds))
            judged = solver.exploitability(solver.strategy_of(solution), task.game)
            yield Row(
                "ours",
                ", ".join([solution.algorithm, *(f"threads={n}" for n in choice.values())]),
                target,
                iterations=solution.iterations,
                ms_an_iteration=1000 * seconds / max(1, solution.iterations - 1),
                seconds=seconds,
                seconds_with_building=total,
                exploitability=judged,
                reached=judged <= target,
                confirmed_within=abs(judged - solution.exploitability),
            )


CONTENDERS: dict[str, Callable[[Task], Iterator[Row]]] = {
    "ours": run_ours,
    "openspiel": run_openspiel,
    "liteefg": run_liteefg,
    "jax-steps": run_jax_steps,
    "jax": run_jax,
    "lp": run_simplex,
    "lp-ipm": run_interior_point,
}
"""By name: each takes a task and yields its rows."""
