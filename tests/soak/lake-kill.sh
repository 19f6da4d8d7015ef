#!/bin/bash
# Puts, set creations and gc killed at random moments, for SOAK_S seconds.
# Soak: at most 600 s
exec python3 "$(dirname "$0")/lake_kill.py" "${SOAK_S:-120}"
