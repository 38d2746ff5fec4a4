"""Numbers by name: what an arithmetic expression reads and assigns."""

from __future__ import annotations

from rl_resources.script.bash.state import Array, State, Variable, set_content
from rl_resources.script.bash.value import Part, Place, Reason, Value


class Numbers:
    """The variables of a state as an arithmetic expression sees them.

    `default` is true once a value is that of a default; `reason` says why one is not known.
    """

    def __init__(self, state: State, place: Place) -> None:
        self._state = state
        self._place = place
        self.default = False
        self.reason: Reason = "form"

    def number_text(self, name: str, key: int | None) -> str | None:
        """The text of a variable or element; an unset one counts as 0."""
        variable = self._state.variables.get(name)
        if variable is None:
            self.reason = "environment"
            return None
        content = variable.content
        if isinstance(content, Array):
            content = content.get(key or 0) if not content.associative else None
            if content is None:
                self.reason = "conditional"
                return None
        elif key:
            return None
        if content is None:
            return ""
        self.default = self.default or content.default
        if content.unknown is not None:
            self.reason = content.unknown.reason or "form"
        return content.text

    def set_number(self, name: str, key: int | None, value: int) -> None:
        """Assign a result."""
        result = Value((Part(str(value), self._place, self._place, default=self.default),))
        old = self._state.variables.get(name)
        if key is None:
            set_content(self._state, name, result, self._place)
            return
        array = old.content if old and isinstance(old.content, Array) else Array()
        exported = old.exported if old else False
        self._state.variables[name] = Variable(array.with_entry(key, result), self._place, exported)
