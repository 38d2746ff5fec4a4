"""A framework's own configuration: what it accepts, and what it does where a script says nothing.

Two ways lead to the same `Composition`:

* `shipped(framework)` knows one release, the newest when `rl-resources compat` last ran, from a
  file of this package: one JSON read, no network, no Hydra;
* `releases.configuration(framework, version)` fetches any release and composes with Hydra itself.

`compose_launch` asks either of them about what a script starts. No code of a framework is ever
imported or run: its archive is read as data.
"""

from rl_resources.script.framework.composition import UNKNOWN, Composition, Rejection
from rl_resources.script.framework.launched import compose_launch
from rl_resources.script.framework.shipped import Shipped, shipped

__all__ = ["UNKNOWN", "Composition", "Rejection", "Shipped", "compose_launch", "shipped"]
