"""WebShop for acting agents: search and click, and a note if the page has no such button."""

from __future__ import annotations

from agents.environment import InWorld, Observation
from worlds.webshop import ShopTask, WebShop

NAME = "webshop"
TOOLS = """
You shop for what an instruction asks for. The actions are:
search[WORDS] lists products; it is for the page with the Search button alone.
click[TEXT] clicks what stands on the page as [button] TEXT [button_]: a product by its id, an option, or a button.
click[buy now] buys the product with the options that are clicked, and ends the task: once, and for good.
Choose what fits all of the instruction, its options and its price included.
""".strip()
UNCHANGED = "This changes nothing: search where there is a Search button, and click what is a button on the page."


class Shopping(InWorld):
    """One instruction as an episode. WebShop answers an unknown action with the same page; here a note says so."""

    def __init__(self, world: WebShop, task: ShopTask, listed: bool = False) -> None:
        """listed: see `InWorld`; of the possible searches, the valid actions list only some."""
        super().__init__(world, task, NAME, TOOLS, listed=listed)

    def act(self, action: str) -> Observation:
        """A step of the world."""
        before = self.last
        observation = super().act(action)
        if observation.text != before.text or action.strip().lower() in before.actions:
            return observation
        return Observation(f"{UNCHANGED}\n{observation.text}", observation.done, valid=False)
