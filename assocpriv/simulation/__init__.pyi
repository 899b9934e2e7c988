# fmt: off
# isort: off

from .basket_simulation import DemoSettings as DemoSettings, start_demo as start_demo
from .basket_rounds import randomize_in_rounds as randomize_in_rounds
from .synthetic import (
    AgrawalSettings as AgrawalSettings, QuestSettings as QuestSettings, generate_agrawal_file as generate_agrawal_file,
    generate_file as generate_file,
)
