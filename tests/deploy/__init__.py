"""Tests of deploy/, which need no container engine."""
