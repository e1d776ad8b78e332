"""Names for runs that were given none: `adjective-noun-NNN`, as MLflow makes them."""

from __future__ import annotations

import random

LENGTH_MAX = 20
_ADJECTIVES = """
able agile amber apt bold brave bright brisk calm candid clean clever cool crisp curious dapper daring deft eager
early exact fair fancy fast fine firm fleet fond frank free fresh gentle glad golden good grand great happy hardy
honest humble jolly keen kind large light likable lively loud loyal lucky magic mellow merry mild modest neat nice
nimble noble orderly placid polite proud quick quiet rapid rare ready regal rich robust rosy round salty sharp shiny
silent silver skilled sleek smart smooth solid spicy stable steady stoic strong sunny sweet swift tidy tough true
trusty unique upbeat vivid warm welcome wise witty worthy young zealous
"""
_NOUNS = """
ant ape asp bass bat bear bee bird boar bug calf carp cat cod colt conch crab crane crow cub deer doe dog dolphin dove
duck eel elk ewe fawn finch fish flea fly foal fowl fox frog gnat gnu goat goose grouse grub gull hare hawk hen hog
horse hound jay kit koi lamb lark loon lynx mare midge mink mole moose moth mouse mule newt owl ox panda perch pig pug
quail ram rat ray robin roo rook seal shad shark sheep shoat shrew shrike shrimp skink skunk sloth slug smelt snail
snake snipe sow sponge squid squirrel stag steed stork swan tern toad trout turtle vole wasp whale wolf worm wren yak
zebra
"""


def random_name(choose: random.Random) -> str:
    """A name of at most 20 characters."""
    while True:
        adjective, noun = choose.choice(_ADJECTIVES.split()), choose.choice(_NOUNS.split())
        name = f"{adjective}-{noun}-{choose.randrange(1000)}"
        if len(name) <= LENGTH_MAX:
            return name
