"""Attacks on fits from outside: Ctrl-C at random moments, its latency, callbacks that raise, and kills."""
