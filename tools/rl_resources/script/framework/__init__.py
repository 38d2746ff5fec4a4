"""A framework's own configuration: what it accepts, and what it does where a script says nothing.

Two sources give what a launch starts from, both as a `Composition`:

* `shipped.shipped(framework)`: the newest release when `rl-resources compat` last ran, from a file
  of this package, without network;
* `release_files.configuration(framework, version)`: any release, from the files of its wheel.

No code of a framework is imported or run: its wheel is read as data.
"""
