"""ALFWorld on TextWorld's own engine, which says the same as ours a hundred times more slowly."""

from __future__ import annotations

from typing import Any

from worlds.alfworld import AlfWorld, HouseholdTask, load
from worlds.alfworld.package_files import named, package
from worlds.alfworld.tasks import TASK_MARK, Rules


class StockAlfWorld(AlfWorld):
    """The same games on the slow engine."""

    def _started(self) -> Any:
        # Not `policy_commands`: planning at every step takes 4 GB on a full kitchen, and does not end.
        infos = package("textworld").EnvInfos(won=True, admissible_commands=True)
        # TextWorld's own runs what a grammar holds as Python.
        package("textworld.envs.pddl.textgen").EvalSymbol.derive = evaluated
        engine = package("textworld.envs.pddl").PddlEnv(infos)
        self._library = engine.downward_lib
        return named(engine)

    def close(self) -> None:
        """Let go of the engine; its copy of the planning library is lent out again."""
        if self._engine is not None:
            package("worlds.alfworld.engine").give_back(self._library)
        super().close()

    def _game(self, task: HouseholdTask) -> dict[str, Any]:
        return stock_game(self.games.rules(), task)


def load_stock(data: str = "auto") -> StockAlfWorld:
    return StockAlfWorld(load(data).games)


def evaluated(symbol: Any, context: Any = None) -> list[Any]:
    """What an expression of a grammar comes to: in place of `derive` of TextWorld's EvalSymbol."""
    wording = package("worlds.alfworld.wording")
    value = wording.value_of(wording.parsed_expression(symbol.expression), (context or symbol.context)["variables"])
    return [package("textworld.envs.pddl.textgen").TerminalSymbol(value)]


def stock_game(rules: Rules, task: HouseholdTask) -> dict[str, Any]:
    """The game as its `game.tw-pddl` file has it, without the walkthrough."""
    return {
        "pddl_domain": rules.domain,
        "grammar": rules.grammar.replace(TASK_MARK, task.goal),
        "pddl_problem": task.problem,
        "solvable": True,
        "walkthrough": None,  # the engine plans for a missing one only if it is asked to show it
    }
