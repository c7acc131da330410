"""`python -m gpuinv.cli`: the same as `gpuinv`."""

from gpuinv.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
