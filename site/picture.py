r"""Colored output of a terminal as a picture: reads text with ANSI codes, writes SVG.

`site/assets/images/import-page.svg` is of verl-project/verl, its page as of 1dda039 with the
scripts as of 2239fd0, the commit that the page's links name. Rich is there after `make test`.

    script -qec 'rl-resources import-page docs/perf/device_tuning.rst --scripts examples/tuning \
      --check' /dev/null | grep --no-group-separator -A1 $'error\x1b\|errors and' |
      python site/picture.py 'rl-resources import-page docs/perf/device_tuning.rst' > picture.svg
"""

import re
import sys

from rich.console import Console
from rich.text import Text

console = Console(record=True, width=112, file=sys.stderr)
console.print(Text.from_ansi(sys.stdin.read()))
# Rich's form loads a font from another host; a reader has one of fixed width.
own = re.sub(r"(?s)@font-face \{.*?\}\s*|Fira Code, ", "", console.export_svg(title=sys.argv[1]))
sys.stdout.write(own)
